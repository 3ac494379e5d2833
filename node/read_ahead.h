#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "common/logging.h"
#include "node/memory_budget.h"
#include "node/queue_table.h"
#include "node/shard_table.h"
#include "storage/disk_data_center.h"

namespace segue::node {

/// Brings messages of long queues back from disk before they are delivered, so that draining runs
/// at the speed of memory: one load after the other for each queue that is read, up to a window.
/// The windows of all queues together stay within a part of the memory budget. Reactor's thread.
class ReadAhead {
 public:
  /// The references outlive this and every load.
  ReadAhead(storage::DiskDataCenter& disk, QueueTable& queues, ShardTable& shards,
            MemoryBudget& memory, Logger& log)
      : disk_(disk), queues_(queues), shards_(shards), memory_(memory), log_(log) {}

  /// Starts a load if the queue wants one; call it when the queue was read from.
  void consider(HostedQueue& hosted);
  /// How many bytes one queue may have in memory ahead of its consumers.
  std::uint64_t window() const;
  /// Starts what was held back while messages on their way to routers took too much memory.
  void end_turn();
  /// Tries again what failed. With each tick.
  void on_tick();

 private:
  void finished(QueueId id, const Queue::LoadPlan& plan,
                const Result<storage::LoadedMessages>& result);
  /// Messages that a load did not find are told of, and those that the disk has set aside, or not
  /// at all, leave the queue for good: they shall not come back with the next start, nor keep a
  /// file.
  void give_up(HostedQueue& hosted, const std::vector<NumberRange>& lost,
               const std::vector<Sequence>& not_set_aside);

  storage::DiskDataCenter& disk_;
  QueueTable& queues_;
  ShardTable& shards_;
  MemoryBudget& memory_;
  Logger& log_;
  std::uint64_t loads_ = 0;       // on their way
  std::vector<QueueId> waiting_;  // for others' loads to end
  std::set<QueueId> held_back_;   // until there is memory
  std::vector<QueueId> failed_;
};

}  // namespace segue::node
