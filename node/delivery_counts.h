#pragma once

#include <cstdint>
#include <map>

#include "node/range_set.h"

namespace segue::node {

/// How many deliveries of a message ended without an ack, for the messages where any did. Kept as
/// ranges of sequences with equal counts, so that a million messages that came back together cost
/// one entry.
class DeliveryCounts {
 public:
  struct Span {
    std::uint64_t last = 0;
    std::uint32_t count = 0;
  };
  using Map = std::map<std::uint64_t, Span>;  // by first sequence

  bool empty() const { return spans_.empty(); }
  /// 0 for a message that has none.
  std::uint32_t of(std::uint64_t sequence) const;
  bool any_in(NumberRange range) const;
  /// One more for each message of the range.
  void increment(NumberRange range);
  /// One less for each message of the range; each has one at least.
  void decrement(NumberRange range);
  /// Sets the count of a range that has none yet.
  void set(NumberRange range, std::uint32_t count) { spans_[range.first] = {range.last, count}; }
  /// Forgets the messages of the range.
  void erase(NumberRange range);
  const Map& spans() const { return spans_; }

 private:
  /// Makes a span begin at `sequence` if one holds it and the one before.
  void cut_before(std::uint64_t sequence);
  void join_around(NumberRange range);

  Map spans_;
};

}  // namespace segue::node
