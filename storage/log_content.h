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
    ShardId shard;
  };

  /// Of which shard the next are told.
  void set_shard(ShardId shard) { shard_ = shard; }

  void enqueued(QueueId queue, Sequence first, Sequence last) {
    if (makes_sense(first, last)) of(queue).enqueued.add({first.value, last.value});
  }
  void settled(QueueId queue, Sequence first, Sequence last) {
    if (makes_sense(first, last)) of(queue).settled.add({first.value, last.value});
  }
  void deleted(QueueId queue) { of(queue).deleted = true; }

  const std::map<QueueId, Queue>& queues() const { return queues_; }
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

  Queue& of(QueueId queue) {
    Queue& named = queues_[queue];
    named.shard = shard_;
    return named;
  }

  std::map<QueueId, Queue> queues_;
  ShardId shard_;
};

}  // namespace segue::storage
