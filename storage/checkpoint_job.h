#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/status.h"
#include "storage/checkpoint_file.h"
#include "storage/segment_context.h"
#include "storage/segment_snapshot.h"
#include "storage/segment_store.h"

namespace segue::storage {

/// Makes a shard durable as a snapshot of it says: index flags and footers, then syncs, then the
/// checkpoint file that names it all. Background thread; a queue per step, so that reads get in
/// between.
class CheckpointJob {
 public:
  /// The context and the worker outlive the job.
  CheckpointJob(SegmentContext& context, SegmentWorker& worker, ShardSnapshot snapshot,
                LogIndex applied, std::string state);

  /// Does the next part; true when finished.
  bool step();
  /// How it ended. NO_SPACE and IO_ERROR: the former checkpoint stays. Also fails when a store that
  /// the snapshot counts on failed.
  const Status& status() const { return status_; }
  const ShardSnapshot& snapshot() const { return snapshot_; }
  /// Indexes that were found damaged: what SegmentStore::index_made_anew() wants to know.
  using MadeAnew = std::vector<std::pair<std::shared_ptr<QueueFiles>, SegmentName>>;
  const MadeAnew& indexes_made_anew() const { return made_anew_; }

 private:
  Status save_queue(const QueueSnapshot& queue);
  Status save_segment(const QueueSnapshot& queue, const SegmentSnapshot& segment);
  Status save_flags(const QueueSnapshot& queue, const SegmentSnapshot& segment);
  Status write_file();

  SegmentContext& context_;
  SegmentWorker& worker_;
  ShardSnapshot snapshot_;
  LogIndex applied_;
  std::string state_;
  std::size_t next_ = 0;
  MadeAnew made_anew_;
  bool sync_at_once_ = false;  // everything together, instead of each segment
  Status status_;
};

}  // namespace segue::storage
