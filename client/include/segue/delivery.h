#pragma once

#include <chrono>
#include <cstdint>
#include <future>
#include <memory>
#include <string_view>

#include "segue/message.h"
#include "segue/result.h"

namespace segue::client {

class DeliveredFrame;

/// One delivered message. A small handle: copying copies a pointer, the views stay valid while any
/// copy, or the Deliveries it came from, lives. Safe from any thread. Settle it once with ack(),
/// reject(), requeue() or release(); a delivery that is never settled comes back when the
/// connection closes.
///
/// Settling costs no round trip: settlements are collected and sent in ranges. After a reconnect
/// the broker delivers unsettled messages again; settling the old Delivery then does nothing.
class Delivery {
 public:
  std::string_view body() const;
  std::string_view exchange() const;
  std::string_view routing_key() const;
  /// Parsed on first use.
  const Properties& properties() const;
  /// Its number in its consumer's session: from 1, by 1.
  std::uint64_t tag() const;
  /// It may have been delivered before.
  bool redelivered() const;
  /// Earlier deliveries that ended without an ack.
  std::uint32_t delivery_count() const;

  /// Done with; the message leaves the queue. Does nothing for a no-ack consumer.
  void ack() const;
  /// Refused for good; the message leaves the queue.
  void reject() const;
  /// Back to its place in the queue; the delivery counts.
  void requeue() const;
  /// The same, but it is not delivered again before so long, whatever the queue's back-off says;
  /// ten years at most.
  void requeue(std::chrono::milliseconds delay) const;
  /// Back to its place in the queue, untried: the delivery does not count.
  void release() const;
  /// Not settled yet: the time that the queue or the consumer sets for it (x-consumer-timeout)
  /// begins anew. Too late, the message has gone back to its queue.
  void extend() const;

  /// Acks and gives a future that is OK when the ack is durable: the message will then never come
  /// again. DISCONNECTED when the session broke before the answer (it may come again),
  /// PRECONDITION_FAILED when it was settled before.
  std::future<Status> ack_confirmed() const;

 private:
  friend class Deliveries;
  friend class HeldDeliveries;
  Delivery(std::shared_ptr<const DeliveredFrame> frame, std::uint32_t index)
      : frame_(std::move(frame)), index_(index) {}

  std::shared_ptr<const DeliveredFrame> frame_;
  std::uint32_t index_;
};

/// Messages that arrived together: a view of one frame, nothing is copied or allocated for each.
/// Use as a range of Delivery. Safe from any thread.
class Deliveries {
 public:
  class Iterator {
   public:
    using value_type = Delivery;
    using difference_type = std::ptrdiff_t;
    using iterator_category = std::input_iterator_tag;
    using pointer = void;
    using reference = Delivery;

    Iterator() = default;
    Delivery operator*() const { return (*owner_)[at_]; }
    Iterator& operator++() {
      ++at_;
      return *this;
    }
    Iterator operator++(int) {
      Iterator before = *this;
      ++at_;
      return before;
    }
    bool operator==(const Iterator& other) const { return at_ == other.at_; }

   private:
    friend class Deliveries;
    Iterator(const Deliveries* owner, std::size_t at) : owner_(owner), at_(at) {}
    const Deliveries* owner_ = nullptr;
    std::size_t at_ = 0;
  };

  Deliveries() = default;

  std::size_t size() const { return count_; }
  bool empty() const { return count_ == 0; }
  /// index < size().
  Delivery operator[](std::size_t index) const;
  /// The body of one message, without making a Delivery; valid while this object lives.
  std::string_view body(std::size_t index) const;
  Iterator begin() const { return Iterator(this, 0); }
  Iterator end() const { return Iterator(this, count_); }

  /// Settle all of them, as one range.
  void ack() const { settle(Settle::kAck); }
  void reject() const { settle(Settle::kReject); }
  void requeue() const { settle(Settle::kRequeue); }
  void release() const { settle(Settle::kRelease); }
  /// As Delivery::extend().
  void extend() const { settle(Settle::kExtend); }
  std::future<Status> ack_confirmed() const;

 private:
  friend class DeliveredFrame;
  enum class Settle { kAck, kReject, kRequeue, kRelease, kExtend };
  void settle(Settle how) const;
  Deliveries(std::shared_ptr<const DeliveredFrame> frame, std::uint32_t first, std::uint32_t count)
      : frame_(std::move(frame)), first_(first), count_(count) {}

  std::shared_ptr<const DeliveredFrame> frame_;
  std::uint32_t first_ = 0;
  std::uint32_t count_ = 0;
};

}  // namespace segue::client
