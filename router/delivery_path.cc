#include "router/delivery_path.h"

#include <algorithm>
#include <limits>

#include "common/counted.h"
#include "router/errors.h"

namespace segue::router {

namespace {

/// What a consumer's arguments ask for. PRECONDITION_FAILED for others, and other values.
Status read_arguments(const v1::Consume& consume, v1::Subscribe& subscription) {
  for (const auto& [name, value] : consume.arguments()) {
    const std::int64_t number = value.int_value();
    if (name == "x-consumer-timeout") {
      if (number <= 0) {
        return Status(Code::kPreconditionFailed,
                      "consumer argument 'x-consumer-timeout' must be a whole number of "
                      "milliseconds above 0");
      }
      subscription.set_ack_timeout_ms(static_cast<std::uint64_t>(number));
    } else if (name == "x-priority") {
      const bool fits = value.kind_case() == v1::FieldValue::kIntValue &&
                        number >= std::numeric_limits<std::int32_t>::min() &&
                        number <= std::numeric_limits<std::int32_t>::max();
      if (!fits) {
        return Status(Code::kPreconditionFailed,
                      "consumer argument 'x-priority' must be a whole number of 32 bits");
      }
      subscription.set_priority(static_cast<std::int32_t>(number));
    } else {
      return Status(Code::kPreconditionFailed,
                    "consumer argument " + in_quotes(name) +
                        " is not known; there are x-consumer-timeout, x-priority");
    }
  }
  return {};
}

}  // namespace

DeliveryPath::DeliveryPath(const LimitsConfig& limits, Duration subscribe_timeout,
                           CatalogView& catalog, NodeTable& nodes, SessionTable& sessions,
                           NodeRequests& requests, const Turn& turn, Logger& log)
    : limits_(limits),
      subscribe_timeout_(subscribe_timeout),
      catalog_(catalog),
      nodes_(nodes),
      sessions_(sessions),
      requests_(requests),
      turn_(turn),
      log_(log),
      confirms_(sessions) {}

Consumer* DeliveryPath::find(ConsumerId id) {
  const auto found = consumers_.find(id);
  return found == consumers_.end() ? nullptr : found->second.get();
}

DeliveryPath::SessionConsumers* DeliveryPath::consumers_of(const Session& session) {
  const auto found = sessions_consumers_.find(session.id());
  return found == sessions_consumers_.end() ? nullptr : &found->second;
}

Consumer* DeliveryPath::find(const Session& session, std::uint64_t number) {
  SessionConsumers* mine = consumers_of(session);
  if (mine == nullptr) return nullptr;
  const auto found = mine->by_number.find(number);
  return found == mine->by_number.end() ? nullptr : find(found->second);
}

// ---- consumers begin and end

Status DeliveryPath::check_new(Session& session, std::uint64_t number) {
  SessionConsumers& mine = sessions_consumers_[session.id()];
  if (number == 0) {
    return Status(Code::kNotAllowed, "consumer number 0 is not allowed: it stands for gets");
  }
  if (mine.by_number.size() >= limits_.max_consumers_per_session ||
      mine.used_numbers.range_count() > limits_.max_consumers_per_session) {
    return Status(Code::kResourceError,
                  "the session has " + counted(mine.by_number.size(), "consumer") + ", " +
                      std::to_string(limits_.max_consumers_per_session) + " are allowed");
  }
  if (!mine.used_numbers.insert(number)) {
    return Status(Code::kNotAllowed,
                  "consumer number " + std::to_string(number) + " was used before in this session");
  }
  return Status::ok();
}

void DeliveryPath::consume(Session& session, const v1::Consume& consume,
                           const v1::QueueDefinition& queue, Then then) {
  const Status allowed = check_new(session, consume.consumer());
  if (!allowed) {
    const v1::Error error = make_error(allowed.code(), queue.name(), allowed.message());
    return then(&error);
  }
  v1::Subscribe subscription;
  if (const Status fine = read_arguments(consume, subscription); !fine) {
    const v1::Error error = make_error(fine.code(), queue.name(), fine.message());
    return then(&error);
  }
  const std::string& node_id =
      catalog_.state().node_of(ShardId(static_cast<std::uint16_t>(queue.shard())));
  Node* node = nodes_.find(node_id);
  if (node == nullptr) {
    const v1::Error error =
        make_error(Code::kShardUnavailable, queue.name(),
                   "node " + in_quotes(node_id) + " is not in this router's configuration");
    return then(&error);
  }
  auto consumer = std::make_unique<Consumer>();
  consumer->id = ConsumerId(next_id_++);
  consumer->session = session.id();
  consumer->number = consume.consumer();
  consumer->queue = QueueId(queue.id());
  consumer->node = node;
  subscription.set_queue_id(queue.id());
  subscription.set_prefetch_count(consume.prefetch_count());
  subscription.set_prefetch_bytes(consume.prefetch_bytes());
  subscription.set_no_ack(consume.no_ack());
  if (subscription.priority() == 0) subscription.set_priority(consume.priority());
  subscription.set_exclusive(consume.exclusive());
  subscription.set_window_bytes(window_of_next(session));
  subscription.set_session(session.id().value);
  consumer->subscribe = std::move(subscription);
  consumer->on_subscribed = std::move(then);
  consumer->deadline = turn_.now + subscribe_timeout_;
  sessions_consumers_[session.id()].by_number[consumer->number] = consumer->id;
  by_queue_[consumer->queue].insert(consumer->id);
  Consumer& added = *(consumers_[consumer->id] = std::move(consumer));
  if (node->up) subscribe(added);
}

// The more consumers a session has, the smaller the window of the next, so that all together they
// hold not much more than the first few when nothing is read.
std::uint64_t DeliveryPath::window_of_next(const Session& session) {
  constexpr std::uint64_t kFullWindows = 4;
  constexpr std::uint64_t kLeastBytes = 256 << 10;
  const std::uint64_t full = limits_.delivery_window_bytes;
  const SessionConsumers* mine = consumers_of(session);
  const std::uint64_t number = mine == nullptr ? 1 : mine->by_number.size() + 1;
  if (number <= kFullWindows) return full;
  const std::uint64_t share = full * (kFullWindows * kFullWindows) / (number * number);
  return std::max(share, std::min(kLeastBytes, full));
}

void DeliveryPath::subscribe(Consumer& consumer) {
  v1::ConsumerCommand command;
  command.set_consumer(consumer.id.value);
  *command.mutable_subscribe() = consumer.subscribe;
  consumer.node->outbox.consumer_command(std::move(command), catalog_.needed_for(consumer.queue));
  consumer.state = Consumer::State::kSubscribed;
}

void DeliveryPath::unsubscribe(Node& node, ConsumerId consumer, bool requeue) {
  if (!node.up) return;
  v1::ConsumerCommand command;
  command.set_consumer(consumer.value);
  command.mutable_unsubscribe()->set_requeue(requeue);
  node.outbox.consumer_command(std::move(command));
}

void DeliveryPath::cancel(Session& session, std::uint64_t number, Then then) {
  Consumer* consumer = find(session, number);
  if (consumer == nullptr || consumer->state == Consumer::State::kCancelling ||
      consumer->state == Consumer::State::kCancelled) {
    const v1::Error error =
        make_error(Code::kNotFound, "",
                   "the session has no consumer " + std::to_string(number) + " to cancel");
    return then(&error);
  }
  if (consumer->on_subscribed) {
    // Not answered yet: the Consume comes to nothing.
    const v1::Error error = make_error(Code::kNotFound, "", "the consumer was cancelled");
    std::exchange(consumer->on_subscribed, nullptr)(&error);
  }
  if (consumer->state == Consumer::State::kWaiting) {
    remove_cancelled(*consumer);
    return then(nullptr);
  }
  consumer->on_cancelled = std::move(then);
  consumer->state = Consumer::State::kCancelling;
  unsubscribe(*consumer->node, consumer->id, false);
  fence_cancel(*consumer);
}

// A question behind the unsubscribe: when its answer is here, so are the last deliveries.
void DeliveryPath::fence_cancel(Consumer& consumer) {
  v1::QueueRequest request;
  request.set_queue_id(consumer.queue.value);
  request.mutable_status();
  NodeRequests::Options options;
  options.never_forget = true;
  requests_.send(consumer.node, consumer.node->id, std::move(request), {}, options,
                 [this, id = consumer.id](v1::QueueReply&, const SharedBytes&) { cancelled(id); });
}

void DeliveryPath::cancelled(ConsumerId id) {
  Consumer* consumer = find(id);
  if (consumer == nullptr || consumer->state != Consumer::State::kCancelling) return;
  consumer->state = Consumer::State::kCancelled;
  const Then then = std::move(consumer->on_cancelled);
  remove_if_done(*consumer);
  then(nullptr);
}

void DeliveryPath::remove_if_done(Consumer& consumer) {
  if (consumer.state != Consumer::State::kCancelled) return;
  if (consumer.subscribe.no_ack() || consumer.settled.count() >= consumer.delivered) {
    remove_cancelled(consumer);
  }
}

void DeliveryPath::remove_cancelled(Consumer& consumer) {
  const auto mine = sessions_consumers_.find(consumer.session);
  if (mine != sessions_consumers_.end() && consumer.base > 0 && !consumer.subscribe.no_ack()) {
    auto& lost_tags = mine->second.lost_tags;
    lost_tags[consumer.number] = consumer.base;
    if (lost_tags.size() > limits_.max_consumers_per_session) lost_tags.erase(lost_tags.begin());
  }
  remove(consumer.id);
}

void DeliveryPath::remove(ConsumerId id) {
  const auto found = consumers_.find(id);
  if (found == consumers_.end()) return;
  const Consumer& consumer = *found->second;
  const auto same_queue = by_queue_.find(consumer.queue);
  same_queue->second.erase(id);
  if (same_queue->second.empty()) by_queue_.erase(same_queue);
  const auto session = sessions_consumers_.find(consumer.session);
  if (session != sessions_consumers_.end()) session->second.by_number.erase(consumer.number);
  consumers_.erase(found);
}

void DeliveryPath::ended(ConsumerId id, const v1::Error& reason) {
  Consumer* consumer = find(id);
  if (consumer == nullptr) return;
  const Then on_subscribed = std::move(consumer->on_subscribed);
  const Then on_cancelled = std::move(consumer->on_cancelled);
  const SessionId session_id = consumer->session;
  const bool was_active = consumer->state != Consumer::State::kCancelled;
  v1::RouterFrame frame;
  frame.mutable_consumer_cancelled()->set_consumer(consumer->number);
  *frame.mutable_consumer_cancelled()->mutable_reason() = reason;
  confirms_.on_consumer_gone(id);
  remove(id);
  if (on_subscribed) {
    on_subscribed(&reason);
  } else if (on_cancelled) {
    on_cancelled(nullptr);
  } else if (Session* session = sessions_.find(session_id); session != nullptr && was_active) {
    session->send(frame);
  }
}

void DeliveryPath::qos(Session& session, const v1::Qos& qos, Then then) {
  Consumer* consumer = find(session, qos.consumer());
  if (consumer == nullptr || consumer->state == Consumer::State::kCancelling ||
      consumer->state == Consumer::State::kCancelled) {
    const v1::Error error = make_error(
        Code::kNotFound, "", "the session has no consumer " + std::to_string(qos.consumer()));
    return then(&error);
  }
  consumer->subscribe.set_prefetch_count(qos.prefetch_count());
  consumer->subscribe.set_prefetch_bytes(qos.prefetch_bytes());
  if (consumer->state == Consumer::State::kSubscribed) {
    v1::ConsumerCommand command;
    command.set_consumer(consumer->id.value);
    command.mutable_set_prefetch()->set_prefetch_count(qos.prefetch_count());
    command.mutable_set_prefetch()->set_prefetch_bytes(qos.prefetch_bytes());
    consumer->node->outbox.consumer_command(std::move(command));
  }
  then(nullptr);
}

void DeliveryPath::end_session(Session& session) {
  confirms_.end_session(session.id());
  SessionConsumers* mine = consumers_of(session);
  if (mine == nullptr) return;
  std::vector<ConsumerId> ids;
  for (const auto& [number, id] : mine->by_number) ids.push_back(id);
  for (const ConsumerId id : ids) {
    Consumer& consumer = *find(id);
    if (consumer.state != Consumer::State::kWaiting) unsubscribe(*consumer.node, id, true);
    remove(id);
  }
  // A node does not answer the gets of a subscription that has ended.
  for (const std::uint64_t request : mine->gets.open_requests) requests_.forget(request);
  for (const auto& [queue, subscription] : mine->gets.subscriptions()) {
    unsubscribe(*subscription.node, subscription.id, true);
  }
  sessions_consumers_.erase(session.id());
}

void DeliveryPath::on_queue_deleted(QueueId queue) {
  const auto found = by_queue_.find(queue);
  if (found == by_queue_.end()) return;
  const std::vector<ConsumerId> ids(found->second.begin(), found->second.end());
  for (const ConsumerId id : ids) {
    ended(id, make_error(Code::kNotFound, "", "the queue was deleted"));
  }
}

void DeliveryPath::on_catalog_replaced() {
  std::vector<QueueId> gone;
  for (const auto& [queue, ids] : by_queue_) {
    if (catalog_.state().find_queue(queue) == nullptr) gone.push_back(queue);
  }
  for (const QueueId queue : gone) on_queue_deleted(queue);
}

void DeliveryPath::on_tick() {
  std::vector<ConsumerId> late;
  for (const auto& [id, consumer] : consumers_) {
    if (consumer->on_subscribed && consumer->deadline <= turn_.now) late.push_back(id);
  }
  for (const ConsumerId id : late) {
    Consumer& consumer = *find(id);
    if (consumer.state != Consumer::State::kWaiting) unsubscribe(*consumer.node, id, true);
    const Node& node = *consumer.node;
    ended(id, make_error(
                  Code::kShardUnavailable, catalog_.queue_name(consumer.queue),
                  node.up ? "node " + node.id + " has not answered in time" : node.unreachable()));
  }
}

}  // namespace segue::router
