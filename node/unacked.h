#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "common/ids.h"
#include "node/range_set.h"

namespace segue::node {

/// What one consumer has been given and has not settled, by delivery number. Messages delivered
/// side by side make one entry; only what a settle leaves on both sides of itself splits one.
/// Reactor's thread.
class Unacked {
 public:
  /// Messages of one queue with consecutive delivery numbers and sequences.
  struct Run {
    QueueId queue;
    Sequence first;
    std::uint32_t count = 0;
    std::uint64_t bytes = 0;  // of their bodies

    NumberRange sequences() const { return {first.value, first.value + count - 1}; }
  };

  /// Deliveries number, number + 1, ...; above all there are. `exact`: keeps messages of different
  /// sizes apart, so that each gives back its own bytes.
  void add(std::uint64_t number, Run run, bool exact);
  /// Takes out what there is of these numbers and appends it to `taken`; how many messages.
  std::uint64_t take(NumberRange numbers, std::vector<Run>& taken);
  /// Takes out everything.
  void take_all(std::vector<Run>& taken);

  /// Deliveries of one queue.
  struct Numbered {
    QueueId queue;
    NumberRange numbers;
  };
  /// What there is of these numbers.
  std::vector<Numbered> find(NumberRange numbers) const;
  /// The lowest number; `none` without any.
  std::uint64_t lowest(std::uint64_t none) const {
    return runs_.empty() ? none : runs_.begin()->first;
  }
  bool empty() const { return runs_.empty(); }
  std::uint64_t count() const { return count_; }
  std::uint64_t bytes() const { return bytes_; }

 private:
  std::map<std::uint64_t, Run> runs_;  // by the first one's number
  std::uint64_t count_ = 0;
  std::uint64_t bytes_ = 0;
};

}  // namespace segue::node
