#include "node/subscriptions.h"

#include <algorithm>
#include <string>
#include <utility>

#include "common/counted.h"
#include "node/status_error.h"

namespace segue::node {

namespace {

/// So many ended consumers of deleted queues are remembered for each peer, so that settles which
/// crossed the deletion are no errors.
constexpr std::size_t kGoneRemembered = 10'000;

/// Waiting consumers of a peer that a turn looks at.
constexpr std::size_t kVisitsInTurn = 256;

}  // namespace

Consumer* Subscriptions::find(PeerId peer, std::uint64_t number) {
  const auto at = peers_.find(peer);
  if (at == peers_.end()) return nullptr;
  const auto consumer = at->second.consumers.find(number);
  return consumer == at->second.consumers.end() ? nullptr : consumer->second.get();
}

Consumer* Subscriptions::find_for_gets(PeerId peer, std::uint64_t number) {
  auto& consumer = peer_of(peer).consumers[number];
  if (!consumer) consumer = std::make_unique<Consumer>(peer, number);
  return consumer->for_gets() ? consumer.get() : nullptr;
}

void Subscriptions::on_command(PeerId peer, const v1::ConsumerCommand& command) {
  if (command.kind_case() == v1::ConsumerCommand::kSubscribe) {
    return subscribe(peer, command.consumer(), command.subscribe());
  }
  // A command for a consumer that has ended meanwhile crossed that news.
  Consumer* consumer = find(peer, command.consumer());
  if (consumer == nullptr) return;
  switch (command.kind_case()) {
    case v1::ConsumerCommand::kUnsubscribe:
      return unsubscribe(*consumer, command.unsubscribe().requeue());
    case v1::ConsumerCommand::kSetPrefetch:
      consumer->set_prefetch(command.set_prefetch().prefetch_count(),
                             command.set_prefetch().prefetch_bytes());
      return after_change(*consumer);
    case v1::ConsumerCommand::kReceived:
      consumer->received(command.received());
      return after_change(*consumer);
    default:
      return;
  }
}

void Subscriptions::refuse(PeerId peer, std::uint64_t number, Code code, std::string entity,
                           std::string text) {
  v1::ConsumerEvent event;
  event.set_consumer(number);
  *event.mutable_cancelled() = status_error(code, std::move(entity), std::move(text));
  output_.consumer_event(peer, std::move(event));
}

void Subscriptions::subscribe(PeerId peer, std::uint64_t number, const v1::Subscribe& terms) {
  if (number == 0) {
    return refuse(peer, number, Code::kNotAllowed, "",
                  "subscribe: consumer number 0 is not allowed");
  }
  HostedQueue* hosted = queues_.find_queue(QueueId{terms.queue_id()});
  if (hosted == nullptr || !hosted->queue.defined() || hosted->deleting) {
    return refuse(peer, number, Code::kNotFound, std::to_string(terms.queue_id()),
                  "subscribe: no queue with id " + std::to_string(terms.queue_id()) +
                      " here; it was deleted, or never declared");
  }
  if (find(peer, number) != nullptr) {
    return refuse(peer, number, Code::kNotAllowed, "",
                  "subscribe: consumer " + std::to_string(number) + " is in use");
  }
  if (std::string refusal = refusal_of(*hosted, terms); !refusal.empty()) {
    return refuse(peer, number, Code::kAccessRefused, hosted->queue.display_name(),
                  std::move(refusal));
  }
  auto owned = std::make_unique<Consumer>(peer, number);
  Consumer& consumer = *owned;
  Peer& of = peer_of(peer);
  of.consumers[number] = std::move(owned);
  consumer.subscribe(*hosted, terms);
  consumer.share(of.budget, terms.session());
  QueueReaders& readers = hosted->make_readers();
  readers.add(consumer, hosted->settings.single_active_consumer);
  if (readers.serves(consumer)) readers.ring.offer(consumer);
  v1::ConsumerEvent event;
  event.set_consumer(number);
  event.mutable_subscribed();
  output_.consumer_event(peer, std::move(event));
  queues_.wake(*hosted);
}

void Subscriptions::after_change(Consumer& consumer) {
  if (HostedQueue* hosted = consumer.queue()) {
    if (!hosted->readers->serves(consumer)) return;
    if (consumer.has_credit()) {
      consumer.end_wait();
      hosted->readers->ring.offer(consumer);
      if (hosted->groups) hosted->groups->offered(consumer);
      queues_.wake(*hosted);
    } else {
      hosted->readers->ring.withdraw(consumer);
      consumer.wait_for_room();
    }
  } else if (consumer.stopped() && !consumer.queue_gone() && consumer.unacked().empty()) {
    forget(consumer);
  }
}

void Subscriptions::begin_deliveries() {
  for (auto& [id, peer] : peers_) {
    for (std::size_t visits = 0; visits < kVisitsInTurn && peer.budget.has_to_visit(); ++visits) {
      Consumer& consumer = peer.budget.visit_next();
      if (consumer.has_credit()) after_change(consumer);
    }
  }
}

bool Subscriptions::wants_turn() const {
  return std::any_of(peers_.begin(), peers_.end(),
                     [](const auto& peer) { return peer.second.budget.has_to_visit(); });
}

void Subscriptions::forget(Consumer& consumer) {
  const auto peer = peers_.find(consumer.peer());
  peer->second.consumers.erase(consumer.number());
}

void Subscriptions::lease(Consumer& consumer, const HostedQueue& hosted, NumberRange numbers) {
  const Duration time = consumer.ack_timeout(hosted.settings.consumer_timeout);
  if (time > Duration::zero()) consumer.lease(leases_, numbers, clock_.now + time);
}

void Subscriptions::on_tick() {
  if (leases_.empty()) return;
  for (const LeaseBook::Due& due : leases_.take_due(clock_.now)) {
    std::vector<Unacked::Run> runs;
    for (const NumberRange& numbers : due.numbers) due.consumer->unacked().take(numbers, runs);
    if (runs.empty()) continue;
    log_timeout(*due.consumer, runs);
    requeue(runs);
    after_change(*due.consumer);
  }
}

void Subscriptions::log_timeout(const Consumer& consumer, const std::vector<Unacked::Run>& runs) {
  std::uint64_t messages = 0;
  for (const Unacked::Run& run : runs) messages += run.count;
  const HostedQueue* hosted = queues_.find(runs.front().queue);
  log_.warn("consumer_timeout",
            {{"queue", hosted == nullptr ? std::string() : hosted->queue.display_name()},
             {"consumer", consumer.number()},
             {"messages", messages},
             {"reason", "not settled in time (x-consumer-timeout); they are ready again"}});
}

void Subscriptions::requeue(const std::vector<Unacked::Run>& runs, std::int64_t rest_ms) {
  for (const Unacked::Run& run : runs) {
    HostedQueue* hosted = queues_.find(run.queue);
    if (hosted == nullptr) continue;
    hosted->queue.end_unacked(run.count);
    shards_.of(*hosted).requeue(*hosted, run.sequences(), rest_ms);
  }
}

void Subscriptions::release(const std::vector<Unacked::Run>& runs) {
  for (const Unacked::Run& run : runs) {
    HostedQueue* hosted = queues_.find(run.queue);
    if (hosted == nullptr) continue;
    hosted->queue.end_unacked(run.count);
    shards_.of(*hosted).release(*hosted, run.sequences());
  }
}

std::string Subscriptions::refusal_of(const HostedQueue& hosted, const v1::Subscribe& terms) {
  if (!hosted.has_consumers()) return {};
  const std::string queue = "queue " + hosted.queue.display_name();
  if (hosted.readers->consumers.begin()->second->exclusive()) {
    return queue + " has an exclusive consumer: no other may consume from it until that one ends";
  }
  if (!terms.exclusive()) return {};
  return queue + " has " + counted(hosted.readers->consumers.size(), "consumer") +
         ": an exclusive one has to be the only one";
}

void Subscriptions::leave_queue(Consumer& consumer, bool peer_lost) {
  HostedQueue* hosted = consumer.queue();
  if (hosted == nullptr) return;
  hosted->readers->ring.withdraw(consumer);
  if (hosted->groups) hosted->groups->gone(consumer);
  Consumer* const next = hosted->readers->remove(consumer);
  consumer.stop();
  if (next != nullptr) after_change(*next);
  if (!hosted->has_consumers()) {
    unused_.touch(*hosted);
    if (hosted->queue.auto_delete()) auto_delete_.last_consumer_gone(*hosted, peer_lost);
  }
  hosted->drop_readers_if_unused();
}

void Subscriptions::unsubscribe(Consumer& consumer, bool requeue_unsettled) {
  if (requeue_unsettled) {
    std::vector<Unacked::Run> runs;
    consumer.unacked().take_all(runs);
    requeue(runs);
  }
  leave_queue(consumer, false);
  consumer.stop();
  if (consumer.unacked().empty()) forget(consumer);
}

void Subscriptions::on_peer_lost(PeerId peer) {
  const auto at = peers_.find(peer);
  if (at == peers_.end()) return;
  // In order of their numbers, so that the log does not depend on a hash table.
  std::map<std::uint64_t, Consumer*> ordered;
  for (const auto& [number, consumer] : at->second.consumers) ordered[number] = consumer.get();
  for (const auto& [number, consumer] : ordered) {
    std::vector<Unacked::Run> runs;
    consumer->unacked().take_all(runs);
    requeue(runs);
    leave_queue(*consumer, true);
  }
  peers_.erase(at);
}

void Subscriptions::end_consumers_of(HostedQueue& hosted) {
  if (!hosted.readers) return;
  for (const auto& [key, consumer] : hosted.readers->consumers) {
    Peer& peer = peer_of(key.first);
    std::vector<Unacked::Run> lost_with_the_queue;
    consumer->unacked().take_all(lost_with_the_queue);
    consumer->stop_for_good();
    refuse(key.first, key.second, Code::kNotFound, hosted.queue.display_name(),
           "queue " + hosted.queue.display_name() + " was deleted");
    peer.gone.push_back(key.second);
    if (peer.gone.size() > kGoneRemembered) {
      const auto oldest = peer.consumers.find(peer.gone.front());
      if (oldest != peer.consumers.end() && oldest->second->queue_gone()) {
        peer.consumers.erase(oldest);
      }
      peer.gone.pop_front();
    }
  }
  hosted.readers.reset();
}

}  // namespace segue::node
