#pragma once

#include <cstdint>
#include <deque>
#include <list>

#include "common/clock.h"
#include "common/message_batch.h"
#include "node/lease_book.h"
#include "node/link_budget.h"
#include "node/peer_output.h"
#include "node/unacked.h"
#include "segue/v1/peer.pb.h"

namespace segue::node {

struct HostedQueue;

/// How many messages from the run's beginning have at most `limit` bytes together, each counted
/// with `overhead` more; 0 when the first is too large.
std::uint32_t messages_within(const MessageRun& run, std::uint32_t max_count, std::uint64_t limit,
                              std::uint64_t overhead = 0);

/// Bytes that were delivered and have not left the router's buffers. Counted by delivery, not by
/// message: a delivery is off when its last message is.
class DeliveryWindow {
 public:
  void add(std::uint64_t last_number, std::uint64_t bytes) {
    on_the_way_.push_back({last_number, bytes});
    bytes_ += bytes;
  }
  /// Everything up to this number has been received.
  void received(std::uint64_t number) {
    while (!on_the_way_.empty() && on_the_way_.front().last_number <= number) {
      bytes_ -= on_the_way_.front().bytes;
      on_the_way_.pop_front();
    }
  }
  void clear() {
    on_the_way_.clear();
    bytes_ = 0;
  }
  std::uint64_t bytes() const { return bytes_; }

 private:
  struct Sent {
    std::uint64_t last_number;
    std::uint64_t bytes;
  };
  std::deque<Sent> on_the_way_;
  std::uint64_t bytes_ = 0;
};

/// One subscription of a peer, or the number under which one session's gets are settled. Counts
/// credit; knows neither queue order nor the log. Reactor's thread.
class Consumer {
 public:
  Consumer(PeerId peer, std::uint64_t number) : peer_(peer), number_(number) {}
  ~Consumer();
  Consumer(const Consumer&) = delete;
  Consumer& operator=(const Consumer&) = delete;

  PeerId peer() const { return peer_; }
  std::uint64_t number() const { return number_; }

  void subscribe(HostedQueue& queue, const v1::Subscribe& terms);
  /// What is on the way to it counts there too, for a session of its router; before the first
  /// delivery. The budget outlives the consumer.
  void share(LinkBudget& budget, std::uint64_t session);
  void set_prefetch(std::uint32_t count, std::uint64_t bytes) {
    prefetch_count_ = count;
    prefetch_bytes_ = bytes;
  }
  /// The queue it consumes; null for gets, and after stop().
  HostedQueue* queue() const { return queue_; }
  /// No more deliveries; what was delivered can still be settled.
  void stop() {
    queue_ = nullptr;
    stopped_ = true;
    end_wait();
  }
  bool stopped() const { return stopped_; }
  /// Its queue is gone, and with it what was to be settled: settling that is no error.
  void stop_for_good();
  bool queue_gone() const { return queue_gone_; }
  bool for_gets() const { return queue_ == nullptr && !stopped_; }
  bool no_ack() const { return no_ack_; }
  std::int32_t priority() const { return priority_; }
  bool exclusive() const { return exclusive_; }

  /// Whether it may be given anything at all.
  bool has_credit() const;
  /// How many messages from the run's beginning it may be given now.
  std::uint32_t admits(const MessageRun& run) const;
  /// Gives out the run's delivery numbers; the first one. `keep`: it will be settled.
  std::uint64_t deliver(QueueId queue, const MessageRun& run, bool keep);

  std::uint64_t next_number() const { return next_number_; }
  Unacked& unacked() { return unacked_; }
  const Unacked& unacked() const { return unacked_; }
  /// Everything up to this number has been received.
  void received(std::uint64_t number);

  /// How long it has for a delivery of a queue that says `of_queue`; 0: for ever.
  Duration ack_timeout(Duration of_queue) const {
    return ack_timeout_ > Duration::zero() ? ack_timeout_ : of_queue;
  }
  /// Deliveries have to be settled by then; the book outlives the consumer.
  void lease(LeaseBook& book, NumberRange numbers, TimePoint until) {
    leases_ = &book;
    book.set(*this, numbers, until);
  }
  /// After deliveries were settled.
  void trim_leases() {
    if (leases_ != nullptr) leases_->settled_below(*this, unacked_.lowest(next_number_));
  }

  /// It waits in its queue's ring for its turn.
  bool in_ring() const { return in_ring_; }
  /// It is not in its queue's ring. If that is for lack of room in the budget, it is in line there.
  void wait_for_room();
  void end_wait();

 private:
  friend class ConsumerRing;
  friend struct QueueReaders;

  bool has_own_credit() const;
  void release(std::uint64_t bytes);

  const PeerId peer_;
  const std::uint64_t number_;
  HostedQueue* queue_ = nullptr;
  bool stopped_ = false;
  bool queue_gone_ = false;
  bool no_ack_ = false;
  bool exclusive_ = false;
  std::int32_t priority_ = 0;
  std::uint32_t prefetch_count_ = 0;
  std::uint64_t prefetch_bytes_ = 0;
  std::uint64_t window_bytes_ = 0;
  std::uint64_t next_number_ = 1;
  Unacked unacked_;
  DeliveryWindow window_;
  Duration ack_timeout_{};
  LeaseBook* leases_ = nullptr;  // if it ever had one
  LinkBudget* budget_ = nullptr;
  LinkBudget::Session* budget_session_ = nullptr;
  std::uint64_t session_ = 0;
  bool waits_for_room_ = false;
  std::list<Consumer*>::iterator waiting_place_{};
  std::uint64_t place_in_line_ = 0;  // 0: it is in none
  bool in_ring_ = false;
  std::list<Consumer*>::iterator ring_place_{};
};

}  // namespace segue::node
