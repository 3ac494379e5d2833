#pragma once

#include <map>
#include <memory>

#include "node/shard.h"

namespace segue::node {

/// The shards that this node holds, in order of their numbers. Reactor's thread.
class ShardTable {
 public:
  Shard* find(ShardId id) const {
    const auto at = shards_.find(id);
    return at == shards_.end() ? nullptr : at->second.get();
  }
  Shard& find_or_add(ShardId id, const ShardContext& context) {
    auto& shard = shards_[id];
    if (!shard) shard = std::make_unique<Shard>(id, context);
    return *shard;
  }
  /// Of a queue that is in the table of queues.
  Shard& of(const HostedQueue& queue) const { return *shards_.at(queue.queue.shard()); }
  const std::map<ShardId, std::unique_ptr<Shard>>& all() const { return shards_; }

 private:
  std::map<ShardId, std::unique_ptr<Shard>> shards_;
};

}  // namespace segue::node
