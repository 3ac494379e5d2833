#include "node/consumer.h"

#include <algorithm>
#include <chrono>
#include <limits>

#include "node/queue_arguments.h"

namespace segue::node {

namespace {

/// What a message without a body still costs its receiver.
constexpr std::uint64_t kMessageOverhead = 64;

}  // namespace

std::uint32_t messages_within(const MessageRun& run, std::uint32_t max_count, std::uint64_t limit,
                              std::uint64_t overhead) {
  const auto bytes = [&](std::uint32_t count) {
    return run.batch->body_bytes(run.begin, count) + count * overhead;
  };
  if (bytes(max_count) <= limit) return max_count;
  std::uint32_t low = 0;
  std::uint32_t high = max_count;
  while (low + 1 < high) {
    const std::uint32_t middle = low + (high - low) / 2;
    (bytes(middle) <= limit ? low : high) = middle;
  }
  return low;
}

void Consumer::subscribe(HostedQueue& queue, const v1::Subscribe& terms) {
  queue_ = &queue;
  no_ack_ = terms.no_ack();
  exclusive_ = terms.exclusive();
  priority_ = terms.priority();
  window_bytes_ = terms.window_bytes();
  ack_timeout_ = std::chrono::milliseconds(std::min<std::uint64_t>(
      terms.ack_timeout_ms(), static_cast<std::uint64_t>(kMaxExpirationMs)));
  set_prefetch(terms.prefetch_count(), terms.prefetch_bytes());
}

Consumer::~Consumer() {
  if (leases_ != nullptr) leases_->forget(*this);
  end_wait();
  release(window_.bytes());
  if (budget_ != nullptr) budget_->leave(session_);
}

void Consumer::share(LinkBudget& budget, std::uint64_t session) {
  budget_ = &budget;
  session_ = session;
  budget_session_ = &budget.join(session);
}

void Consumer::stop_for_good() {
  stop();
  queue_gone_ = true;
  // The router has forgotten it: nobody will say that these were received.
  release(window_.bytes());
  window_.clear();
}

void Consumer::release(std::uint64_t bytes) {
  if (budget_ != nullptr) budget_->remove(*budget_session_, bytes);
}

void Consumer::received(std::uint64_t number) {
  const std::uint64_t before = window_.bytes();
  window_.received(number);
  release(before - window_.bytes());
}

void Consumer::wait_for_room() {
  if (budget_ == nullptr || waits_for_room_ || !has_own_credit()) return;
  waiting_place_ = budget_->add_waiting(*this);
  waits_for_room_ = true;
}

void Consumer::end_wait() {
  if (!waits_for_room_) return;
  budget_->remove_waiting(waiting_place_);
  waits_for_room_ = false;
}

bool Consumer::has_credit() const {
  if (!has_own_credit()) return false;
  return budget_ == nullptr || budget_->room(*budget_session_, window_.bytes()) > 0;
}

bool Consumer::has_own_credit() const {
  if (window_bytes_ > 0 && window_.bytes() >= window_bytes_) return false;
  if (no_ack_ || unacked_.empty()) return true;
  if (prefetch_count_ > 0 && unacked_.count() >= prefetch_count_) return false;
  return prefetch_bytes_ == 0 || unacked_.bytes() < prefetch_bytes_;
}

std::uint32_t Consumer::admits(const MessageRun& run) const {
  std::uint32_t count = run.count;
  if (window_bytes_ > 0 && count > 0) {
    const std::uint64_t used = window_.bytes();
    const std::uint64_t room = window_bytes_ > used ? window_bytes_ - used : 0;
    count = messages_within(run, count, room, kMessageOverhead);
    if (count == 0 && used == 0) count = 1;
  }
  if (budget_ != nullptr && count > 0) {
    const std::uint64_t room = budget_->room(*budget_session_, window_.bytes());
    const std::uint32_t within = messages_within(run, count, room, kMessageOverhead);
    count = room > 0 ? std::max(1u, within) : 0;
  }
  if (no_ack_) return count;
  if (prefetch_count_ > 0) {
    const std::uint64_t used = unacked_.count();
    const std::uint64_t room = prefetch_count_ > used ? prefetch_count_ - used : 0;
    count = static_cast<std::uint32_t>(std::min<std::uint64_t>(count, room));
  }
  if (prefetch_bytes_ > 0 && count > 0) {
    const std::uint64_t used = unacked_.bytes();
    const std::uint64_t room = prefetch_bytes_ > used ? prefetch_bytes_ - used : 0;
    count = messages_within(run, count, room, 0);
    // A message larger than the whole prefetch comes when nothing else is out.
    if (count == 0 && unacked_.empty()) count = 1;
  }
  return count;
}

std::uint64_t Consumer::deliver(QueueId queue, const MessageRun& run, bool keep) {
  const std::uint64_t first = next_number_;
  next_number_ += run.count;
  const std::uint64_t bytes = run.body_bytes();
  if (window_bytes_ > 0) {
    const std::uint64_t cost = bytes + run.count * kMessageOverhead;
    window_.add(next_number_ - 1, cost);
    if (budget_ != nullptr) budget_->add(*budget_session_, cost);
  }
  if (!keep) return first;
  if (prefetch_bytes_ == 0) {
    unacked_.add(first, {queue, run.first, run.count, bytes}, false);
    return first;
  }
  for (std::uint32_t i = 0; i < run.count; ++i) {
    unacked_.add(first + i, {queue, run.first.next(i), 1, run.batch->body_size(run.begin + i)},
                 true);
  }
  return first;
}

}  // namespace segue::node
