#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "common/ids.h"
#include "common/status.h"
#include "storage/file_system.h"
#include "storage/log_record.h"
#include "storage/wal_reader.h"

namespace segue::storage {

/// A WAL file that holds records, and how far it pins the shards' logs.
struct WalFileUse {
  std::uint64_t number = 0;
  std::uint64_t file_bytes = 0;         // its size on disk
  std::uint64_t used_bytes = 0;         // up to where valid groups go
  std::map<ShardId, LogIndex> highest;  // the highest index that the file has of each shard
};

/// What a power loss or a kill left half-written at the end of the log.
struct WalTornTail {
  std::string path;
  std::uint64_t offset = 0;  // where the log ends
  // Of groups that were at least begun; nothing proves that they were synced. Zeros, and what a
  // recycled file held before, do not count.
  std::uint64_t dropped_groups = 0;
  std::uint64_t dropped_bytes = 0;  // at least
};

/// What recover_wal() found: WalWriter::open() carries on from here.
struct RecoveredWal {
  std::vector<WalFileUse> files;       // with records, in log order
  std::vector<std::uint64_t> unused;   // numbers of prepared files behind them without records
  std::vector<std::uint64_t> numbers;  // of all files, ascending
  std::uint64_t last_written = 0;      // the last file that has a group of the log; 0: none
  std::uint64_t last_group = 0;
  std::uint64_t next_file = 1;  // higher than every number in the directory
  std::uint64_t records = 0;
  std::optional<WalTornTail> torn;  // worth a line in the log
  std::vector<Committed> ends;      // the highest index of each shard that has records
};

struct WalRecoveryOptions {
  std::string directory;        // of the .wal files; may be missing
  std::uint64_t node_hash = 0;  // wal_node_hash(): files of another node are refused
  /// What is durable elsewhere, by shard (0: nothing yet): records at or below are not replayed,
  /// and the log may have a hole there. Of a shard that is not named, the log may begin anywhere.
  std::map<ShardId, LogIndex> applied;
  /// Records of shards below this one are only verified, and not handed over.
  std::uint32_t first_shard = 0;
  WalReading reading = WalReading::kPastCache;
};

/// Binds WAL files to the node that writes them.
std::uint64_t wal_node_hash(const std::string& cluster, const std::string& node_id);

/// Reads the log in order and calls `replay` for each record above its shard's `applied`; a failed
/// status from it ends recovery with that status. Changes nothing on disk. Memory: one group (1
/// MiB, or one larger record) at a time.
///
/// CORRUPTION, with file and offset, when something is damaged or missing that was synced once: see
/// docs/storage-format.md for how that is told from a torn tail. INVALID_CONFIG for another node's
/// files or a newer format.
Result<RecoveredWal> recover_wal(FileSystem& files, const WalRecoveryOptions& options,
                                 const std::function<Status(const ReplayedRecord&)>& replay);

}  // namespace segue::storage
