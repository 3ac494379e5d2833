// The part of DeliveryPath that messages pass: deliveries to clients, settles and polls to nodes.

#include "common/counted.h"
#include "router/delivery_path.h"
#include "router/errors.h"

namespace segue::router {

namespace {

// Messages of gets that a session may leave unsettled.
constexpr std::size_t kMaxUnsettledGets = 65536;
// Settles that a session may wait for.
constexpr std::size_t kMaxSettleConfirms = 65536;

v1::Error stale_error() {
  return make_error(Code::kShardUnavailable, "",
                    "deliveries from before the node's link was reset are not settled: their "
                    "messages come again, flagged redelivered");
}

v1::Error wrong_tags_error(const std::string& text) {
  return make_error(Code::kPreconditionFailed, "", "settle: " + text);
}

}  // namespace

// ---- deliveries

Status DeliveryPath::on_deliveries(Node& node, v1::NodeDeliveries& deliveries,
                                   const SharedBytes& bodies) {
  std::uint64_t offset = 0;
  for (v1::NodeDelivery& delivery : *deliveries.mutable_deliveries()) {
    if (delivery.body_bytes() > bodies.size() - offset) {
      return Status(Code::kFrameError, "deliveries with more body bytes than the frame has");
    }
    const SharedBytes mine = bodies.slice(offset, delivery.body_bytes());
    offset += delivery.body_bytes();
    Consumer* consumer = find(ConsumerId(delivery.consumer()));
    // One that ended meanwhile: the node has been told, and requeues.
    if (consumer == nullptr || consumer->node != &node) continue;
    if (delivery.count() == 0 || delivery.first_number() != consumer->delivered + 1) {
      return Status(Code::kFrameError, "a delivery with number " +
                                           std::to_string(delivery.first_number()) + " of " +
                                           counted(delivery.count(), "message") + ", due was " +
                                           std::to_string(consumer->delivered + 1));
    }
    deliver(*consumer, delivery, mine);
  }
  if (offset != bodies.size()) {
    return Status(Code::kFrameError, "deliveries with fewer body bytes than the frame has");
  }
  return Status::ok();
}

void DeliveryPath::deliver(Consumer& consumer, v1::NodeDelivery& delivery,
                           const SharedBytes& bodies) {
  if (consumer.on_subscribed) std::exchange(consumer.on_subscribed, nullptr)(nullptr);
  v1::RawDeliver& deliver = *deliver_frame_.mutable_deliver();
  deliver.set_consumer(consumer.number);
  deliver.set_first_tag(consumer.base + delivery.first_number());
  deliver.set_batch(std::move(*delivery.mutable_batch()));
  consumer.delivered += delivery.count();
  if (Session* session = sessions_.find(consumer.session)) session->send(deliver_frame_, bodies);
}

void DeliveryPath::on_consumer_events(Node& node, const v1::ConsumerEvents& events) {
  for (const v1::ConsumerEvent& event : events.events()) {
    if (event.has_settle_ok() && event.settle_ok().confirm_id() != 0) {
      confirms_.on_settle_ok(node, event.settle_ok());
      continue;
    }
    Consumer* consumer = find(ConsumerId(event.consumer()));
    if (consumer == nullptr || consumer->node != &node) continue;
    if (event.has_settle_ok() && event.settle_ok().has_error()) {
      tell_unasked(consumer->session, event.settle_ok().error());
      continue;
    }
    if (event.has_cancelled()) {
      ended(consumer->id, event.cancelled());
    } else if (event.has_subscribed() && consumer->on_subscribed) {
      std::exchange(consumer->on_subscribed, nullptr)(nullptr);
    }
  }
}

void DeliveryPath::on_node_up(Node& node) {
  std::size_t count = 0;
  for (const auto& [id, consumer] : consumers_) {
    if (consumer->node != &node || consumer->state != Consumer::State::kWaiting) continue;
    subscribe(*consumer);
    ++count;
  }
  if (count > 0) log_.info("consumers_resumed", {{"node", node.id}, {"consumers", count}});
}

void DeliveryPath::on_node_down(Node& node) {
  confirms_.on_node_down(node);
  std::vector<ConsumerId> cancelling;
  std::vector<ConsumerId> done;
  for (const auto& [id, consumer] : consumers_) {
    if (consumer->node != &node) continue;
    if (consumer->state == Consumer::State::kCancelling) {
      cancelling.push_back(id);
    } else if (consumer->state == Consumer::State::kCancelled) {
      done.push_back(id);
    }
    consumer->end_subscription();
  }
  // What a cancelled consumer had is ready again: there is nothing left to settle.
  for (const ConsumerId id : done) remove_cancelled(*find(id));
  for (const ConsumerId id : cancelling) {
    const Then then = std::move(find(id)->on_cancelled);
    remove_cancelled(*find(id));
    then(nullptr);
  }
  for (auto& [session, mine] : sessions_consumers_) mine.gets.on_node_down(node);
}

// ---- settles

bool DeliveryPath::may_confirm(Session& session, const v1::Settle& settle) {
  if (settle.confirm_id() == 0 || confirms_.open_of(session.id()) < kMaxSettleConfirms) return true;
  session.close(Code::kResourceError, "more than " + std::to_string(kMaxSettleConfirms) +
                                          " settles wait for their SettleOk");
  return false;
}

// A settle went wrong whose client had not asked for an answer.
void DeliveryPath::tell_unasked(SessionId session_id, const v1::Error& error) {
  Session* session = sessions_.find(session_id);
  if (session == nullptr) return;
  v1::RouterFrame frame;
  *frame.mutable_settle_ok()->mutable_error() = error;
  session->send(frame);
}

// Every part of the settle is on its way; `join` has what was wrong with it at the first look.
void DeliveryPath::finish_settle(const SettleConfirms::JoinPtr& join, bool wrong) {
  if (join->confirm_id != 0) {
    confirms_.finish(join);
  } else if (wrong) {
    tell_unasked(join->session, *join->error);
  }
}

void DeliveryPath::on_settle(Session& session, const v1::Settle& settle) {
  if (!may_confirm(session, settle)) return;
  if (settle.consumer() == 0) return settle_gets(session, settle);
  const auto join = SettleConfirms::begin(session.id(), settle.confirm_id());
  Consumer* consumer = find(session, settle.consumer());
  if (consumer == nullptr) return settle_removed(session, settle);
  TranslatedSettle translated = translate(*consumer, settle);
  if (translated.stale) join->error = stale_error();
  if (!translated.wrong.empty()) join->error = wrong_tags_error(translated.wrong);
  if (translated.settle.settled_size() > 0) {
    for (const v1::SettledTags& settled : translated.settle.settled()) {
      if (settled.outcome() == v1::OUTCOME_EXTEND) continue;
      consumer->settled.add({settled.tags().first(), settled.tags().last()});
    }
    if (join->confirm_id != 0) {
      translated.settle.set_confirm_id(confirms_.add(join, *consumer->node, consumer->id));
    }
    consumer->node->outbox.settle(std::move(translated.settle));
    remove_if_done(*consumer);
  }
  finish_settle(join, !translated.wrong.empty());
}

// Of a consumer that is not there, or no longer: its deliveries from before its node's link was
// reset come again, as those of any other; the rest is settled, or never was.
void DeliveryPath::settle_removed(Session& session, const v1::Settle& settle) {
  std::uint64_t lost_tag = 0;
  if (const SessionConsumers* mine = consumers_of(session)) {
    const auto found = mine->lost_tags.find(settle.consumer());
    if (found != mine->lost_tags.end()) lost_tag = found->second;
  }
  const auto join = SettleConfirms::begin(session.id(), settle.confirm_id());
  bool wrong = lost_tag == 0;
  for (const v1::SettledTags& settled : settle.settled()) {
    wrong = wrong || check_settled_tags(settled) != nullptr || settled.tags().last() > lost_tag;
  }
  join->error =
      wrong ? wrong_tags_error("the session has no consumer " + std::to_string(settle.consumer()) +
                               " with unsettled deliveries")
            : stale_error();
  finish_settle(join, wrong);
}

void DeliveryPath::settle_gets(Session& session, const v1::Settle& settle) {
  const bool confirm = settle.confirm_id() != 0;
  const auto join = SettleConfirms::begin(session.id(), settle.confirm_id());
  GetDeliveries::Settled settled = sessions_consumers_[session.id()].gets.settle(settle);
  if (settled.stale) join->error = stale_error();
  if (!settled.wrong.empty()) join->error = wrong_tags_error(settled.wrong);
  for (GetDeliveries::Part& part : settled.parts) {
    if (confirm) {
      part.settle.set_confirm_id(
          confirms_.add(join, *part.node, ConsumerId(part.settle.consumer())));
    }
    part.node->outbox.settle(std::move(part.settle));
  }
  finish_settle(join, !settled.wrong.empty());
}

void DeliveryPath::on_received(Session& session, const v1::Received& received) {
  Consumer* consumer = find(session, received.consumer());
  if (consumer == nullptr || consumer->state == Consumer::State::kWaiting) return;
  if (received.tag() <= consumer->base || received.tag() > consumer->last_tag()) return;
  v1::ConsumerCommand command;
  command.set_consumer(consumer->id.value);
  command.set_received(received.tag() - consumer->base);
  consumer->node->outbox.consumer_command(std::move(command));
}

// ---- polls

void DeliveryPath::get(Session& session, const v1::QueueDefinition& queue, bool no_ack,
                       GotThen then) {
  v1::GetOk nothing;
  GetDeliveries& gets = sessions_consumers_[session.id()].gets;
  const std::string& node_id =
      catalog_.state().node_of(ShardId(static_cast<std::uint16_t>(queue.shard())));
  Node* node = nodes_.find(node_id);
  if (gets.unsettled() >= kMaxUnsettledGets) {
    const v1::Error error = make_error(
        Code::kResourceError, queue.name(),
        counted(gets.unsettled(), "message") + " of gets are unsettled; settle some first");
    return then(&error, nothing, {});
  }
  const QueueId id(queue.id());
  v1::QueueRequest request;
  request.set_queue_id(queue.id());
  request.mutable_get()->set_no_ack(no_ack);
  if (node != nullptr) {
    GetDeliveries::Subscription* subscription = gets.find(id);
    if (subscription == nullptr) subscription = &gets.add(id, ConsumerId(next_id_++), *node);
    request.mutable_get()->set_consumer(subscription->id.value);
  }
  NodeRequests::Options options;
  options.wait_for_node = true;
  options.never_forget = true;
  options.repeatable = !no_ack;
  const std::uint64_t number =
      requests_.send(node, node_id, std::move(request), catalog_.needed_for(id), options,
                     [this, session_id = session.id(), id, no_ack, then = std::move(then)](
                         v1::QueueReply& reply, const SharedBytes& body) {
                       on_got(session_id, id, no_ack, reply, body, then);
                     });
  // 0: it was answered at once.
  if (number != 0) gets.open_requests.insert(number);
}

void DeliveryPath::on_got(SessionId session, QueueId queue, bool no_ack, v1::QueueReply& reply,
                          const SharedBytes& body, const GotThen& then) {
  v1::GetOk got;
  const auto mine = sessions_consumers_.find(session);
  if (mine == sessions_consumers_.end()) return;
  mine->second.gets.open_requests.erase(reply.request_id());
  if (reply.has_error()) return then(&reply.error(), got, {});
  got.set_remaining(reply.remaining());
  if (reply.has_delivery()) {
    got.set_found(true);
    if (!got.mutable_batch()->ParseFromString(reply.delivery().batch())) {
      const v1::Error error =
          make_error(Code::kInternalError, "", "the node's answer cannot be read");
      return then(&error, got, {});
    }
    GetDeliveries& gets = mine->second.gets;
    if (!no_ack) {
      got.set_tag(gets.delivered(*gets.find(queue), queue, reply.delivery().first_number()));
    }
  }
  then(nullptr, got, body);
}

}  // namespace segue::router
