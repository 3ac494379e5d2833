#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "common/ids.h"
#include "segue/v1/catalog.pb.h"

namespace segue::storage {

/// What a node's catalog says of queues: which of them outlive a restart.
class CatalogQueues {
 public:
  /// `catalog`: all of it, as CatalogDb::load() gives it.
  explicit CatalogQueues(const v1::CatalogEntry& catalog);

  /// Nothing of the queue counts after a restart: it is transient, or was deleted.
  bool is_gone(QueueId queue) const;
  /// The queue is there, and durable.
  bool is_durable(QueueId queue) const;
  /// The highest that was ever given.
  QueueId last_id() const { return QueueId{last_id_}; }
  /// Empty if it does not know the queue.
  std::string name_of(QueueId queue) const;
  /// Names of the durable queues of a shard.
  std::vector<std::string> durable_of(ShardId shard) const;

 private:
  struct Queue {
    std::string name;
    ShardId shard;
    bool durable = false;
  };
  std::uint64_t last_id_ = 0;
  std::map<std::uint64_t, Queue> queues_;
};

}  // namespace segue::storage
