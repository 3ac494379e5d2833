#include "storage/catalog_queues.h"

#include <algorithm>

namespace segue::storage {

CatalogQueues::CatalogQueues(const v1::CatalogEntry& catalog) {
  for (const v1::CatalogChange& change : catalog.changes()) {
    if (change.has_queue_created()) {
      const v1::QueueDefinition& queue = change.queue_created();
      queues_[queue.id()] = {queue.name(), ShardId{static_cast<std::uint16_t>(queue.shard())},
                             queue.durable()};
      last_id_ = std::max(last_id_, queue.id());
    } else if (change.has_numbers_used()) {
      last_id_ = std::max(last_id_, change.numbers_used().last_queue_id());
    }
  }
}

bool CatalogQueues::is_gone(QueueId queue) const {
  const std::uint64_t id = queue_of_lane(queue).value;
  const auto found = queues_.find(id);
  return found == queues_.end() ? id <= last_id_ : !found->second.durable;
}

bool CatalogQueues::is_durable(QueueId queue) const {
  const auto found = queues_.find(queue_of_lane(queue).value);
  return found != queues_.end() && found->second.durable;
}

std::string CatalogQueues::name_of(QueueId queue) const {
  const auto found = queues_.find(queue_of_lane(queue).value);
  return found == queues_.end() ? std::string() : found->second.name;
}

std::vector<std::string> CatalogQueues::durable_of(ShardId shard) const {
  std::vector<std::string> names;
  for (const auto& [id, queue] : queues_) {
    if (queue.durable && queue.shard == shard) names.push_back(queue.name);
  }
  return names;
}

}  // namespace segue::storage
