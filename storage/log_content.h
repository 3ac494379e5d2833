#pragma once

#include <cstdint>
#include <limits>
#include <map>

#include "common/ids.h"
#include "common/range_set.h"

namespace segue::storage {

/// What the records of a log say of queues' messages. One thread.
class LogContent {
 public:
  struct Queue {
    RangeSet enqueued;  // sequences
    RangeSet settled;
    bool deleted = false;
  };

  void enqueued(QueueId queue, Sequence first, Sequence last) {
    if (makes_sense(first, last)) queues_[queue].enqueued.add({first.value, last.value});
  }
  void settled(QueueId queue, Sequence first, Sequence last) {
    if (makes_sense(first, last)) queues_[queue].settled.add({first.value, last.value});
  }
  void deleted(QueueId queue) { queues_[queue].deleted = true; }

  /// Null if the log does not name the queue.
  const Queue* find(QueueId queue) const {
    const auto found = queues_.find(queue);
    return found == queues_.end() ? nullptr : &found->second;
  }

 private:
  /// RangeSet takes no others.
  static bool makes_sense(Sequence first, Sequence last) {
    return first <= last && last.value < std::numeric_limits<std::uint64_t>::max();
  }

  std::map<QueueId, Queue> queues_;
};

}  // namespace segue::storage
