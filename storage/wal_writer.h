#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "common/clock.h"
#include "common/ids.h"
#include "common/status.h"
#include "storage/file_system.h"
#include "storage/log_record.h"
#include "storage/spsc_ring.h"
#include "storage/thread_signal.h"
#include "storage/wal_appender.h"
#include "storage/wal_files.h"
#include "storage/wal_options.h"
#include "storage/wal_recovery.h"

namespace segue::storage {

struct WalUsage {
  std::uint64_t file_bytes =
      0;  // of files that hold records still needed, and the one being written
  // Behind the oldest record that is not released; of earlier lives' files, which nothing is
  // written to any more, all but the last count in full.
  std::uint64_t written_bytes = 0;
  bool space_low = false;     // only records that use the reserve are taken
  std::string space_problem;  // why the next file could not be made; empty when all is well
};

/// Appends to the node's write-ahead log with group commit.
///
/// Lives on the reactor's thread, but for wants_files() and prepare_files(), and has one thread of
/// its own. Groups go to the thread and their results come back through bounded rings, without
/// locks. A group that failed to be written or synced is never tried again (fail-stop), except for
/// lack of space, which is waited out.
class WalWriter {
 public:
  /// Carries on where recovery found the log's end: makes what was recovered durable and starts a
  /// new file. Touches the disk. Tell release() about every shard's checkpoint afterwards.
  static Result<std::unique_ptr<WalWriter>> open(FileSystem& files, WalOptions options,
                                                 const RecoveredWal& recovered);
  /// Stops, if stop() was not called.
  ~WalWriter();
  WalWriter(const WalWriter&) = delete;
  WalWriter& operator=(const WalWriter&) = delete;

  /// Queues a record for the next flush(); takes no lock and touches no disk. NO_SPACE (and nothing
  /// queued) when the next file cannot be made and the room left is needed for the reserve, or, for
  /// a record that may use the reserve, is used up. CONTENT_TOO_LARGE from 1 GiB on. IO_ERROR after
  /// a fatal failure.
  Status append(LogRecord record);
  /// Starts writing what is queued as one group. With nothing in flight and a small group, writes
  /// and syncs it right here.
  void flush();
  /// What was committed since the last call, each shard once, by shard. Also hands over what
  /// flush() had to keep because too much was in flight.
  std::vector<Committed> poll();

  /// Records of the shard at or below `applied` are no longer needed. Files whose records are all
  /// released are recycled by the next prepare_files(), oldest first.
  void release(ShardId shard, LogIndex applied);
  /// While it holds, no file is recycled; what was released meanwhile is when it ends.
  void hold(bool holds);
  /// The files with records that are needed, and the one being written: up to `used_bytes` of each,
  /// in order, they are the log as it was committed so far.
  std::vector<WalFileUse> extent() const { return {used_.begin(), used_.end()}; }
  /// The shards whose records keep the oldest file, if it is no longer written to. Checkpointing
  /// (and releasing) them frees it.
  std::vector<ShardId> pinning() const;
  WalUsage usage() const;
  /// The file that the log's end is in, as far as is known here; 0: no file is needed.
  std::uint64_t current_file() const { return used_.empty() ? 0 : used_.back().number; }
  /// Files with this number or a higher one are not recycled until this is called again: it is
  /// written down that the log has that file. To be called before that begins, and, with what is
  /// written down then, when it has ended.
  void keep_files_from(std::uint64_t number) { files_.keep_from(number); }
  /// Of each shard, up to where its records are durable for sure: released, or in a file that was
  /// synced before the current one was begun; after a stop() that went well, all of them.
  std::map<ShardId, LogIndex> durable_ends() const;
  /// No record of the log is needed any more.
  bool all_released() const;

  /// True when prepare_files() has something to do: files to recycle, or to make (about once a
  /// second after a failure). Cheap; any thread.
  bool wants_files() const { return files_.wants_preparation(); }
  /// Recycles released files and makes the next ones ahead of need. Any thread, normally the
  /// background thread, but not after stop(). Blocks: writing a new file through takes file_bytes /
  /// (the disk's speed). Failures are kept for append() and usage(), and heal with a later call.
  void prepare_files() { files_.prepare(); }

  /// Writes and syncs everything queued, marks the log as cleanly closed, ends the thread. Last
  /// call but poll(). NO_SPACE or IO_ERROR when queued records could not be written.
  Status stop();

 private:
  /// What one flush() hands over.
  struct Handover {
    std::vector<LogRecord> records;
    std::uint64_t bytes = 0;
  };
  /// What came of one or more of them.
  struct Report {
    std::vector<WalFileProgress> progress;
    std::uint64_t handovers = 0;
    std::uint64_t bytes = 0;
  };

  WalWriter(FileSystem& files, WalOptions options, const RecoveredWal& recovered);

  // Reactor's thread.
  Status start(const RecoveredWal& recovered);
  Status check_space(std::uint64_t bytes, bool uses_reserve) const;
  std::uint64_t room() const;
  bool write_inline();
  void hand_over();
  void drain_reports();
  void begin_file(std::uint64_t number);
  void take_report(Report& report);
  struct Stretch {
    std::uint64_t bytes = 0;
    std::map<ShardId, LogIndex> highest;
  };
  void let_go();
  bool is_released(const std::map<ShardId, LogIndex>& highest) const;
  void note_written(std::uint64_t bytes, const std::vector<Committed>& highest);
  LogIndex released(ShardId shard) const;
  void finish_log();
  void fail_stop(const Status& status);

  // WAL thread.
  void run();
  bool take_handovers(std::vector<Handover>& taken);
  void write_handovers(const std::vector<Handover>& taken);
  Status write_records(const std::vector<Handover>& taken, Report& report);
  std::optional<Duration> sync_if_due();

  // Whoever owns the log.
  void own();
  bool try_own() { return !owned_.exchange(true, std::memory_order_acquire); }
  void disown();
  Status sync_log();
  void note_unsynced();
  void fail(const Status& status);

  const WalOptions options_;
  const SystemClock system_clock_;
  const Clock& clock_;
  WalFiles files_;
  std::atomic<bool> stopping_{false};
  std::atomic<bool> failed_{false};

  // Of the reactor's thread.
  std::vector<LogRecord> queued_;
  std::uint64_t queued_bytes_ = 0;    // of `queued_`
  bool flush_wanted_ = false;         // of `queued_`, as soon as fewer groups are in flight
  std::uint64_t flight_bytes_ = 0;    // handed over and not reported
  std::uint64_t in_flight_ = 0;       // handovers not reported
  std::vector<Committed> committed_;  // for the next poll(); shards may repeat
  std::deque<WalFileUse> used_;       // files with records, and last the one being written
  /// The last of used_ is being written. Not so after a start on a disk that is full, until there
  /// is a file to write to.
  bool writing_ = false;
  // The log behind the oldest record that is not released, in stretches of about a megabyte: a file
  // is let go of as a whole, but what was released of it does not count as written any more.
  std::deque<Stretch> stretches_;
  std::uint64_t written_bytes_ = 0;  // of all stretches
  std::map<ShardId, LogIndex> released_;
  bool held_ = false;
  bool stopped_ = false;

  // Between the two threads.
  SpscRing<Handover> handovers_;
  SpscRing<Report> reports_;
  ThreadSignal signal_;                    // wakes the WAL thread
  std::atomic<bool> report_waits_{false};  // the reactor was woken and has not polled yet

  // Of the log's owner: the WAL thread, or the reactor's for a write of its own while the other is
  // idle.
  std::atomic<bool> owned_{false};
  WalAppender appender_;
  std::optional<TimePoint> unsynced_since_;
  Status stop_status_;

  std::thread thread_;
};

}  // namespace segue::storage
