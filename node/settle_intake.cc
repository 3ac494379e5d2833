#include "node/settle_intake.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "common/expiry.h"
#include "node/status_error.h"

namespace segue::node {

namespace {

std::string range_text(std::uint64_t first, std::uint64_t last) {
  return first == last ? std::to_string(first)
                       : std::to_string(first) + ".." + std::to_string(last);
}

}  // namespace

void SettleIntake::on_settle(PeerId peer, const v1::PeerSettle& settle) {
  Touched touched;
  Consumer* consumer = subscriptions_.find(peer, settle.consumer());
  if (consumer == nullptr) {
    touched.error = "settle: consumer " + std::to_string(settle.consumer()) +
                    " is unknown, or ended with nothing left to settle";
    return reply(peer, settle, touched);
  }
  for (const v1::SettledTags& tags : settle.settled()) settle_range(*consumer, tags, touched);
  reply(peer, settle, touched);
  subscriptions_.after_change(*consumer);
}

void SettleIntake::settle_range(Consumer& consumer, const v1::SettledTags& tags, Touched& touched) {
  const NumberRange numbers{tags.tags().first(), tags.tags().last()};
  const auto refuse = [&](const std::string& why) {
    if (!touched.error.empty()) return;
    touched.error = "settle of delivery " + range_text(numbers.first, numbers.last) +
                    " of consumer " + std::to_string(consumer.number()) + ": " + why;
  };
  if (tags.outcome() < v1::OUTCOME_ACK || tags.outcome() > v1::OUTCOME_EXTEND) {
    return refuse("outcome " + std::to_string(tags.outcome()) + " is not known");
  }
  if (tags.delay_ms() > kMaxExpirationMs) {
    return refuse("a delay of more than " + std::to_string(kMaxExpirationMs) + " milliseconds");
  }
  if (numbers.first == 0 || numbers.first > numbers.last) return refuse("not a range of tags");
  if (consumer.queue_gone()) {
    if (numbers.last >= consumer.next_number()) refuse("unknown tag");
    return;
  }
  const bool extends = tags.outcome() == v1::OUTCOME_EXTEND;
  const std::uint64_t settled =
      extends ? extend(consumer, numbers) : take(consumer, numbers, tags, touched);
  consumer.received(std::min(numbers.last, consumer.next_number() - 1));
  if (settled - 1 == numbers.last - numbers.first) return;
  refuse(settled == 0 ? "unknown or already settled"
                      : "only " + std::to_string(settled) + " of them were to be " +
                            (extends ? "extended" : "settled") +
                            " (and are), the others are unknown or already settled");
}

std::uint64_t SettleIntake::take(Consumer& consumer, NumberRange numbers,
                                 const v1::SettledTags& tags, Touched& touched) {
  std::vector<Unacked::Run> runs;
  const std::uint64_t settled = consumer.unacked().take(numbers, runs);
  settle_runs(runs, tags, touched);
  consumer.trim_leases();
  return settled;
}

std::uint64_t SettleIntake::extend(Consumer& consumer, NumberRange numbers) {
  std::uint64_t extended = 0;
  for (const Unacked::Numbered& part : consumer.unacked().find(numbers)) {
    extended += part.numbers.count();
    const HostedQueue* hosted = queues_.find(part.queue);
    if (hosted != nullptr) subscriptions_.lease(consumer, *hosted, part.numbers);
  }
  return extended;
}

void SettleIntake::settle_runs(const std::vector<Unacked::Run>& runs, const v1::SettledTags& tags,
                               Touched& touched) {
  const v1::Outcome outcome = tags.outcome();
  if (outcome == v1::OUTCOME_REQUEUE) {
    subscriptions_.requeue(runs, static_cast<std::int64_t>(tags.delay_ms()));
  }
  // Nothing is logged: after a restart they were unsettled, and may have been delivered.
  if (outcome == v1::OUTCOME_RELEASE) return subscriptions_.release(runs);
  for (const Unacked::Run& run : runs) {
    HostedQueue* hosted = queues_.find(run.queue);
    if (hosted == nullptr) continue;
    Shard& shard = shards_.of(*hosted);
    if (outcome != v1::OUTCOME_REQUEUE) {
      hosted->queue.end_unacked(run.count);
      hosted->queue.count_settled(run.count);
      shard.depart(*hosted, run.sequences(),
                   outcome == v1::OUTCOME_ACK ? Departure::kAcked : Departure::kRejected);
    }
    if (!hosted->queue.durable()) continue;
    if (std::find(touched.shards.begin(), touched.shards.end(), &shard) == touched.shards.end()) {
      touched.shards.push_back(&shard);
    }
    touched.sync = touched.sync || hosted->queue.durability() == QueueDurability::kSync;
  }
}

void SettleIntake::reply(PeerId peer, const v1::PeerSettle& settle, const Touched& touched) {
  if (settle.confirm_id() == 0 && touched.error.empty()) return;
  auto answer = std::make_shared<EventAnswer>();
  answer->peer = peer;
  answer->event.set_consumer(settle.consumer());
  v1::SettleOk& ok = *answer->event.mutable_settle_ok();
  ok.set_confirm_id(settle.confirm_id());
  if (!touched.error.empty()) {
    *ok.mutable_error() = status_error(Code::kPreconditionFailed, "", touched.error);
  }
  if (touched.shards.empty() || settle.confirm_id() == 0) {
    return output_.consumer_event(peer, std::move(answer->event));
  }
  answer->waits_for = static_cast<std::uint32_t>(touched.shards.size());
  for (Shard* shard : touched.shards) shard->answer_after_departures(answer, touched.sync);
}

}  // namespace segue::node
