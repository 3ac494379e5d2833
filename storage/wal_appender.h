#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <vector>

#include "common/status.h"
#include "storage/log_record.h"
#include "storage/wal_files.h"
#include "storage/wal_group.h"

namespace segue::storage {

/// How far a file was written, and the highest index that was written to it of each shard (in any
/// order, shards may repeat).
struct WalFileProgress {
  std::uint64_t number = 0;
  std::uint64_t file_bytes = 0;
  std::uint64_t used_bytes = 0;
  std::vector<Committed> highest;
};

/// Writes groups of records to the log's end, file after file. One thread at a time: whoever owns
/// the log.
///
/// After a failure that is not NO_SPACE the log's end is unknown, and nothing more may be written.
class WalAppender {
 public:
  /// Goes on after group `last_group`, which is synced. `stopping` ends waiting for space.
  WalAppender(WalFiles& files, std::uint64_t last_group, const std::atomic<bool>& stopping);

  /// Takes the first file, if there is one, and writes and syncs a group that says that all groups
  /// before it are synced: from then on damage to them is not taken for a torn tail.
  Status start();

  /// Puts a record into the group being gathered; writes groups that are full, and adds to
  /// `progress` what was written where. Waits while there is no space; NO_SPACE only when stopping.
  Status add(const LogRecord& record, std::vector<WalFileProgress>& progress);
  /// Writes the group that add() has gathered, if any. As add().
  Status finish(std::vector<WalFileProgress>& progress);
  /// Writes records that fits() said yes to as one group, without waiting: after NO_SPACE nothing
  /// was written.
  Status write_small(std::span<const LogRecord> records, std::vector<WalFileProgress>& progress);
  /// Whether records of this size together go into the current file as one group.
  bool fits(std::uint64_t record_bytes) const;

  Status sync();
  bool is_synced() const { return synced_ + 1 == next_sequence_; }
  /// A group without records; see start(). Left out when the file is full and no other is prepared.
  Status write_mark();

  /// False when the disk was full at the start and nothing was written since.
  bool has_file() const { return file_.file != nullptr; }
  std::uint64_t file_number() const { return file_.number; }
  std::uint64_t position() const { return position_; }
  /// Bytes left in the current file; from any thread.
  std::uint64_t room() const { return room_.load(std::memory_order_relaxed); }

 private:
  void begin_group();
  Status write_group(bool may_wait);
  Status next_file();
  Status write_gathered(bool may_wait, std::vector<WalFileProgress>& progress);
  bool group_fits(std::uint64_t bytes) const;
  void note_highest(const LogRecord& record, std::vector<WalFileProgress>& progress);

  WalFiles& files_;
  const std::atomic<bool>& stopping_;
  PreparedWalFile file_;
  std::uint64_t position_ = 0;
  std::uint64_t next_sequence_;
  std::uint64_t synced_;
  std::uint64_t first_in_file_ = 0;
  WalGroup group_;
  std::atomic<std::uint64_t> room_{0};
};

}  // namespace segue::storage
