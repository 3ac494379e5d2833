#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "common/ids.h"
#include "common/range_set.h"
#include "common/status.h"
#include "storage/catalog_queues.h"
#include "storage/checkpoint_file.h"
#include "storage/data_directory.h"
#include "storage/data_repair.h"
#include "storage/log_ends.h"
#include "storage/repair_work.h"
#include "storage/wal_names.h"
#include "storage/wal_recovery.h"
#include "storage/wal_salvage.h"

namespace segue::storage {

/// Repairs one node's data directory, whose lock the caller has: the catalog, each shard's
/// checkpoint and segments, the log, and log_ends, in this order, since each depends on those
/// before. One use.
class NodeRepair {
 public:
  NodeRepair(RepairWork& work, const DataRepairOptions& options);

  /// IO_ERROR, NO_SPACE: broken off. What cannot be repaired is told.
  Status run();

 private:
  Status finish_interrupted();
  Status read_log();
  Status repair_catalog();
  Status read_checkpoints();
  Status mend(ShardId shard, const std::string& directory, Result<std::optional<Checkpoint>>& read);
  Status repair_segment_names();
  Status repair_shards();
  Status repair_shard(ShardId shard);
  /// How the log fits a checkpoint.
  struct Fit {
    LogIndex applied;  // where a checkpoint must end so that the log goes on behind it
    RangeSet missing;  // records behind the checkpoint that are known to have been, and are gone
    bool end_unknown = false;  // there may be more of them
  };
  Fit fit_of(ShardId shard, const Checkpoint* checkpoint) const;
  std::string reason_of(ShardId shard, const Fit& fit, std::uint64_t unlogged) const;
  Status make_checkpoint(ShardId shard, const Fit& fit, const std::string& reason);
  Status repair_log();
  Status rewrite_log(const std::string& reason);
  Status mark_made_log();
  Status install_log();
  Status remove_made_log();
  Status repair_log_ends();
  void tell_of_unknown_queues();
  bool leads_catalog() const;
  WalRecoveryOptions log_options() const;

  RepairWork& work_;
  const DataRepairOptions& options_;
  Identity identity_;
  LogEndsFile log_ends_;
  std::optional<WalSalvage> salvage_;
  WalSurvey survey_;
  std::optional<LogIndex> catalog_;      // how far catalog.db is, if it can be read
  std::optional<CatalogQueues> queues_;  // of catalog.db
  std::map<ShardId, Result<std::optional<Checkpoint>>> checkpoints_;
  std::vector<RecoveredShard> shards_;  // that have a checkpoint, or will have
  std::map<ShardId, LogIndex> applied_;
  RecoveredWal log_;
};

}  // namespace segue::storage
