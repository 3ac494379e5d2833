#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "common/ids.h"
#include "common/range_set.h"
#include "common/status.h"
#include "storage/file_system.h"
#include "storage/log_content.h"
#include "storage/log_record.h"

namespace segue::storage {

/// What of a log can be read.
struct WalSurvey {
  /// The log reads from one end to the other, as a start reads it; else everything that is whole
  /// counts, also behind damage.
  bool joined = false;
  std::map<ShardId, RangeSet> records;  // their indexes
  LogContent content;                   // of the records that no checkpoint covers
  std::uint64_t missing_groups = 0;     // of records, between those that can be read
  std::vector<std::string> unreadable;  // files of which nothing can be read
  std::vector<std::string> cut;         // files of which the end is missing
  std::uint64_t highest_file = 0;       // of all .wal files; 0: none
  std::uint64_t largest_file = 0;       // bytes
};

/// A hole in a shard's log: records that cannot be read.
struct WalHole {
  ShardId shard;
  LogIndex first;
  LogIndex last;
};

/// Reads whole groups wherever they stand in the log's files, also behind damage. Changes nothing.
/// One thread.
class WalSalvage {
 public:
  WalSalvage(FileSystem& files, std::string directory, std::uint64_t node_hash)
      : files_(files), directory_(std::move(directory)), node_hash_(node_hash) {}

  /// Tells what a record of a shard's log says of messages.
  using Interpret = std::function<void(const ReplayedRecord&, LogContent&)>;

  /// Goes through all files. `applied`: up to where the shards' checkpoints cover the log.
  /// IO_ERROR; INVALID_CONFIG for another node's.
  Result<WalSurvey> survey(const std::map<ShardId, LogIndex>& applied, const Interpret& interpret);

  struct Rules {
    std::map<ShardId, LogIndex> applied;  // records at or below are not needed
    /// What takes the places of records that cannot be read, so that the log has no hole: a command
    /// that changes nothing.
    std::string filler;
    /// Of these shards nothing behind a hole is kept: what follows depends on what is missing.
    std::vector<ShardId> strict;
  };
  struct Written {
    std::uint64_t records = 0;
    std::vector<WalHole> holes;
    std::map<ShardId, LogIndex> ends;
    std::map<ShardId, std::uint64_t> dropped;  // of strict shards, behind a hole
  };
  /// After survey(): writes what can be read, in order, as a new log into `directory` (made, and
  /// made durable), whose files have numbers from `first_file` on.
  Result<Written> write(const std::string& directory, std::uint64_t first_file,
                        std::uint64_t file_bytes, const Rules& rules);

 private:
  struct Place {
    std::uint64_t offset;
    std::uint64_t sequence;
  };
  struct LogFile {
    std::uint64_t number;
    std::string path;
    std::vector<Place> groups;  // whole, in order
  };
  Status find_groups(LogFile& file, WalSurvey& survey);
  Status find_all_groups(WalSurvey& survey);
  /// Calls `take` for the records of all groups, in the order in which they were written.
  Status each_record(const std::function<Status(const ReplayedRecord&)>& take);

  FileSystem& files_;
  const std::string directory_;
  const std::uint64_t node_hash_;
  std::vector<LogFile> log_;
};

}  // namespace segue::storage
