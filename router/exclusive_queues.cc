#include "router/exclusive_queues.h"

namespace segue::router {

namespace {

constexpr Duration kRetry = std::chrono::seconds(1);

}  // namespace

bool ExclusiveQueues::is_orphan(const v1::QueueDefinition& queue) const {
  return queue.exclusive() && queue.owner().router_id() == lookup_.router_id() &&
         queue.owner().router_incarnation() == lookup_.incarnation() &&
         !sessions_.contains(SessionId(queue.owner().session_id()));
}

void ExclusiveQueues::on_session_ended(SessionId session) {
  for (const auto* queue : lookup_.catalog().state().queues_owned_by(lookup_.router_id())) {
    if (queue->owner().session_id() != session.value || !is_orphan(*queue)) continue;
    const QueueId id(queue->id());
    ask(id, doomed_[id]);
  }
}

void ExclusiveQueues::on_queue_created(const v1::QueueDefinition& queue) {
  // Declared by a session that ended meanwhile; asked for at the next tick.
  if (is_orphan(queue)) doomed_[QueueId(queue.id())];
}

void ExclusiveQueues::on_catalog_replaced() {
  doomed_.clear();
  for (const auto* queue : lookup_.catalog().state().queues_owned_by(lookup_.router_id())) {
    if (is_orphan(*queue)) doomed_[QueueId(queue->id())];
  }
}

void ExclusiveQueues::ask(QueueId id, Doomed& doomed) {
  const v1::QueueDefinition* queue = lookup_.catalog().state().find_queue(id);
  if (queue == nullptr) return;
  doomed.asked = true;
  v1::CatalogOperation operation;
  operation.mutable_delete_queue()->set_vhost(queue->vhost());
  operation.mutable_delete_queue()->set_name(queue->name());
  operation.mutable_delete_queue()->set_id(queue->id());
  leader_.send(std::move(operation), [this, id](v1::CatalogOutcome& outcome) {
    const auto found = doomed_.find(id);
    if (found == doomed_.end()) return;
    if (outcome.has_error()) {
      log_.warn("exclusive_queue_not_deleted",
                {{"queue_id", id}, {"reason", outcome.error().text()}});
    }
    // Gone from here when the view says so; until then it is asked for again.
    found->second.asked = false;
    found->second.retry_at = turn_.now + kRetry;
  });
}

void ExclusiveQueues::on_tick() {
  for (auto doomed = doomed_.begin(); doomed != doomed_.end();) {
    if (lookup_.catalog().state().find_queue(doomed->first) == nullptr) {
      doomed = doomed_.erase(doomed);
      continue;
    }
    if (!doomed->second.asked && doomed->second.retry_at <= turn_.now) {
      ask(doomed->first, doomed->second);
    }
    ++doomed;
  }
}

}  // namespace segue::router
