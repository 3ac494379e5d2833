#pragma once

#include <string>
#include <vector>

#include "common/bytes.h"
#include "common/ids.h"
#include "common/status.h"

namespace segue::node {

/// A command on its way into a shard's log.
struct Proposal {
  std::string command;              // a serialized v1::ShardCommand or v1::CatalogEntry
  std::vector<SharedBytes> bodies;  // of an enqueue, back to back behind the command
  bool sync = true;                 // commit when synced; otherwise when written
  bool drains = false;  // frees space in the end (settle, delete): taken even when space is short
};

/// The log of one shard. Whoever leads the shard proposes; what is committed is applied in order,
/// on every replica, and only then confirmed. With one copy (LocalLog) committed means durable in
/// the node's WAL. Lives on the reactor's thread.
class ReplicatedLog {
 public:
  virtual ~ReplicatedLog() = default;
  /// Puts the command at the log's end and gives its index. The owner hears of its commit by
  /// on_committed(index). Fails (NO_SPACE, STALE_EPOCH) with nothing logged.
  virtual Result<LogIndex> propose(Proposal proposal) = 0;
  virtual Epoch epoch() const = 0;
  virtual LogIndex last_index() const = 0;
};

/// What follows a log: told in order, on the reactor's thread.
class LogFollower {
 public:
  virtual ~LogFollower() = default;
  /// Everything up to `index` is committed.
  virtual void on_committed(LogIndex index) = 0;
};

}  // namespace segue::node
