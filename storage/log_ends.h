#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "common/ids.h"
#include "common/status.h"
#include "storage/disk_data_center.h"
#include "storage/file_system.h"
#include "storage/log_record.h"
#include "storage/wal_recovery.h"

namespace segue::storage {

/// What the next start must find, at least.
struct LogNote {
  /// The log has this file, or has gone on in a later one, and it may be needed; 0: none is.
  std::uint64_t last_file = 0;
  /// Of each shard, up to which index its records are durable: in a synced part of the log, or in
  /// what makes the log needless (a checkpoint, catalog.db).
  std::map<ShardId, LogIndex> ends;

  bool operator==(const LogNote&) const = default;
};

/// Keeps it in the file `log_ends` of the data directory, apart from what it tells of: a start that
/// finds less has lost a checkpoint or a part of the log. No crash takes back what was durable, so
/// that is damage. The file may be behind, also for ever: then less is noticed.
class LogEndsFile {
 public:
  LogEndsFile(FileSystem& files, std::string directory)
      : files_(files), directory_(std::move(directory)) {}

  /// Reads what was noted; nothing if the file is missing. CORRUPTION if it is damaged (then
  /// nothing is noted), INVALID_CONFIG for a newer version, IO_ERROR.
  Status load();
  const LogNote& noted() const { return noted_; }
  /// CORRUPTION, naming shard, indexes and files, if checkpoints and log do not reach what was
  /// noted of one of the first `shard_count` shards, or the log's last file is missing.
  Status check(std::uint32_t shard_count, const std::vector<RecoveredShard>& checkpoints,
               const RecoveredWal& log) const;
  /// To be called before the log's files without records lose their names: a crash may come before
  /// there is another. Does not fail for lack of space.
  Status expect_no_file_behind(const RecoveredWal& log);

  /// Notes it, in memory; no shard's end goes back. True if that changes what was noted.
  bool note(const LogNote& now);
  /// Puts `noted` in the place of the file, whole or not at all. On a failure the old one stays.
  /// Any thread, one at a time.
  Status write(const LogNote& noted) const;
  /// Removes the file: nothing is expected then, and that takes no space. As write().
  Status remove() const;

 private:
  Status check_ends(std::uint32_t shard_count, const std::vector<RecoveredShard>& checkpoints,
                    const std::vector<Committed>& log) const;
  std::string path() const { return directory_ + "/log_ends"; }

  FileSystem& files_;
  const std::string directory_;
  LogNote noted_;
};

}  // namespace segue::storage
