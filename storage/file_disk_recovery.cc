// The part of FileDiskDataCenter that opens a directory: all is verified, then files are changed.

#include <algorithm>
#include <utility>

#include "common/counted.h"
#include "storage/file_disk_data_center.h"
#include "storage/interrupted_repair.h"
#include "storage/recovery_segments.h"
#include "storage/wal_recovery.h"

namespace segue::storage {

Result<OpenedDisk> FileDiskDataCenter::recover(std::unique_ptr<FileDiskDataCenter> self,
                                               const ShardsReady& shards_ready,
                                               const Replay& replay) {
  SEGUE_RETURN_IF_ERROR(expect_no_interrupted_repair(files_, directory_->path()));
  // Before the background thread's first answer the disk must not look full.
  const auto free = files_.free_bytes(directory_->path());
  if (free.is_ok()) free_bytes_ = *free;
  SEGUE_RETURN_IF_ERROR(load_log_ends());
  SEGUE_RETURN_IF_ERROR(segments_.worker().quarantine.load());
  SegmentRecovery segment_recovery(context_, segments_, options_.settles_in_state);
  auto shards = segment_recovery.run();
  if (!shards.is_ok()) return shards.status();
  VerifiedLog verified;
  auto log = verify_log(*shards, verified);
  if (!log.is_ok()) return log.status();
  SEGUE_RETURN_IF_ERROR(log_ends_.check(options_.shard_count, *shards, *log));
  SEGUE_RETURN_IF_ERROR(shards_ready(*this, *shards));
  if (options_.log_verified) SEGUE_RETURN_IF_ERROR(options_.log_verified(verified));

  // From here on files are changed: nothing that was found keeps the node from starting.
  SEGUE_RETURN_IF_ERROR(remove_tree(files_, directory_->path_of(kBackupLinksName)));
  SEGUE_RETURN_IF_ERROR(segment_recovery.apply());
  SEGUE_RETURN_IF_ERROR(replay_log(*shards, *log, replay));
  segment_recovery.finish();
  SEGUE_RETURN_IF_ERROR(log_ends_.expect_no_file_behind(*log));
  auto writer = WalWriter::open(files_, wal_options(), *log);
  if (!writer.is_ok()) return writer.status();
  wal_ = std::move(*writer);
  durable_note_ = log_ends_.noted().last_file;
  begin_log_ends();

  if (options_.gc) {
    GcOptions gc = *options_.gc;
    gc.thresholds.segment_bytes = options_.segment_bytes;
    collector_.emplace(context_, *executor_, segments_, gc,
                       options_.clock != nullptr ? *options_.clock : clock_);
  }

  if (options_.scrub.bytes_per_second > 0) {
    scrubber_.emplace(context_, *executor_, segments_, options_.scrub);
  }

  std::map<ShardId, LogIndex> ends;
  for (const RecoveredShard& shard : *shards) ends[shard.shard] = shard.applied;
  for (const Committed& end : log->ends) ends[end.shard] = std::max(ends[end.shard], end.up_to);
  OpenedDisk opened;
  for (const auto& [shard, index] : ends) opened.log_ends.push_back({shard, index});
  for (const RecoveredShard& shard : *shards) wal_->release(shard.shard, shard.applied);
  noted_at_file_ = wal_->current_file();
  if (log_ends_.note({noted_at_file_, wal_->durable_ends()})) write_log_ends();
  opened.disk = std::move(self);
  opened.shards = std::move(*shards);
  return opened;
}

WalOptions FileDiskDataCenter::wal_options() const {
  WalOptions wal;
  wal.directory = directory_->path_of("wal");
  wal.node_hash = wal_node_hash(options_.cluster, options_.node_id);
  wal.file_bytes = options_.wal_file_bytes;
  wal.reserve_bytes = options_.wal_reserve_bytes;
  wal.spare_files = static_cast<std::uint32_t>(
      (options_.wal_spare_bytes + options_.wal_file_bytes - 1) / options_.wal_file_bytes);
  if (options_.sync_interval_ms > 0) {
    wal.sync_interval = std::chrono::milliseconds(options_.sync_interval_ms);
  }
  wal.direct_io = options_.direct_io;
  wal.wakeup = options_.wakeup;
  wal.fatal = options_.fatal;
  wal.clock = options_.clock;
  return wal;
}

WalRecoveryOptions FileDiskDataCenter::log_options(
    const std::vector<RecoveredShard>& shards) const {
  WalRecoveryOptions options;
  options.directory = directory_->path_of("wal");
  options.node_hash = wal_node_hash(options_.cluster, options_.node_id);
  for (std::uint32_t shard = 0; shard < options_.shard_count; ++shard) {
    options.applied[ShardId{static_cast<std::uint16_t>(shard)}] = LogIndex{0};
  }
  for (const RecoveredShard& shard : shards) options.applied[shard.shard] = shard.applied;
  return options;
}

Result<RecoveredWal> FileDiskDataCenter::verify_log(const std::vector<RecoveredShard>& shards,
                                                    VerifiedLog& found) {
  for (const auto& [shard, index] : log_ends_.noted().ends) {
    if (shard.value >= options_.shard_count) found.durable_elsewhere.push_back({shard, index});
  }
  WalRecoveryOptions options = log_options(shards);
  options.first_shard = options_.shard_count;
  options.reading = WalReading::kFresh;
  auto log = recover_wal(files_, options, [&](const ReplayedRecord& record) {
    found.elsewhere.push_back(record);
    return Status();
  });
  if (log.is_ok() && log->torn) {
    // After a loss of power this is what was being written; after anything else it may be damage.
    context_.log.warn("wal_torn_tail", {{"path", log->torn->path},
                                        {"offset", log->torn->offset},
                                        {"dropped_groups", log->torn->dropped_groups},
                                        {"dropped_bytes", log->torn->dropped_bytes}});
  }
  return log;
}

Status FileDiskDataCenter::replay_log(const std::vector<RecoveredShard>& shards,
                                      const RecoveredWal& verified, const Replay& replay) {
  WalRecoveryOptions options = log_options(shards);
  options.reading = WalReading::kAgain;
  const auto log = recover_wal(files_, options, [&](const ReplayedRecord& record) -> Status {
    if (options_.log_verified && record.shard.value >= options_.shard_count) return {};
    return replay(record);
  });
  if (!log.is_ok()) return log.status();
  if (log->records == verified.records && log->last_group == verified.last_group) return {};
  return Status(Code::kIoError, directory_->path_of("wal") + ": was read twice, and had " +
                                    counted(verified.records, "record") + ", then " +
                                    std::to_string(log->records) +
                                    ": another program changes it, or the disk fails");
}

Status FileDiskDataCenter::load_log_ends() {
  if (!directory_->is_new() && !files_.exists(directory_->path_of("log_ends"))) {
    context_.log.warn("log_ends_missing",
                      {{"path", directory_->path_of("log_ends")},
                       {"effect",
                        "a checkpoint, or the first or last files of the log, that are "
                        "missing or older copies may not be noticed this time"}});
  }
  const Status loaded = log_ends_.load();
  if (loaded.code() != Code::kCorruption) return loaded;
  // It only helps to find other damage.
  context_.log.error("log_ends_damaged",
                     {{"reason", loaded}, {"effect", "lost files may not be noticed this time"}});
  return {};
}

}  // namespace segue::storage
