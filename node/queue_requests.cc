#include "node/queue_requests.h"

#include <string>
#include <utility>

#include "node/status_error.h"

namespace segue::node {

void QueueRequests::on_request(PeerId peer, const v1::QueueRequest& request) {
  HostedQueue* hosted = queues_.find(QueueId{request.queue_id()});
  v1::QueueReply reply;
  reply.set_request_id(request.request_id());
  if (hosted == nullptr || !hosted->queue.defined()) {
    const std::string id = std::to_string(request.queue_id());
    *reply.mutable_error() = status_error(
        Code::kNotFound, id, "no queue with id " + id + " here; it was deleted, or never declared");
    return output_.queue_reply(peer, std::move(reply), {});
  }
  switch (request.kind_case()) {
    case v1::QueueRequest::kGet:
      return gets_.on_get(peer, request.request_id(), *hosted, request.get());
    case v1::QueueRequest::kPurge:
      return purge(peer, request.request_id(), *hosted);
    case v1::QueueRequest::kStatus:
      describe(*hosted, *reply.mutable_queue());
      break;
    case v1::QueueRequest::kCheckDelete:
      check_delete(request.check_delete(), *hosted, reply);
      break;
    case v1::QueueRequest::KIND_NOT_SET:
      *reply.mutable_error() = status_error(Code::kNotImplemented, hosted->queue.display_name(),
                                            "a request of a kind that this version does not know");
      break;
  }
  output_.queue_reply(peer, std::move(reply), {});
}

void QueueRequests::purge(PeerId peer, std::uint64_t request_id, HostedQueue& hosted) {
  const Queue::ReadyRanges taken = hosted.queue.take_all_ready();
  Shard& shard = shards_.of(hosted);
  for (const NumberRange& range : taken.ranges) shard.depart(hosted, range, Departure::kPurged);
  hosted.queue.count_settled(taken.count);
  QueueAnswer answer{peer, {}};
  answer.reply.set_request_id(request_id);
  answer.reply.set_purged(taken.count);
  describe(hosted, *answer.reply.mutable_queue());
  const bool sync = hosted.queue.durability() == QueueDurability::kSync;
  if (hosted.queue.durable() && !taken.ranges.empty()) {
    shard.answer_after_departures(std::move(answer), sync);
  } else {
    output_.queue_reply(peer, std::move(answer.reply), {});
  }
}

void QueueRequests::check_delete(const v1::QueueDelete& conditions, HostedQueue& hosted,
                                 v1::QueueReply& reply) {
  const std::string name = hosted.queue.display_name();
  const std::uint64_t ready = hosted.queue.ready();
  const std::uint64_t unacked = hosted.queue.unacked();
  if (conditions.if_unused() && hosted.consumer_count() > 0) {
    *reply.mutable_error() = status_error(
        Code::kPreconditionFailed, name,
        "queue " + name + " is in use: it has " + std::to_string(hosted.consumer_count()) +
            " consumers; cancel them, or delete it without if_unused");
  } else if (conditions.if_empty() && ready + unacked > 0) {
    *reply.mutable_error() = status_error(
        Code::kPreconditionFailed, name,
        "queue " + name + " is not empty: it has " + std::to_string(ready) + " ready and " +
            std::to_string(unacked) + " unacked messages; purge it, or delete it without if_empty");
  }
  describe(hosted, *reply.mutable_queue());
}

void QueueRequests::describe(const HostedQueue& hosted, v1::QueueDescription& description) const {
  const Queue& queue = hosted.queue;
  const storage::StoredQueue stored = disk_.stored(queue.id());
  description.set_name(queue.name());
  description.set_id(queue.id().value);
  description.set_shard(queue.shard().value);
  description.set_durable(queue.durable());
  description.set_auto_delete(queue.auto_delete());
  description.set_available(true);
  description.set_ready(queue.ready());
  description.set_unacked(queue.unacked());
  description.set_consumers(hosted.consumer_count());
  description.set_bytes(stored.body_bytes + queue.unstored_bytes());
  description.set_disk_bytes(stored.disk_bytes);
  description.set_memory_bytes(queue.memory_bytes());
  description.set_enqueued_total(queue.enqueued_total());
  description.set_delivered_total(queue.delivered_total());
  description.set_settled_total(queue.settled_total());
}

}  // namespace segue::node
