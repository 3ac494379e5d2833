#pragma once

#include <string>
#include <vector>

#include "common/bytes.h"
#include "common/ids.h"

namespace segue::storage {

/// One command for a shard's log: what the WAL writes as one record.
struct LogRecord {
  ShardId shard;
  Epoch epoch{1};
  LogIndex index;                   // one more than the shard's previous record
  std::string command;              // opaque here
  std::vector<SharedBytes> bodies;  // written after the command, back to back
  bool sync = true;                 // committed when synced; otherwise when written
  bool uses_reserve = false;        // settles and the like: may use the space kept for draining
};

/// A record as recovery reads it back. `command` and `bodies` share one allocation of the record's
/// own.
struct ReplayedRecord {
  ShardId shard;
  Epoch epoch;
  LogIndex index;
  SharedBytes command;
  SharedBytes bodies;
};

/// How far a shard's log is committed.
struct Committed {
  ShardId shard;
  LogIndex up_to;
};

}  // namespace segue::storage
