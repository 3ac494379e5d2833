#pragma once

#include <cstdint>
#include <vector>

#include "common/message_batch.h"
#include "node/consumer.h"
#include "node/queue.h"
#include "segue/v1/peer.pb.h"

namespace segue::node {

/// Puts together one NodeDelivery: messages for one consumer with consecutive delivery numbers.
/// Reusable after take().
class DeliveryFrame {
 public:
  bool empty() const { return builder_.empty(); }
  std::uint32_t count() const { return builder_.count(); }
  std::uint64_t body_bytes() const { return builder_.body_bytes(); }

  /// The run was given out under `first_number`, ...; `queue` says which of it was delivered
  /// before.
  void add(std::uint64_t first_number, const Queue& queue, const MessageRun& run);

  struct Built {
    v1::NodeDelivery delivery;
    std::vector<SharedBytes> bodies;
  };
  Built take(const Consumer& consumer);

 private:
  MessageBatchBuilder builder_;
  std::uint64_t first_number_ = 0;
  // For the messages so far, as long as any of them has it.
  std::vector<bool> redelivered_;
  std::vector<std::uint32_t> counts_;
};

}  // namespace segue::node
