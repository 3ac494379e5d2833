#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "common/clock.h"
#include "common/ids.h"
#include "common/random.h"
#include "common/status.h"
#include "storage/file_system.h"
#include "storage/log_record.h"
#include "storage/wal_recovery.h"

namespace segue::storage {

struct WalOptions {
  std::string directory;                      // of the .wal files; made if missing
  std::uint64_t node_hash = 0;                // wal_node_hash()
  std::uint64_t file_bytes = 64ull << 20;     // rounded up to 4096
  std::uint64_t reserve_bytes = 64ull << 20;  // kept for records with `uses_reserve`
  std::size_t inline_bytes =
      64u << 10;                  // largest lone group written on the caller's thread; 0: none
  std::uint32_t spare_files = 2;  // released files kept for recycling, beyond those prepared
  std::chrono::milliseconds sync_interval{
      1000};              // how long records without `sync` may stay unsynced
  bool direct_io = true;  // O_DIRECT where the file system takes it
  /// Called on the WAL thread when poll() has something; must not block.
  std::function<void()> wakeup;
  /// Called (on the thread that wrote) when a write or sync failed and the log's end is unknown.
  /// Empty: says so on stderr and ends the process with exit code 71. If it returns, the writer
  /// writes nothing more.
  std::function<void(const Status&)> fatal;
  const Clock* clock = nullptr;  // null: the machine's; outlives the writer
  Random* random = nullptr;      // for the files' salts; null: the machine's
};

struct WalUsage {
  std::uint64_t file_bytes =
      0;  // of files that hold records still needed, and the one being written
  std::uint64_t written_bytes = 0;  // of records in them: what recovery would have to read
  bool space_low = false;           // only records that use the reserve are taken
  std::string space_problem;        // why the next file could not be made; empty when all is well
};

/// Appends to the node's write-ahead log with group commit.
///
/// Lives on the reactor's thread, but for prepare_files(), and has one thread of its own. The log
/// is synced group by group; a group that failed to be written or synced is never tried again
/// (fail-stop), except for lack of space, which is waited out.
class WalWriter {
 public:
  /// Carries on where recovery found the log's end: makes what was recovered durable, cuts a torn
  /// tail off, and prepares a new file to write to. Touches the disk.
  static Result<std::unique_ptr<WalWriter>> open(FileSystem& files, WalOptions options,
                                                 const RecoveredWal& recovered);
  virtual ~WalWriter() = default;

  /// Queues a record for the next flush(); takes no lock and touches no disk. NO_SPACE (and nothing
  /// queued) when the next file cannot be made and the room left is needed for the reserve, or, for
  /// a record that may use the reserve, is used up. CONTENT_TOO_LARGE from 1 GiB on. IO_ERROR after
  /// a fatal failure.
  virtual Status append(LogRecord record) = 0;
  /// Starts writing what is queued as one group. With nothing in flight and a small group, writes
  /// and syncs it right here.
  virtual void flush() = 0;
  /// What was committed since the last call, each shard once. Also hands over a group that flush()
  /// found no room for.
  virtual std::vector<Committed> poll() = 0;

  /// Records of the shard at or below `applied` are no longer needed. Files whose records are all
  /// released are recycled by the next prepare_files(), oldest first.
  virtual void release(ShardId shard, LogIndex applied) = 0;
  /// The shards whose records keep the oldest file that is no longer written to; empty if there is
  /// none. Checkpointing (and releasing) them frees it.
  virtual std::vector<ShardId> pinning() const = 0;
  virtual WalUsage usage() const = 0;

  /// True when prepare_files() has something to do: files to recycle, or to make (about once a
  /// second after a failure). Cheap; any thread.
  virtual bool wants_files() const = 0;
  /// Recycles released files and makes the next ones ahead of need. Any thread, normally the
  /// background thread; blocks for about file_bytes / (disk's speed). Failures are kept for
  /// append() and usage(), and heal with a later call.
  virtual void prepare_files() = 0;

  /// Writes and syncs everything queued, marks the log as cleanly closed, ends the thread, closes
  /// the files. Last call. NO_SPACE or IO_ERROR when queued records could not be written.
  virtual Status stop() = 0;
};

}  // namespace segue::storage
