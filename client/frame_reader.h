#pragma once

#include <cstdint>
#include <vector>

#include "common/bytes.h"
#include "segue/v1/client.pb.h"

namespace segue::client {

/// A Deliver frame with its batch left as it is, for MessageBatch::parse().
struct IncomingDeliver {
  std::uint64_t consumer = 0;
  std::uint64_t first_tag = 0;
  SharedBytes messages;  // a serialized segue.v1.MessageBatch
  /// As in DeliveryBatch: empty or one for each message.
  std::vector<std::uint32_t> redelivered;
  std::vector<std::uint32_t> delivery_count;
};

/// A frame from a router: `deliver` if is_deliver, else `frame`.
struct IncomingFrame {
  std::uint64_t epoch = 0;
  std::uint64_t sequence = 0;
  bool is_deliver = false;
  IncomingDeliver deliver;
  v1::RouterFrame frame;
};

/// Reads a RouterFrame, a Deliver without parsing the headers inside. False: it is broken.
bool read_frame(const SharedBytes& header, IncomingFrame& frame);

}  // namespace segue::client
