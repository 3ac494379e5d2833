#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <optional>

#include "common/ids.h"
#include "common/range_set.h"
#include "storage/log_content.h"

namespace segue::storage {

/// Messages that a check finds damaged in the queues' files: which of them are lost. One thread.
class DamagedMessages {
 public:
  /// The quarantine has it: its queue goes on without it, or will.
  void set_aside(QueueId queue, Sequence sequence) { add(set_aside_, queue, sequence); }
  bool is_set_aside(QueueId queue, Sequence sequence) const {
    const auto found = set_aside_.find(queue);
    return found != set_aside_.end() && found->second.contains(sequence.value);
  }

  /// A damaged message that its index does not know to be settled. `sequence`: nothing if that
  /// cannot be told.
  void found(QueueId queue, std::optional<Sequence> sequence) {
    if (!sequence || !add(damaged_, queue, *sequence)) ++nameless_;
  }
  bool empty() const { return damaged_.empty() && nameless_ == 0; }

  /// How many of them neither the log settles nor, with its queue, deletes. `is_gone`: of a queue,
  /// whether nothing of it counts.
  template <typename IsGone>
  std::uint64_t lost(const LogContent& log, IsGone is_gone) const {
    std::uint64_t count = nameless_;
    for (const auto& [queue, sequences] : damaged_) {
      const LogContent::Queue* const in_log = log.find(queue);
      if ((in_log != nullptr && in_log->deleted) || is_gone(queue)) continue;
      RangeSet left = sequences;
      if (in_log != nullptr) {
        for (const auto& [first, last] : in_log->settled.ranges()) left.remove({first, last});
      }
      count += left.count();
    }
    return count;
  }

 private:
  using Queues = std::map<QueueId, RangeSet>;

  /// RangeSet takes no others.
  static bool add(Queues& queues, QueueId queue, Sequence sequence) {
    if (sequence.value == std::numeric_limits<std::uint64_t>::max()) return false;
    queues[queue].add({sequence.value, sequence.value});
    return true;
  }

  Queues set_aside_;
  Queues damaged_;
  std::uint64_t nameless_ = 0;
};

}  // namespace segue::storage
