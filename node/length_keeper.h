#pragma once

#include "node/queue_table.h"
#include "node/shard_table.h"
#include "storage/disk_data_center.h"

namespace segue::node {

/// Has the oldest ready messages leave queues that hold more than their limits allow, once in every
/// turn and behind its deliveries: what can be delivered is not dropped. Costs go with what is
/// dropped. Reactor's thread.
class LengthKeeper {
 public:
  /// The references outlive this.
  LengthKeeper(storage::DiskDataCenter& disk, QueueTable& queues, ShardTable& shards)
      : disk_(disk), queues_(queues), shards_(shards) {}

  void end_turn();

 private:
  void drop_head(HostedQueue& hosted);

  storage::DiskDataCenter& disk_;
  QueueTable& queues_;
  ShardTable& shards_;
};

}  // namespace segue::node
