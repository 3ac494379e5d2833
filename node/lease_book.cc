#include "node/lease_book.h"

#include <algorithm>
#include <iterator>

namespace segue::node {

void LeaseBook::set(Consumer& consumer, NumberRange numbers, TimePoint until) {
  Leases& leases = consumers_[&consumer];
  leases.earliest = std::min(leases.earliest, until);
  if (!leases.by_first.empty()) {
    auto& [first, last_one] = *leases.by_first.rbegin();
    if (last_one.last + 1 == numbers.first && last_one.until == until) {
      last_one.last = numbers.last;
      return;
    }
    if (last_one.last >= numbers.first) cut_out(leases, numbers);
  }
  leases.by_first[numbers.first] = {numbers.last, until};
}

void LeaseBook::cut_out(Leases& leases, NumberRange numbers) {
  auto at = leases.by_first.upper_bound(numbers.first);
  if (at != leases.by_first.begin()) --at;
  while (at != leases.by_first.end() && at->first <= numbers.last) {
    const std::uint64_t first = at->first;
    const Lease lease = at->second;
    if (lease.last < numbers.first) {
      ++at;
      continue;
    }
    at = leases.by_first.erase(at);
    if (first < numbers.first) leases.by_first[first] = {numbers.first - 1, lease.until};
    if (lease.last > numbers.last) {
      leases.by_first[numbers.last + 1] = lease;
      break;
    }
  }
}

void LeaseBook::settled_below(Consumer& consumer, std::uint64_t number) {
  const auto found = consumers_.find(&consumer);
  if (found == consumers_.end()) return;
  auto& by_first = found->second.by_first;
  while (!by_first.empty() && by_first.begin()->second.last < number) {
    by_first.erase(by_first.begin());
  }
  if (by_first.empty()) consumers_.erase(found);
}

void LeaseBook::forget(Consumer& consumer) {
  consumers_.erase(&consumer);
}

std::vector<LeaseBook::Due> LeaseBook::take_due(TimePoint now) {
  std::vector<Due> all;
  for (auto entry = consumers_.begin(); entry != consumers_.end();) {
    Leases& leases = entry->second;
    if (leases.earliest > now) {
      ++entry;
      continue;
    }
    Due due{entry->first, {}};
    leases.earliest = TimePoint::max();
    for (auto at = leases.by_first.begin(); at != leases.by_first.end();) {
      if (at->second.until > now) {
        leases.earliest = std::min(leases.earliest, at->second.until);
        ++at;
        continue;
      }
      due.numbers.push_back({at->first, at->second.last});
      at = leases.by_first.erase(at);
    }
    entry = leases.by_first.empty() ? consumers_.erase(entry) : std::next(entry);
    if (!due.numbers.empty()) all.push_back(std::move(due));
  }
  return all;
}

}  // namespace segue::node
