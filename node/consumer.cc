#include "node/consumer.h"

#include <algorithm>
#include <limits>

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
  priority_ = terms.priority();
  window_bytes_ = terms.window_bytes();
  set_prefetch(terms.prefetch_count(), terms.prefetch_bytes());
}

bool Consumer::has_credit() const {
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
    window_.add(next_number_ - 1, bytes + run.count * kMessageOverhead);
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
