#include "router/range_set.h"

#include <iterator>

namespace segue::router {

bool RangeSet::contains(std::uint64_t number) const {
  const auto after = ranges_.upper_bound(number);
  return after != ranges_.begin() && std::prev(after)->second >= number;
}

bool RangeSet::insert(std::uint64_t number) {
  if (contains(number)) return false;
  auto after = ranges_.upper_bound(number);
  auto here = ranges_.end();
  if (after != ranges_.begin() && std::prev(after)->second + 1 == number) {
    here = std::prev(after);
    here->second = number;
  } else {
    here = ranges_.emplace_hint(after, number, number);
  }
  if (after != ranges_.end() && after->first == number + 1) {
    here->second = after->second;
    ranges_.erase(after);
  }
  return true;
}

}  // namespace segue::router
