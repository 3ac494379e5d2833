#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "common/status.h"
#include "segue/message.h"

namespace segue::cli {

/// One message on one line of JSON, for `publish --ndjson` and `consume --ndjson`; what the latter
/// writes the former reads:
///
///     {"body": "text", "exchange": "", "routing_key": "orders",
///      "properties": {"content_type": "text/plain", "headers": {"n": 1}, "priority": 3,
///                     "expiration_ms": 60000, "timestamp_ms": 1700000000000,
///                     "delay_ms": 5000, "group_id": "customer 7", ...}}
///
/// A body that is not UTF-8 is "body_base64" instead. A delivery has "queue", "redelivered" and
/// "delivery_count" too, which publishing ignores, and no delay, which is over.

/// Reads a message; exchange, key and mandatory not given are those of `defaults`. INVALID_CONFIG
/// says which member is wrong; a member that does not exist is refused.
Result<client::Message> parse_message(std::string_view line, const client::MessageHeader& defaults);

/// What a delivery says beside its properties. Views of it.
struct DeliveredMessage {
  std::string_view exchange;
  std::string_view routing_key;
  std::string_view body;
  bool redelivered = false;
  std::uint32_t delivery_count = 0;
};
/// The line for a message that came from `queue`, with its newline.
std::string message_line(const std::string& queue, const DeliveredMessage& message,
                         const client::Properties& properties);

/// A message that was looked at in its queue.
struct BrowsedMessage {
  std::uint64_t place = 0;
  std::string_view exchange;
  std::string_view routing_key;
  /// Left out of the line: nothing.
  std::optional<std::string_view> body;
  std::uint64_t body_bytes = 0;
};
/// The line for it, with its newline; "place" and "body_bytes" are ignored by publishing.
std::string browsed_line(const std::string& queue, const BrowsedMessage& message,
                         const client::Properties& properties);
/// Those that are set, as "properties" in a line.
std::string properties_text(const client::Properties& properties);

}  // namespace segue::cli
