#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/bytes.h"
#include "common/expiry.h"
#include "common/ids.h"
#include "common/message_batch.h"
#include "common/range_set.h"
#include "common/status.h"
#include "storage/gc_options.h"
#include "storage/log_record.h"
#include "storage/missing_messages.h"
#include "storage/scrub_policy.h"

namespace segue {
class Clock;
class Logger;
}  // namespace segue

namespace segue::storage {

/// What the files of a queue hold; all counts are of valid (unsettled) messages.
struct StoredQueue {
  QueueId id;
  std::uint64_t messages = 0;
  std::uint64_t body_bytes = 0;
  std::uint64_t disk_bytes = 0;
  Sequence first_valid;  // meaningless without messages
  Sequence last_stored;  // highest sequence ever stored and still named by a segment; 0: none
};

/// A shard as the last checkpoint and the index files show it, before the log is replayed.
struct RecoveredShard {
  ShardId shard;
  LogIndex applied;   // the checkpoint's; 0 without a checkpoint
  std::string state;  // the blob that was given to checkpoint(); empty without one
  std::vector<StoredQueue> queues;
  std::vector<MissingSegment> missing = {};  // the log tells which of them are lost
};

/// Messages read back from a queue's segments.
struct LoadedMessages {
  std::vector<MessageRun> runs;   // in order; only messages valid when the read ended
  std::vector<Sequence> corrupt;  // their records failed their checksum; reported and left out
  /// Those of them that are not in the quarantine file: whoever settles them destroys them.
  std::vector<Sequence> not_set_aside = {};
  Sequence scanned_through;  // everything valid up to here is in `runs` or `corrupt`
};

/// A look for stored messages of a queue that have expired.
struct ExpiryScan {
  ExpiryRule rule;
  std::int64_t now_ms = 0;
  Sequence from;
  /// Messages that were found before, but could not leave the queue then, may be in here; nothing
  /// if `again_last` is below.
  Sequence again_first{1};
  Sequence again_last;
  std::size_t max_ranges = 8192;  // about so many are found at once
};

struct ExpiredMessages {
  std::vector<NumberRange> ranges;  // in order; each number is that of a valid message
  Sequence scanned_through;         // everything up to here was looked at
  bool more = false;                // beyond it there may be some
  std::uint64_t looked_at = 0;      // messages
};

/// A message that waits in a queue's delay lane, and when its time comes (milliseconds since
/// 1970-01-01 UTC). Ordered by time, and those of one time by sequence.
struct DueMessage {
  std::int64_t due_ms = 0;
  Sequence sequence;

  auto operator<=>(const DueMessage&) const = default;
};

/// A look for the stored messages of a delay lane whose time comes first.
struct DueScan {
  DueMessage from;   // none before it
  DueMessage below;  // nor from it on
  Sequence first{1};
  std::size_t most = 100'000;
};

struct FoundDue {
  std::vector<DueMessage> messages;  // the first ones, at most `most`; in no order
  Sequence scanned_through;          // everything up to here was looked at
  bool more = false;                 // beyond it there may be some
  Status damage;                     // not OK: what is up to there could not be read
};

/// One of the files that hold a queue's messages, with its index.
struct StoredSegment {
  enum class State { kActive, kFull, kSealed, kCompacting, kMerging };
  Sequence first;  // no message is below
  Sequence last;
  std::uint32_t generation = 0;
  State state = State::kActive;
  std::uint64_t bytes = 0;        // of both files
  std::uint64_t valid_bytes = 0;  // that they would have without garbage
  std::uint32_t messages = 0;
  std::uint32_t valid = 0;
};

/// What a backup of a running node is to be.
struct BackupOptions {
  std::string target;                            // a directory that is empty or not there
  std::uint64_t keep_free = 0;                   // bytes that must stay free where the target is
  std::uint64_t bytes_per_second = 64ull << 20;  // how fast sealed segments are copied
  std::string allowed_below = {};                // the target must be in there; empty: anywhere
};

/// The backup that is being made, or was made last.
struct BackupState {
  enum class Stage { kNone, kRunning, kDone, kFailed };
  Stage stage = Stage::kNone;
  std::string target;
  Status failure;           // of kFailed
  std::uint64_t files = 0;  // finished
  std::uint64_t copied_bytes = 0;
  std::uint64_t total_bytes = 0;  // 0: not known yet
};

struct DiskStats {
  std::uint64_t wal_bytes = 0;  // of WAL files that are not free for recycling
  std::uint64_t wal_bytes_since_checkpoint =
      0;                          // written since the oldest checkpoint still needs them
  std::uint64_t free_bytes = 0;   // of the file system; refreshed about once a second
  bool wal_space_low = false;     // only records that use the reserve are taken
  bool wal_out_of_space = false;  // and the file system has no room for more WAL files
  std::uint64_t quarantined = 0;  // messages in the quarantine file
  GcStats gc;
  ScrubStats scrub;
};

/// All that one node keeps on disk, behind one door: what is stored, not where. Opened by
/// open_disk_data_center(), which also holds the directory's lock.
///
/// Lives on the reactor's thread; every call returns at once, and files are touched on the WAL
/// thread and the background thread. Results come back as callbacks out of poll(), on the reactor's
/// thread. A failed sync stops the process: what it left on disk is unknown, and nothing may be
/// built on it.
class DiskDataCenter {
 public:
  virtual ~DiskDataCenter() = default;

  // ---- the log

  /// Queues a record; it is written by the next flush(). NO_SPACE (and nothing queued) when the WAL
  /// cannot grow and the record may not use the reserve.
  virtual Status append(LogRecord record) = 0;
  /// Starts writing all queued records as one group. Idle, it may write and sync right here, since
  /// that is faster than waking a thread for a lone group.
  virtual void flush() = 0;

  /// Runs callbacks of finished work and returns what was committed since the last call, each shard
  /// once. To be called when `wakeup` was signalled, and after flush().
  virtual std::vector<Committed> poll() = 0;

  // ---- messages of queues

  /// Appends messages to the queue's segments (made at first use). Sequences must rise, from call
  /// to call too. They count as stored, and can be settled, at once; `done` comes when they are
  /// written (not synced) and load() finds them. Until then the caller keeps them. On failure
  /// (NO_SPACE, IO_ERROR) nothing of this call is stored.
  virtual void store(ShardId shard, QueueId queue, std::vector<MessageRun> runs,
                     std::function<void(Status)> done) = 0;
  /// Reads valid messages from `from` on, in order, until about `max_bytes` (at least one message)
  /// or past `through`.
  virtual void load(QueueId queue, Sequence from, Sequence through, std::size_t max_bytes,
                    std::function<void(Result<LoadedMessages>)> done) = 0;
  /// Marks stored messages as gone; sequences that are not stored, or settled already, are ignored.
  /// Cheap: a segment without valid messages is removed in the background.
  virtual void settle(QueueId queue, Sequence first, Sequence last) = 0;
  /// Whether find_expired() may find something. Looks at no file.
  virtual bool has_expired(QueueId queue, const ExpiryScan& scan) const = 0;
  /// Looks for messages that have expired, in one segment at a time: reads indexes, no messages.
  /// Those that no store() has written yet are left out.
  virtual void find_expired(QueueId queue, const ExpiryScan& scan,
                            std::function<void(Result<ExpiredMessages>)> done) = 0;
  /// Looks for messages that are due within a time, in one segment at a time: reads indexes, no
  /// messages. Those that no store() has written yet are left out.
  virtual void find_due(QueueId queue, const DueScan& scan, std::function<void(FoundDue)> done) = 0;
  /// Removes all of the queue's files in the background. Pending calls on it end with NOT_FOUND.
  virtual void drop_queue(QueueId queue) = 0;
  /// The first valid messages of [from, through] that have sequences without a hole; looks at no
  /// file.
  virtual std::optional<NumberRange> valid_run(QueueId queue, Sequence from,
                                               Sequence through) const = 0;
  /// Bytes of the bodies of valid messages in [first, last]; looks at no file.
  virtual std::uint64_t body_bytes(QueueId queue, Sequence first, Sequence last) const = 0;
  /// Counts; zeros for a queue that has nothing stored.
  virtual StoredQueue stored(QueueId queue) const = 0;

  // ---- checkpoints

  /// Makes the shard durable outside the log: syncs its segments and indexes as they are now, then
  /// replaces the shard's checkpoint with (applied, state). Every message that was enqueued at or
  /// below `applied`, and is unsettled, has been stored by now. After `done(ok)`, records at or
  /// below `applied` are no longer needed and WAL files are recycled. NO_SPACE leaves the old
  /// checkpoint in place.
  virtual void checkpoint(ShardId shard, LogIndex applied, std::string state,
                          std::function<void(Status)> done) = 0;
  /// For a log whose state is durable elsewhere (the catalog's): records at or below `applied` are
  /// no longer needed.
  virtual void release_log(ShardId shard, LogIndex applied) = 0;
  /// The shards whose records keep the oldest WAL file from being recycled: checkpointing (or
  /// releasing) them frees it. Empty when only the file that is written to is left.
  virtual std::vector<ShardId> pinning_log() const = 0;

  /// Shards of which a checkpoint is wanted so that garbage of their queues can be collected; each
  /// once.
  virtual std::vector<ShardId> take_wanted_checkpoints() = 0;

  // ---- collecting garbage

  /// The queue's segments that begin above `after`, at most `limit`; in order.
  virtual std::vector<StoredSegment> segments(QueueId queue, Sequence after,
                                              std::size_t limit) const = 0;
  /// For one queue, or for all. PRECONDITION_FAILED for kRun while it is paused.
  virtual Status collect(GcCommand command, std::optional<QueueId> queue) = 0;
  virtual QueueGc collecting(QueueId queue) const = 0;
  /// The queue's own thresholds, until drop_queue().
  virtual void set_gc(QueueId queue, const GcOverrides& overrides) = 0;

  // ---- backup

  /// Begins to copy everything that is durable now, and perhaps a little more, to the target, on
  /// the background thread, step by step beside the work: what a crash at one moment would leave,
  /// without its loose ends. The target is a backup when its manifest is written. After a failure
  /// (also to begin: the target is not empty, there is no room) or a cancel nothing of it is left.
  /// PRECONDITION_FAILED while another is being made.
  virtual Status begin_backup(BackupOptions options) = 0;
  /// Does nothing unless one is being made. It ends a moment later.
  virtual void cancel_backup() = 0;
  virtual BackupState backup() const = 0;

  // ---- other work

  /// Runs `work` on the background thread, then `done` out of poll().
  virtual void run_in_background(std::function<void()> work, std::function<void()> done) = 0;
  virtual DiskStats stats() const = 0;
  /// Waits until everything started is finished and closes the files. Called once, last.
  virtual void stop() = 0;
};

/// What the log was found to have when all of it had been verified.
struct VerifiedLog {
  /// Records of shards from `shard_count` on, whose state is elsewhere (the catalog's), in order.
  std::vector<ReplayedRecord> elsewhere;
  /// Up to where such logs were durable before this start, at least: with that state they must
  /// reach it, or something was lost.
  std::vector<Committed> durable_elsewhere;
};

/// Where and how a node keeps its data.
struct DiskOptions {
  std::string directory;
  std::string cluster;
  std::string node_id;
  std::uint32_t shard_count = 32;
  /// How long a directory may be another process's before the start is refused: one that was killed
  /// a moment ago keeps it until the system has taken it down.
  std::chrono::milliseconds lock_patience{0};
  std::uint64_t wal_file_bytes = 64ull << 20;
  std::uint64_t segment_bytes = 64ull << 20;
  std::uint64_t wal_reserve_bytes = 64ull << 20;  // kept for records that drain
  std::uint64_t wal_spare_bytes = 128ull << 20;   // of files kept to be used again
  std::uint32_t sync_interval_ms = 0;  // how long records without `sync` may stay unsynced; 0: 1000
  bool direct_io = true;               // O_DIRECT for the WAL where the file system takes it
  /// Segments are written and read past the page cache: the cache is left to others. Otherwise what
  /// was stored not long ago is read from memory, as long as the machine has some.
  bool segments_past_page_cache = true;
  std::optional<GcOptions> gc = GcOptions();  // none: no garbage is collected but whole segments
  ScrubOptions scrub;                         // off unless a rate is given
  /// The shards' states tell what is settled: a message that comes back because an index is damaged
  /// does no harm, and such damage does not keep the directory from being opened.
  bool settles_in_state = false;
  /// Called once the log is verified, behind `shards_ready`: what else can keep the node from
  /// starting is to be looked at here, since nothing was changed so far. A failure refuses the
  /// start.
  std::function<Status(const VerifiedLog&)> log_verified;
  /// A queue's name, for the name of its directory that people read; asked on the reactor's thread
  /// when a queue's first message is stored. Left out: the id alone names the directory.
  std::function<std::string(QueueId)> queue_name;
  /// Signals the reactor from another thread that poll() has something; must not block.
  std::function<void()> wakeup;
  /// Called, on any thread, when a sync failed: what is on disk is unknown then. Left out: says so
  /// on stderr and ends the process with exit code 71.
  std::function<void(const Status&)> fatal;
  /// What recovery changed, and damage. Left out: nothing is logged. Outlives the data center.
  Logger* logger = nullptr;
  /// Left out: the machine's. Outlives the data center.
  const Clock* clock = nullptr;
};

class FileSystem;

/// A directory opened and recovered: what was checkpointed, then, in order, what the log says
/// beyond.
struct OpenedDisk {
  std::unique_ptr<DiskDataCenter> disk;
  std::vector<RecoveredShard> shards;
  /// The highest index of each shard's log, its checkpoint included.
  std::vector<Committed> log_ends;
};

/// Locks the directory (made if missing), checks its identity, recovers. Checkpoints, indexes and
/// the whole log are verified before anything is changed: a start that is refused leaves every file
/// as it was (but `node.lock`, and what a new directory needs). Then `shards_ready` is called with
/// the checkpoints; it starts nothing on the disk yet. Then `replay`, for every record above its
/// shard's checkpoint, in log order, but for those that log_verified() was given. Errors:
/// INVALID_CONFIG (another node's directory, another cluster's, a changed shard count, in use by
/// another process), CORRUPTION (with file and offset), IO_ERROR.
Result<OpenedDisk> open_disk_data_center(
    FileSystem& files, DiskOptions options,
    const std::function<Status(DiskDataCenter&, const std::vector<RecoveredShard>&)>& shards_ready,
    const std::function<Status(const ReplayedRecord&)>& replay);

}  // namespace segue::storage
