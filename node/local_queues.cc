#include "node/local_queues.h"

#include <utility>

namespace segue::node {

LocalQueues::LocalQueues(CatalogState& state, std::string node_id, Add add, Remove remove)
    : state_(state),
      node_id_(std::move(node_id)),
      add_(std::move(add)),
      remove_(std::move(remove)) {
  state_.set_listener(this);
}

LocalQueues::~LocalQueues() {
  state_.set_listener(nullptr);
}

void LocalQueues::on_change(const v1::CatalogChange& change) {
  if (change.has_queue_created()) {
    const v1::QueueDefinition& queue = change.queue_created();
    const ShardId shard(static_cast<std::uint16_t>(queue.shard()));
    if (state_.node_of(shard) == node_id_ && held_.insert(QueueId(queue.id())).second) add_(queue);
  } else if (change.has_queue_updated()) {
    if (held_.contains(QueueId(change.queue_updated().id()))) add_(change.queue_updated());
  } else if (change.kind_case() == v1::CatalogChange::kQueueDeleted) {
    if (held_.erase(QueueId(change.queue_deleted())) > 0) remove_(QueueId(change.queue_deleted()));
  } else if (change.has_shard_assigned()) {
    on_reset();
  }
}

void LocalQueues::on_reset() {
  std::set<QueueId> now;
  for (const v1::QueueDefinition* queue : state_.queues_on(node_id_)) {
    now.insert(QueueId(queue->id()));
  }
  for (const QueueId id : held_) {
    if (!now.contains(id)) remove_(id);
  }
  // Those that stay may have been changed meanwhile.
  for (const QueueId id : now) add_(*state_.find_queue(id));
  held_ = std::move(now);
}

}  // namespace segue::node
