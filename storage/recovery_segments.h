#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "common/status.h"
#include "storage/checkpoint_file.h"
#include "storage/disk_data_center.h"
#include "storage/recovery_copies.h"
#include "storage/segment_context.h"
#include "storage/segment_index.h"
#include "storage/segment_store.h"

namespace segue::storage {

/// Brings the shards' directories back to their checkpoints: reads checkpoints and indexes (no
/// message data, unless an index is damaged), cuts segments back to what the checkpoint names,
/// removes what it does not name, finishes removals that were interrupted. What it changes is
/// logged. May be interrupted and run again.
///
/// All is decided before anything is changed: run(), then apply() once nothing is left that can
/// refuse the start, then the log is replayed, then finish().
class SegmentRecovery {
 public:
  /// Recovered queues are added to `store`. `settles_in_state`: messages of which only the index
  /// knew that they were settled may come back.
  SegmentRecovery(SegmentContext& context, SegmentStore& store, bool settles_in_state = false)
      : context_(context), store_(store), settles_in_state_(settles_in_state) {}

  /// All shards that have a checkpoint. Changes nothing on disk. CORRUPTION, with file and offset,
  /// for a damaged checkpoint, and for an index that is damaged so much that nothing tells any more
  /// which messages were settled before the checkpoint; IO_ERROR.
  Result<std::vector<RecoveredShard>> run();
  /// Makes the changes that run() has decided on. IO_ERROR, NO_SPACE: some were made, and the next
  /// start goes on.
  Status apply();
  /// Removes what no checkpoint names. Once the log has been read and goes on where the checkpoints
  /// end: a start that is refused leaves everything as it was. What was stored since run(), and so
  /// may stand in files of the same names, stays.
  void finish();

 private:
  Status recover_shard(ShardId shard, const std::string& directory,
                       std::vector<RecoveredShard>& shards);
  Status recover_queue(const std::string& parent, const CheckpointQueue& named,
                       RecoveredShard& recovered);
  using Queue = std::shared_ptr<QueueFiles>;
  void finish_copies(const Queue& queue, const SegmentChoice& choice);
  Status recover_segment(const Queue& queue, const CheckpointSegment& named, bool newest,
                         SegmentTable& table);
  Status recover_index(const Queue& queue, const CheckpointSegment& named, Segment& segment);
  void report_short_data(QueueFiles& queue, const CheckpointSegment& named, std::uint64_t bytes);
  Status rebuild(const Queue& queue, const CheckpointSegment& named, File* index, Segment& segment);
  Status write_rebuilt(QueueFiles& queue, const CheckpointSegment& named,
                       const RebuiltIndex& rebuilt);
  /// The size that was found; what the checkpoint does not name is to be cut off.
  Result<std::uint64_t> cut_data(QueueFiles& queue, const CheckpointSegment& named);
  void cut(const std::string& path, std::uint64_t size);
  void remove_file(const std::string& path, const char* why);
  void remove_directory(const std::string& path);

  SegmentContext& context_;
  SegmentStore& store_;
  const bool settles_in_state_;
  std::vector<std::function<Status()>> changes_;  // in order
  struct UnnamedFile {
    QueueId queue;
    std::string path;
    std::optional<SegmentName> segment;
  };
  std::vector<UnnamedFile> unnamed_files_;
  std::vector<std::string> unnamed_directories_;
};

}  // namespace segue::storage
