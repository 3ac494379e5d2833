#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/clock.h"
#include "storage/background_thread.h"
#include "storage/checkpoint_job.h"
#include "storage/data_directory.h"
#include "storage/disk_data_center.h"
#include "storage/log_ends.h"
#include "storage/online_backup.h"
#include "storage/segment_collector.h"
#include "storage/segment_context.h"
#include "storage/segment_scrubber.h"
#include "storage/segment_store.h"
#include "storage/wal_writer.h"

namespace segue::storage {

/// The DiskDataCenter on files: puts WAL, segments and checkpoints together.
class FileDiskDataCenter final : public DiskDataCenter {
 public:
  using ShardsReady = std::function<Status(DiskDataCenter&, const std::vector<RecoveredShard>&)>;
  using Replay = std::function<Status(const ReplayedRecord&)>;

  /// As open_disk_data_center(), with the executor given.
  static Result<OpenedDisk> open(FileSystem& files, DiskOptions options,
                                 std::unique_ptr<BackgroundExecutor> executor,
                                 const ShardsReady& shards_ready, const Replay& replay);
  ~FileDiskDataCenter() override;

  Status append(LogRecord record) override;
  void flush() override;
  std::vector<Committed> poll() override;
  void store(ShardId shard, QueueId queue, std::vector<MessageRun> runs,
             std::function<void(Status)> done) override;
  void load(QueueId queue, Sequence from, Sequence through, std::size_t max_bytes,
            std::function<void(Result<LoadedMessages>)> done) override;
  void settle(QueueId queue, Sequence first, Sequence last) override;
  void find_due(QueueId queue, const DueScan& scan, std::function<void(FoundDue)> done) override;
  bool has_expired(QueueId queue, const ExpiryScan& scan) const override;
  void find_expired(QueueId queue, const ExpiryScan& scan,
                    std::function<void(Result<ExpiredMessages>)> done) override;
  void drop_queue(QueueId queue) override;
  std::optional<NumberRange> valid_run(QueueId queue, Sequence from,
                                       Sequence through) const override;
  std::uint64_t body_bytes(QueueId queue, Sequence first, Sequence last) const override;
  StoredQueue stored(QueueId queue) const override;
  void checkpoint(ShardId shard, LogIndex applied, std::string state,
                  std::function<void(Status)> done) override;
  void release_log(ShardId shard, LogIndex applied) override;
  std::vector<ShardId> pinning_log() const override;
  std::vector<ShardId> take_wanted_checkpoints() override;
  std::vector<StoredSegment> segments(QueueId queue, Sequence after,
                                      std::size_t limit) const override;
  Status collect(GcCommand command, std::optional<QueueId> queue) override;
  QueueGc collecting(QueueId queue) const override;
  void set_gc(QueueId queue, const GcOverrides& overrides) override;
  Status begin_backup(BackupOptions options) override;
  void cancel_backup() override { backup_->cancel(); }
  BackupState backup() const override { return backup_->state(); }
  void run_in_background(std::function<void()> work, std::function<void()> done) override;
  DiskStats stats() const override;
  void stop() override;

  const SegmentStore& segment_store() const { return segments_; }
  bool gc_is_idle() const { return !collector_ || collector_->idle(); }

 private:
  struct CheckpointCall {
    LogIndex applied;
    std::string state;
    std::function<void(Status)> done;
  };

  FileDiskDataCenter(FileSystem& files, DiskOptions options,
                     std::unique_ptr<BackgroundExecutor> executor,
                     std::unique_ptr<DataDirectory> directory);

  Result<OpenedDisk> recover(std::unique_ptr<FileDiskDataCenter> self,
                             const ShardsReady& shards_ready, const Replay& replay);
  /// Reads all of the log and changes nothing.
  Result<RecoveredWal> verify_log(const std::vector<RecoveredShard>& shards, VerifiedLog& found);
  Status replay_log(const std::vector<RecoveredShard>& shards, const RecoveredWal& verified,
                    const Replay& replay);
  WalRecoveryOptions log_options(const std::vector<RecoveredShard>& shards) const;
  WalOptions wal_options() const;
  void begin_checkpoint(ShardId shard, CheckpointCall call);
  void hold_for_backup(bool holds);
  void end_checkpoint(ShardId shard, const CheckpointJob& job, CheckpointCall& call);
  TimePoint now() const;
  void prepare_wal_files();
  Status load_log_ends();
  /// Writes down how far the log is durable, once for each of its files.
  void note_log_ends();
  struct LogEndsWritten {
    Status status;
    bool is_gone = false;  // it could not be written, and was removed
  };
  /// The note, at once.
  void write_log_ends();
  /// Any thread.
  LogEndsWritten put_log_ends(const LogNote& note) const;
  /// Until the note is on the disk, the files of the log stay that the old one or the new one
  /// names.
  void begin_log_ends();
  void end_log_ends(const LogEndsWritten& written);
  void refresh_free_bytes();

  FileSystem& files_;
  const DiskOptions options_;
  std::unique_ptr<DataDirectory> directory_;
  const SystemClock clock_;
  std::unique_ptr<Logger> own_logger_;  // when none was given; it has the clock to its end
  SegmentContext context_;
  std::unique_ptr<BackgroundExecutor> executor_;
  SegmentStore segments_;
  std::optional<SegmentCollector> collector_;
  std::optional<SegmentScrubber> scrubber_;
  std::unique_ptr<WalWriter> wal_;
  LogEndsFile log_ends_;
  std::uint64_t noted_at_file_ = 0;
  std::uint64_t durable_note_ = 0;  // the file that the note on the disk names, or 0
  bool writing_log_ends_ = false;
  // A checkpoint of the shard is being written; those that wait for its end.
  std::map<ShardId, std::vector<CheckpointCall>> checkpoints_;
  // While a backup needs files as they are.
  bool checkpoints_held_ = false;
  std::vector<std::pair<ShardId, CheckpointCall>> held_checkpoints_;
  std::unique_ptr<OnlineBackup> backup_;
  bool preparing_wal_files_ = false;
  bool refreshing_free_bytes_ = false;
  std::optional<TimePoint> free_bytes_refreshed_;
  std::uint64_t free_bytes_ = 0;
};

}  // namespace segue::storage
