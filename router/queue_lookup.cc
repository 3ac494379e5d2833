#include "router/queue_lookup.h"

#include "router/errors.h"

namespace segue::router {

Result<const v1::QueueDefinition*> QueueLookup::usable(const RequestContext& context,
                                                       const std::string& name) const {
  const v1::QueueDefinition* queue = catalog_.state().find_queue(context.vhost(), name);
  if (queue == nullptr) return catalog_.not_found("no queue " + in_quotes(name));
  if (queue->exclusive()) {
    const v1::SessionOwner& owns = queue->owner();
    if (owns.router_id() != router_id_ || owns.router_incarnation() != incarnation_ ||
        owns.session_id() != context.session().value) {
      return Status(Code::kResourceLocked,
                    "queue " + in_quotes(name) + " is exclusive to another session");
    }
  }
  return queue;
}

v1::SessionOwner QueueLookup::owner(SessionId session) const {
  v1::SessionOwner owner;
  owner.set_router_id(router_id_);
  owner.set_router_incarnation(incarnation_);
  owner.set_session_id(session.value);
  return owner;
}

v1::QueueDescription QueueLookup::describe(const v1::QueueDefinition& queue) const {
  v1::QueueDescription description;
  description.set_name(queue.name());
  description.set_vhost(queue.vhost());
  description.set_id(queue.id());
  description.set_shard(queue.shard());
  description.set_node(node_id(queue));
  description.set_durable(queue.durable());
  description.set_exclusive(queue.exclusive());
  description.set_auto_delete(queue.auto_delete());
  *description.mutable_arguments() = queue.arguments();
  return description;
}

void QueueLookup::add_counts(const v1::QueueDescription& counts, v1::QueueDescription& to) {
  to.set_available(true);
  to.set_ready(counts.ready());
  to.set_unacked(counts.unacked());
  to.set_consumers(counts.consumers());
  to.set_bytes(counts.bytes());
  to.set_disk_bytes(counts.disk_bytes());
  to.set_memory_bytes(counts.memory_bytes());
  to.set_enqueued_total(counts.enqueued_total());
  to.set_delivered_total(counts.delivered_total());
  to.set_settled_total(counts.settled_total());
  to.set_dead_lettering(counts.dead_lettering());
  to.set_dead_letter_dropped(counts.dead_letter_dropped());
  to.set_expired_total(counts.expired_total());
  to.set_dropped_total(counts.dropped_total());
  to.set_deduplicated_total(counts.deduplicated_total());
  to.set_dedupe_entries(counts.dedupe_entries());
  to.set_dedupe_bytes(counts.dedupe_bytes());
  to.set_groups(counts.groups());
  *to.mutable_effective() = counts.effective();
  to.set_delayed(counts.delayed());
}

}  // namespace segue::router
