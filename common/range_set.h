#pragma once

#include <cstdint>
#include <map>

namespace segue {

/// Numbers first..last, both included; first <= last.
struct NumberRange {
  std::uint64_t first = 0;
  std::uint64_t last = 0;

  std::uint64_t count() const { return last - first + 1; }
  bool operator==(const NumberRange&) const = default;
};

/// A set of numbers, kept as ranges that neither touch nor overlap: its size goes with its holes,
/// not with its numbers. Numbers are below 2^64 - 1.
class RangeSet {
 public:
  using Map = std::map<std::uint64_t, std::uint64_t>;  // first -> last

  bool empty() const { return ranges_.empty(); }
  /// How many numbers it has.
  std::uint64_t count() const { return count_; }
  /// The lowest range; not on an empty set.
  NumberRange front() const { return {ranges_.begin()->first, ranges_.begin()->second}; }
  /// The highest number; not on an empty set.
  std::uint64_t highest() const { return ranges_.rbegin()->second; }
  bool contains(std::uint64_t number) const;
  /// The range that holds `number`, or the next above it; false if there is none.
  bool find_from(std::uint64_t number, NumberRange* found) const;

  /// Adds what is not in it yet.
  void add(NumberRange range);
  /// Takes out what is in it; how many numbers that were.
  std::uint64_t remove(NumberRange range);
  /// Takes out everything below `number`.
  void remove_below(std::uint64_t number) {
    if (number > 0 && !empty() && ranges_.begin()->first < number) remove({0, number - 1});
  }
  void clear() {
    ranges_.clear();
    count_ = 0;
  }
  const Map& ranges() const { return ranges_; }

 private:
  Map ranges_;
  std::uint64_t count_ = 0;
};

}  // namespace segue
