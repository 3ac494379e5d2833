#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "common/ids.h"
#include "common/status.h"
#include "storage/checkpoint_file.h"
#include "storage/repair_work.h"
#include "storage/segment_salvage.h"

namespace segue::storage {

/// A queue of a shard whose checkpoint is lost, as its segments show it.
struct RepairedQueue {
  QueueId id;
  Sequence last;  // the highest that was found
};

/// Makes a shard's directory one that a node starts on. One use.
class ShardRepair {
 public:
  /// The state of a shard that has these queues, for a checkpoint.
  using MakeState = std::function<std::string(const std::vector<RepairedQueue>&)>;

  /// `in_log`: the lowest sequence that the log enqueues, of each queue that it does. Outlives
  /// this.
  ShardRepair(RepairWork& work, ShardId shard, std::string directory,
              const std::map<QueueId, Sequence>& in_log)
      : work_(work), shard_(shard), directory_(std::move(directory)), in_log_(in_log) {}

  /// There is no checkpoint that can be read, for this reason: a new one is made of what the
  /// queues' files hold. The log's records above `applied` will be replayed over it.
  Status make_checkpoint(LogIndex applied, const std::string& reason, const MakeState& state);
  /// The checkpoint is whole: what keeps its segments from being recovered.
  Status repair_segments(Checkpoint checkpoint);

 private:
  using Segments = std::vector<SalvagedSegment>;

  Status salvage_queue(QueueId id, const std::string& directory, CheckpointQueue& to);
  Result<Segments> read_segments(QueueId id, const std::string& directory);
  Status settle_copies(const std::string& directory, Segments& segments);
  Status cut_what_is_logged(QueueId id, const std::string& directory, Segments& segments);
  Status write(QueueId id, const std::string& directory, const SalvagedSegment& segment);
  Status move_segment_aside(const std::string& directory, SegmentName name);

  Status repair_queue(CheckpointQueue& queue, bool& changed);
  Status repair_copies(CheckpointQueue& queue, const std::string& directory, bool& changed);
  Status replace_by_copy(CheckpointQueue& queue, const std::string& directory, SegmentName copy);
  Status repair_index(const CheckpointQueue& queue, const std::string& directory,
                      CheckpointSegment& named, bool& changed);

  RepairWork& work_;
  const ShardId shard_;
  const std::string directory_;
  const std::map<QueueId, Sequence>& in_log_;
};

}  // namespace segue::storage
