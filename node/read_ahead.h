#pragma once

#include <cstdint>
#include <vector>

#include "common/logging.h"
#include "node/memory_budget.h"
#include "node/queue_table.h"
#include "storage/disk_data_center.h"

namespace segue::node {

/// Brings messages of long queues back from disk before they are delivered, so that draining runs
/// at the speed of memory: one load after the other for each queue that is read, up to a window.
/// The windows of all queues together stay within a part of the memory budget. Reactor's thread.
class ReadAhead {
 public:
  /// The references outlive this and every load.
  ReadAhead(storage::DiskDataCenter& disk, QueueTable& queues, MemoryBudget& memory, Logger& log)
      : disk_(disk), queues_(queues), memory_(memory), log_(log) {}

  /// Starts a load if the queue wants one; call it when the queue was read from.
  void consider(HostedQueue& hosted);
  /// How many bytes one queue may have in memory ahead of its consumers.
  std::uint64_t window() const;
  /// Tries again what failed. With each tick.
  void on_tick();

 private:
  void finished(QueueId id, const Queue::LoadPlan& plan,
                const Result<storage::LoadedMessages>& result);
  storage::LoadedMessages tracked(const storage::LoadedMessages& loaded);

  storage::DiskDataCenter& disk_;
  QueueTable& queues_;
  MemoryBudget& memory_;
  Logger& log_;
  std::uint64_t loads_ = 0;       // on their way
  std::vector<QueueId> waiting_;  // for others' loads to end
  std::vector<QueueId> failed_;
};

}  // namespace segue::node
