#include "node/delivery_counts.h"

#include <algorithm>
#include <iterator>
#include <limits>

namespace segue::node {

std::uint32_t DeliveryCounts::of(std::uint64_t sequence) const {
  const auto after = spans_.upper_bound(sequence);
  if (after == spans_.begin()) return 0;
  const Span& span = std::prev(after)->second;
  return span.last >= sequence ? span.count : 0;
}

bool DeliveryCounts::any_in(NumberRange range) const {
  if (spans_.empty()) return false;
  const auto after = spans_.upper_bound(range.last);
  return after != spans_.begin() && std::prev(after)->second.last >= range.first;
}

void DeliveryCounts::cut_before(std::uint64_t sequence) {
  const auto after = spans_.lower_bound(sequence);
  if (after == spans_.begin()) return;
  Span& span = std::prev(after)->second;
  if (span.last < sequence) return;
  spans_.emplace_hint(after, sequence, span);
  span.last = sequence - 1;
}

void DeliveryCounts::increment(NumberRange range) {
  cut_before(range.first);
  cut_before(range.last + 1);
  std::uint64_t next = range.first;  // the lowest one not yet done
  auto at = spans_.lower_bound(range.first);
  while (next <= range.last) {
    if (at == spans_.end() || at->first > next) {
      const std::uint64_t last =
          at == spans_.end() ? range.last : std::min(range.last, at->first - 1);
      at = std::next(spans_.emplace_hint(at, next, Span{last, 1}));
      next = last + 1;
    } else {
      if (at->second.count < std::numeric_limits<std::uint32_t>::max()) ++at->second.count;
      next = at->second.last + 1;
      ++at;
    }
  }
  join_around(range);
}

void DeliveryCounts::decrement(NumberRange range) {
  cut_before(range.first);
  cut_before(range.last + 1);
  auto at = spans_.lower_bound(range.first);
  while (at != spans_.end() && at->first <= range.last) {
    at = --at->second.count == 0 ? spans_.erase(at) : std::next(at);
  }
  join_around(range);
}

void DeliveryCounts::join_around(NumberRange range) {
  auto at = spans_.lower_bound(range.first);
  if (at != spans_.begin()) --at;
  while (at != spans_.end()) {
    const auto next = std::next(at);
    if (next == spans_.end() || next->first > range.last + 1) return;
    if (at->second.count == next->second.count && at->second.last + 1 == next->first) {
      at->second.last = next->second.last;
      spans_.erase(next);
    } else {
      at = next;
    }
  }
}

void DeliveryCounts::erase(NumberRange range) {
  if (!any_in(range)) return;
  cut_before(range.first);
  cut_before(range.last + 1);
  spans_.erase(spans_.lower_bound(range.first), spans_.upper_bound(range.last));
}

}  // namespace segue::node
