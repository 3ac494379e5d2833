#pragma once

#include <cstdint>
#include <deque>
#include <map>

#include "common/logging.h"
#include "node/memory_budget.h"
#include "node/publish_gate.h"
#include "node/queue_table.h"
#include "node/turn_clock.h"
#include "storage/disk_data_center.h"

namespace segue::node {

/// Writes messages from memory into their queues' segments, for checkpoints and when memory is
/// short: one store at a time for each queue, so that a failed one can be repeated in order; a
/// bounded number of bytes on the way for all. Reactor's thread.
class QueueStorer {
 public:
  /// The references outlive this and every store.
  QueueStorer(storage::DiskDataCenter& disk, QueueTable& queues, const MemoryBudget& memory,
              PublishGate& gate, const TurnClock& clock, Logger& log)
      : disk_(disk), queues_(queues), memory_(memory), gate_(gate), clock_(clock), log_(log) {}

  /// Stores the queue's messages up to `through`, in time. Queue::is_written() says when.
  void want(HostedQueue& hosted, Sequence through);
  /// Starts what may be started. Once in every turn.
  void step();
  std::uint64_t bytes_on_the_way() const { return bytes_on_the_way_; }
  /// Whether a store failed and the next try is not due.
  bool paused() const { return clock_.now < paused_until_; }

 private:
  void start(HostedQueue& hosted);
  void finished(QueueId id, std::uint64_t bytes, const Status& status);

  storage::DiskDataCenter& disk_;
  QueueTable& queues_;
  const MemoryBudget& memory_;
  PublishGate& gate_;
  const TurnClock& clock_;
  Logger& log_;
  std::map<QueueId, Sequence> wanted_;
  std::deque<QueueId> waiting_;  // those of wanted_ that have no store on the way
  std::uint64_t bytes_on_the_way_ = 0;
  TimePoint paused_until_{};
};

}  // namespace segue::node
