#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "common/clock.h"
#include "common/logging.h"
#include "segue/v1/catalog.pb.h"
#include "storage/catalog_queues.h"
#include "storage/check_report.h"
#include "storage/checkpoint_file.h"
#include "storage/damaged_messages.h"
#include "storage/data_check.h"
#include "storage/data_directory.h"
#include "storage/log_content.h"
#include "storage/log_ends.h"
#include "storage/queue_check.h"
#include "storage/segment_context.h"
#include "storage/wal_recovery.h"

namespace segue::storage {

/// Verifies one node's data directory, whose lock the caller has. One use.
class NodeCheck {
 public:
  NodeCheck(FileSystem& files, CheckReport& report, std::string directory,
            const DataCheckOptions& options);

  void run();

 private:
  void check_names();
  void check_identity();
  void check_log_ends_file();
  void check_quarantine();
  void check_shards();
  void check_shard(ShardId shard, const std::string& directory);
  void check_queue_names(const std::string& queues, const Checkpoint& checkpoint);
  void check_log();
  bool leads_catalog() const;
  void check_catalog();
  void check_catalog_content(const v1::CatalogEntry& catalog);
  /// Whether log, checkpoints and catalog reach as far as they are known to have been durable.
  void check_ends();
  void report_losses();
  bool is_gone(QueueId queue) const { return catalog_ && catalog_->queues.is_gone(queue); }
  /// Files that no checkpoint names: whether a start that removes them loses something.
  void report_unnamed();
  void report_unnamed(UnnamedFiles& files);
  std::string path_of(const std::string& name) const { return directory_ + "/" + name; }

  FileSystem& files_;
  CheckReport& report_;
  const std::string directory_;
  const DataCheckOptions& options_;
  const SystemClock clock_;
  Logger no_log_;
  SegmentContext context_;

  std::optional<Identity> identity_;
  LogEndsFile log_ends_;
  std::vector<RecoveredShard> shards_;  // that have a checkpoint
  std::map<ShardId, LogIndex> applied_;
  std::vector<MissingSegment> missing_;
  MissingMessages losses_;
  std::vector<UnnamedFiles> unnamed_;
  DamagedMessages damaged_;
  // Of the log behind the checkpoints; only if there are such files, or damaged messages.
  LogContent content_;
  std::optional<RecoveredWal> log_;
  struct Catalog {
    std::uint64_t applied = 0;
    CatalogQueues queues;
  };
  std::optional<Catalog> catalog_;
};

}  // namespace segue::storage
