#pragma once

#include <cstdint>
#include <map>

namespace segue::router {

/// A set of numbers kept as ranges, neighbours joined. One thread.
class RangeSet {
 public:
  /// False, and nothing changes, when the number is in the set already.
  bool insert(std::uint64_t number);
  bool contains(std::uint64_t number) const;
  /// How many ranges it takes to say what is in the set.
  std::size_t range_count() const { return ranges_.size(); }

 private:
  std::map<std::uint64_t, std::uint64_t> ranges_;  // first -> last
};

}  // namespace segue::router
