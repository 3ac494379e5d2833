#include "node/queue_gets.h"

#include <utility>

#include "node/delivery_frame.h"
#include "node/status_error.h"

namespace segue::node {

void QueueGets::on_get(PeerId peer, std::uint64_t request_id, HostedQueue& hosted,
                       const v1::QueueGet& get) {
  if (subscriptions_.find_for_gets(peer, get.consumer()) == nullptr) {
    v1::QueueReply reply;
    reply.set_request_id(request_id);
    *reply.mutable_error() = status_error(Code::kNotAllowed, "",
                                          "get: number " + std::to_string(get.consumer()) +
                                              " is a consumer's, it cannot stand for gets");
    return output_.queue_reply(peer, std::move(reply), {});
  }
  unused_.touch(hosted);
  hosted.make_readers().gets.push_back({peer, request_id, get.consumer(), get.no_ack()});
  serve(hosted);
}

bool QueueGets::serve(HostedQueue& hosted) {
  while (hosted.readers && !hosted.readers->gets.empty()) {
    const WaitingGet get = hosted.readers->gets.front();
    // The peer may have gone, or ended the session, while the get waited.
    Consumer* consumer = subscriptions_.find(get.peer, get.consumer);
    if (consumer != nullptr) {
      HostedQueue& lane = hosted.front_lane();
      const Queue::Next next = this->next(lane, *consumer);
      // Of a lane that turned out to be empty the next one takes the place.
      if (next.wait == Queue::Wait::kEmpty && &lane != &hosted) continue;
      if (next.wait == Queue::Wait::kDisk) read_ahead_.consider(lane);
      if (next.wait == Queue::Wait::kMark) shards_.of(lane).propose_mark(lane);
      if (next.wait == Queue::Wait::kDisk || next.wait == Queue::Wait::kMark) return false;
      deliver(get, *consumer, lane, next.run);
    }
    hosted.readers->gets.pop_front();
  }
  hosted.drop_readers_if_unused();
  return true;
}

Queue::Next QueueGets::next(HostedQueue& lane, Consumer& consumer) {
  return lane.groups ? group_reader_.next_for_get(lane, consumer) : shards_.of(lane).next(lane, 1);
}

void QueueGets::deliver(const WaitingGet& get, Consumer& consumer, HostedQueue& lane,
                        const MessageRun& run) {
  v1::QueueReply reply;
  reply.set_request_id(get.request_id);
  std::vector<SharedBytes> bodies;
  if (run.count > 0) {
    Queue& queue = lane.queue;
    const std::uint64_t number = consumer.deliver(queue.id(), run, !get.no_ack);
    DeliveryFrame frame;
    frame.add(number, queue, run);
    DeliveryFrame::Built built = frame.take(consumer);
    *reply.mutable_delivery() = std::move(built.delivery);
    bodies = std::move(built.bodies);
    queue.take(run);
    if (!get.no_ack && lane.groups) group_reader_.given(lane, consumer, run);
    if (!get.no_ack) subscriptions_.lease(consumer, lane, {number, number});
    if (get.no_ack) {
      queue.end_unacked(1);
      queue.count_settled(1);
      shards_.of(lane).depart(lane, {run.first.value, run.first.value}, Departure::kAcked);
    }
  }
  reply.set_remaining(lane.of_whole().ready());
  output_.queue_reply(get.peer, std::move(reply), std::move(bodies));
}

void QueueGets::end_gets_of(HostedQueue& hosted) {
  if (!hosted.readers) return;
  for (const WaitingGet& get : std::exchange(hosted.readers->gets, {})) {
    v1::QueueReply reply;
    reply.set_request_id(get.request_id);
    *reply.mutable_error() = status_error(Code::kNotFound, hosted.queue.display_name(),
                                          "queue " + hosted.queue.display_name() + " was deleted");
    output_.queue_reply(get.peer, std::move(reply), {});
  }
}

}  // namespace segue::node
