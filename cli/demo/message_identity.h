#pragma once

#include <string_view>

#include "cli/demo/checker.h"
#include "segue/client.h"

namespace segue::cli::demo {

/// The header of the demo's message: the exchange, the record's key, and who it is as headers
/// ("producer", "seq", "pass", "record", all counted from 1).
client::MessageHeader message_header(const RecordFile& file, const PublishPlan& plan,
                                     std::size_t producer, std::uint64_t seq);

/// What a delivery says about itself. Where its headers do not say it, the numbers are those of no
/// message. `routing_key` is valid as long as the delivery.
Arrival read_arrival(const client::Delivery& delivery);

/// As read_arrival(), of the headers alone.
Arrival read_headers(const client::Table& headers);

}  // namespace segue::cli::demo
