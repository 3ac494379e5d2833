#include "common/range_set.h"

#include <algorithm>
#include <iterator>

namespace segue {

bool RangeSet::contains(std::uint64_t number) const {
  NumberRange found;
  return find_from(number, &found) && found.first <= number;
}

bool RangeSet::find_from(std::uint64_t number, NumberRange* found) const {
  auto at = ranges_.upper_bound(number);
  if (at != ranges_.begin() && std::prev(at)->second >= number) --at;
  if (at == ranges_.end()) return false;
  *found = {at->first, at->second};
  return true;
}

void RangeSet::add(NumberRange range) {
  if (!ranges_.empty()) {
    // The common case: numbers that follow the highest range.
    auto back = std::prev(ranges_.end());
    if (range.first > back->second) {
      count_ += range.count();
      if (back->second + 1 == range.first) {
        back->second = range.last;
      } else {
        ranges_.emplace_hint(ranges_.end(), range.first, range.last);
      }
      return;
    }
  }
  auto at = ranges_.lower_bound(range.first);
  if (at != ranges_.begin() && std::prev(at)->second + 1 >= range.first) --at;
  while (at != ranges_.end() && at->first <= range.last + 1) {
    range.first = std::min(range.first, at->first);
    range.last = std::max(range.last, at->second);
    count_ -= at->second - at->first + 1;
    at = ranges_.erase(at);
  }
  ranges_.emplace_hint(at, range.first, range.last);
  count_ += range.count();
}

std::uint64_t RangeSet::remove(NumberRange range) {
  std::uint64_t removed = 0;
  auto at = ranges_.upper_bound(range.first);
  if (at != ranges_.begin() && std::prev(at)->second >= range.first) --at;
  while (at != ranges_.end() && at->first <= range.last) {
    const NumberRange old{at->first, at->second};
    const std::uint64_t low = std::max(old.first, range.first);
    const std::uint64_t high = std::min(old.last, range.last);
    removed += high - low + 1;
    if (low > old.first) {
      at->second = low - 1;
      ++at;
      if (high < old.last) at = std::next(ranges_.emplace_hint(at, high + 1, old.last));
    } else if (high < old.last) {
      // The node is used again under its new key: cutting a front costs no allocation.
      const auto next = std::next(at);
      auto node = ranges_.extract(at);
      node.key() = high + 1;
      at = std::next(ranges_.insert(next, std::move(node)));
    } else {
      at = ranges_.erase(at);
    }
  }
  count_ -= removed;
  return removed;
}

}  // namespace segue
