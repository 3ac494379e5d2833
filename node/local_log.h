#pragma once

#include "node/replicated_log.h"
#include "storage/disk_data_center.h"

namespace segue::node {

/// The log of a shard with a single copy: the node's write-ahead log. Committed is durable there,
/// or written, as the proposal asks.
class LocalLog final : public ReplicatedLog {
 public:
  /// `end`: the index of the shard's last record. `disk` outlives the log.
  LocalLog(storage::DiskDataCenter& disk, ShardId shard, LogIndex end)
      : disk_(disk), shard_(shard), last_(end) {}

  Result<LogIndex> propose(Proposal proposal) override;
  Epoch epoch() const override { return Epoch{1}; }
  LogIndex last_index() const override { return last_; }

 private:
  storage::DiskDataCenter& disk_;
  const ShardId shard_;
  LogIndex last_;
};

}  // namespace segue::node
