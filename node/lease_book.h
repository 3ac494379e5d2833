#pragma once

#include <cstdint>
#include <map>
#include <unordered_map>
#include <vector>

#include "common/clock.h"
#include "node/range_set.h"

namespace segue::node {

class Consumer;

/// Until when deliveries have to be settled, of consumers whose queue (or who themselves) set a
/// time for it. Knows delivery numbers only: those that were settled meanwhile are the consumer's
/// to know. Reactor's thread.
class LeaseBook {
 public:
  /// Deliveries `numbers` of the consumer are due at `until`, whatever they were before.
  void set(Consumer& consumer, NumberRange numbers, TimePoint until);
  /// Everything below `number` was settled.
  void settled_below(Consumer& consumer, std::uint64_t number);
  /// The consumer ends.
  void forget(Consumer& consumer);

  struct Due {
    Consumer* consumer = nullptr;
    std::vector<NumberRange> numbers;
  };
  /// What is due, and leaves the book.
  std::vector<Due> take_due(TimePoint now);
  bool empty() const { return consumers_.empty(); }

 private:
  struct Lease {
    std::uint64_t last = 0;
    TimePoint until;
  };
  struct Leases {
    std::map<std::uint64_t, Lease> by_first;  // none overlap
    TimePoint earliest = TimePoint::max();    // none is due before
  };
  static void cut_out(Leases& leases, NumberRange numbers);

  std::unordered_map<Consumer*, Leases> consumers_;
};

}  // namespace segue::node
