#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "client/frame_reader.h"
#include "common/message_batch.h"
#include "segue/delivery.h"
#include "segue/message.h"

namespace segue::client {

class ConsumerCore;

/// The messages of one Deliver frame, which Delivery and Deliveries are views of. Keeps the frame's
/// bytes alive. Immutable but for headers, which are parsed when somebody looks; any thread.
class DeliveredFrame : public std::enable_shared_from_this<DeliveredFrame> {
 public:
  /// Checks the frame's numbers against each other. `session` names the session that it came in.
  static segue::Result<std::shared_ptr<const DeliveredFrame>> make(
      std::shared_ptr<ConsumerCore> consumer, std::uint64_t session, IncomingDeliver deliver,
      SharedBytes bodies);
  ~DeliveredFrame();

  std::uint32_t count() const { return batch_->count(); }
  std::uint64_t body_bytes() const { return batch_->bodies().size(); }
  std::uint64_t first_tag() const { return first_tag_; }
  std::uint64_t last_tag() const { return first_tag_ + count() - 1; }
  std::uint64_t session() const { return session_; }
  ConsumerCore& consumer() const { return *consumer_; }

  std::string_view body(std::uint32_t message) const { return batch_->body(message); }
  std::uint64_t tag(std::uint32_t message) const { return first_tag_ + message; }
  bool redelivered(std::uint32_t message) const {
    return !redelivered_.empty() && redelivered_[message] != 0;
  }
  std::uint32_t delivery_count(std::uint32_t message) const {
    return delivery_count_.empty() ? 0 : delivery_count_[message];
  }
  /// An empty one if it cannot be parsed.
  const MessageHeader& header(std::uint32_t message) const;

  /// Messages [first, first + count) as the public view.
  Deliveries view(std::uint32_t first, std::uint32_t count) const {
    return Deliveries(shared_from_this(), first, count);
  }

 private:
  DeliveredFrame() = default;

  std::shared_ptr<ConsumerCore> consumer_;
  std::uint64_t session_ = 0;
  std::uint64_t first_tag_ = 0;
  MessageBatchPtr batch_;
  std::vector<std::uint32_t> redelivered_;
  std::vector<std::uint32_t> delivery_count_;
  // For each distinct header, null until it is first asked for.
  mutable std::vector<std::atomic<const MessageHeader*>> headers_;
};

using DeliveredFramePtr = std::shared_ptr<const DeliveredFrame>;

}  // namespace segue::client
