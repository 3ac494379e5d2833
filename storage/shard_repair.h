#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/ids.h"
#include "common/range_set.h"
#include "common/status.h"
#include "storage/catalog_queues.h"
#include "storage/checkpoint_file.h"
#include "storage/log_content.h"
#include "storage/queue_salvage.h"
#include "storage/repair_work.h"
#include "storage/segment_salvage.h"

namespace segue::storage {

/// A queue of a shard whose checkpoint is made anew, as its segments show it.
struct RepairedQueue {
  QueueId id;
  Sequence last;  // the highest that was found
};

/// Makes a shard's directory one that a node starts on. One use.
class ShardRepair {
 public:
  /// The state of a shard for a new checkpoint: of one that has these queues, and had the state
  /// `before` (null: unknown).
  using MakeState = std::function<std::string(const std::string* before,
                                              const std::vector<RepairedQueue>& queues)>;

  /// `log`: what it says, replayed over the segments; `catalog`: null if it cannot be read. Both
  /// outlive this.
  ShardRepair(RepairWork& work, ShardId shard, std::string directory, const LogContent& log,
              const CatalogQueues* catalog)
      : work_(work),
        shard_(shard),
        directory_(std::move(directory)),
        log_(log),
        catalog_(catalog) {}

  /// Why there is no going by the checkpoint that is there, if any.
  struct Reason {
    std::string what;
    RangeSet missing;          // records of the log behind the checkpoint, if that is known
    bool end_unknown = false;  // more records may be missing at the log's end
    const Checkpoint* before = nullptr;  // the checkpoint, if it can be read
  };
  /// Makes a new checkpoint of what the queues' files hold. The log's records above `applied` will
  /// be replayed over it.
  Status make_checkpoint(LogIndex applied, const Reason& reason, const MakeState& state);
  /// The checkpoint is whole, and the log goes on behind it: what keeps its segments from being
  /// recovered.
  Status repair_segments(Checkpoint checkpoint);
  /// How many messages the queues' files hold that neither the checkpoint (null: there is none) nor
  /// the log has: a start would remove them.
  Result<std::uint64_t> count_unlogged(const Checkpoint* checkpoint);

 private:
  Result<std::vector<std::string>> queue_directories();
  Status move_odd_names_aside();
  RepairLoss losses_of(const Reason& reason, LogIndex applied,
                       const std::vector<CheckpointQueue>& found) const;
  /// Messages that stood in a segment of the old checkpoint, of which no file is left.
  RepairLoss loss_of_segment(const Reason& reason, QueueId queue,
                             const CheckpointSegment& segment) const;
  std::string loss_text(const Reason& reason, const RepairLoss& loss) const;
  /// Messages between a queue's segments and what the log has of it, and in the log's holes: their
  /// number, and their sequences in words.
  std::pair<std::uint64_t, std::string> find_untraced(
      const std::vector<RepairedQueue>& found) const;

  Status repair_queue(CheckpointQueue& queue, bool& changed);
  bool has_file(QueueId queue, Sequence first);
  Status move_strays_aside(const CheckpointQueue& queue, const std::string& directory);
  Status repair_copies(CheckpointQueue& queue, const std::string& directory, bool& changed);
  bool lacks_source(const CheckpointQueue& queue, const std::string& directory, SegmentName copy);
  Status replace_by_copy(CheckpointQueue& queue, const std::string& directory, SegmentName copy);
  Status repair_index(const CheckpointQueue& queue, const std::string& directory,
                      CheckpointSegment& named, bool& changed);
  Status write(QueueId id, const std::string& directory, const SalvagedSegment& segment);
  Status move_segment_aside(const std::string& directory, SegmentName name);

  RepairWork& work_;
  const ShardId shard_;
  const std::string directory_;
  const LogContent& log_;
  const CatalogQueues* const catalog_;
};

}  // namespace segue::storage
