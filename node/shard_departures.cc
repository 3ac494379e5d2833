// How messages leave their queues, come back, or die (class Shard).
#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include "node/shard.h"

namespace segue::node {

namespace {

/// More are cut: a command must fit into a record.
constexpr std::size_t kMaxDeadRanges = 50'000;

/// Why a message that departs so becomes a dead letter; nothing if it does not.
std::optional<v1::DeadReason> dead_reason_of(Departure reason) {
  switch (reason) {
    case Departure::kRejected:
      return v1::DEAD_REASON_REJECTED;
    case Departure::kExpired:
      return v1::DEAD_REASON_EXPIRED;
    case Departure::kMaxlen:
      return v1::DEAD_REASON_MAXLEN;
    case Departure::kDeliveryLimit:
      return v1::DEAD_REASON_DELIVERY_LIMIT;
    default:
      return std::nullopt;
  }
}

}  // namespace

bool Shard::has_waiting() const {
  return !departures_.empty() || !requeues_.empty() || !dead_.empty();
}

void Shard::depart(HostedQueue& hosted, NumberRange sequences, Departure reason) {
  // Others of the group may be anybody's now.
  if (hosted.groups && hosted.groups->leave(sequences)) context_.queues.wake(hosted);
  if (hosted.settings.dead_letters != nullptr) {
    if (const auto dead = dead_reason_of(reason)) return bury(hosted, sequences, *dead);
  }
  if (hosted.queue.durable()) {
    departures_.add(hosted.queue.id(), sequences);
    join_turn();
  } else {
    hosted.queue.apply_settle(sequences, context_.disk);
  }
}

void Shard::bury(HostedQueue& hosted, NumberRange sequences, v1::DeadReason reason) {
  if (!hosted.queue.durable()) {
    hosted.queue.apply_dead(
        {sequences, hosted.queue.next_dead_number(), reason, context_.clock.wall_ms});
    context_.queues.note_dead(hosted);
    return;
  }
  auto dead = std::find_if(dead_.begin(), dead_.end(),
                           [&](const DeadTurn& turn) { return turn.reason == reason; });
  if (dead == dead_.end()) dead = dead_.insert(dead_.end(), {reason, {}});
  dead->messages.add(hosted.queue.id(), sequences);
  join_turn();
}

Queue::Next Shard::next(HostedQueue& hosted, std::uint32_t max_count) {
  const std::int64_t now_ms = context_.clock.wall_ms;
  Queue::Next next = hosted.queue.next(max_count, now_ms);
  while (next.wait == Queue::Wait::kExpired) {
    hosted.queue.take_expired(next.run);
    depart(hosted, {next.run.first.value, next.run.last().value}, Departure::kExpired);
    next = hosted.queue.next(max_count, now_ms);
  }
  return next;
}

Queue::Next Shard::next_at(HostedQueue& hosted, Sequence sequence, std::uint32_t max_count) {
  Queue::Next next = hosted.queue.next_at(sequence, max_count, context_.clock.wall_ms);
  if (next.wait != Queue::Wait::kExpired) return next;
  hosted.queue.take_expired(next.run);
  depart(hosted, {next.run.first.value, next.run.last().value}, Departure::kExpired);
  return {};
}

void Shard::expire(HostedQueue& hosted, const std::vector<NumberRange>& found) {
  if (found.empty()) return;
  for (const NumberRange& range : hosted.queue.take_expired(found)) {
    depart(hosted, range, Departure::kExpired);
  }
  context_.queues.note_memory(hosted);
}

void Shard::requeue(HostedQueue& hosted, NumberRange sequences, std::int64_t rest_ms) {
  // Others of its group must not pass a message.
  if (hosted.groups) rest_ms = 0;
  const auto& limit = hosted.settings.delivery_limit;
  const RetryBackOff& retry = hosted.settings.retry;
  const bool backs_off = rest_ms == 0 && retry.any() && !hosted.groups;
  if (!limit && !backs_off) return back_to_places(hosted, sequences, rest_ms);
  const auto count_at = [&](std::uint64_t sequence) {
    return hosted.queue.delivery_count(Sequence{sequence});
  };
  for (std::uint64_t at = sequences.first; at <= sequences.last;) {
    const std::uint32_t count = count_at(at);
    std::uint64_t end = at + 1;
    while (end <= sequences.last && count_at(end) == count) ++end;
    if (limit && count >= *limit) {
      hosted.queue.count_settled(end - at);
      depart(hosted, {at, end - 1}, Departure::kDeliveryLimit);
    } else {
      back_to_places(hosted, {at, end - 1}, backs_off ? retry.rest_ms(count) : rest_ms);
    }
    at = end;
  }
}

void Shard::back_to_places(HostedQueue& hosted, NumberRange sequences, std::int64_t rest_ms) {
  const bool logged = hosted.queue.durable();
  if (!logged) hosted.queue.apply_requeue(sequences);
  if (rest_ms > 0) {
    hosted.queue.rest(sequences, !logged, context_.clock.now + std::chrono::milliseconds(rest_ms));
    context_.queues.note_resting(hosted);
  } else {
    hosted.queue.make_ready(sequences, !logged);
    note_back(hosted, {&sequences, 1});
  }
  if (!logged) return;
  requeues_.add(hosted.queue.id(), sequences);
  join_turn();
}

void Shard::end_rest(HostedQueue& hosted) {
  const std::vector<NumberRange> ended = hosted.queue.end_rest(context_.clock.now);
  if (!ended.empty()) note_back(hosted, ended);
}

void Shard::note_back(HostedQueue& hosted, std::span<const NumberRange> ranges) {
  if (hosted.groups) {
    for (const NumberRange& range : ranges) hosted.groups->come_back(range);
  }
  context_.queues.note_expiring(hosted);
  context_.queues.note_length(hosted);
  context_.queues.wake(hosted);
}

void Shard::propose_dead(DeadTurn& dead) {
  for (auto& piece : dead.messages.take(kMaxDeadRanges)) {
    DeadLetterCommand command;
    command.time_ms = context_.clock.wall_ms;
    command.reason = dead.reason;
    for (QueueRanges& part : piece) {
      HostedQueue* hosted = context_.queues.find(part.queue);
      if (hosted == nullptr) continue;  // deleted in this turn
      const std::uint64_t first = hosted->queue.next_dead_number();
      std::uint64_t next = first;
      for (const NumberRange& range : part.sequences) next += range.count();
      hosted->queue.set_next_dead_number(next);
      command.queues.push_back({part.queue, first, std::move(part.sequences)});
    }
    if (command.queues.empty()) continue;
    ShardCommand proposed(std::move(command));
    // Synced whatever the queue asks for: a number that others have seen must not be given again.
    if (propose(proposed, {}, true, true)) continue;
    // No room, not even in the reserve: tried again with the next tick.
    for (DeadRanges& part : std::get<DeadLetterCommand>(proposed).queues) {
      context_.queues.find(part.queue)->queue.set_next_dead_number(part.first_number);
      for (const NumberRange& range : part.sequences) dead.messages.add(part.queue, range);
    }
  }
}

void Shard::apply(const DeadLetterCommand& command, bool live) {
  for (const DeadRanges& part : command.queues) {
    HostedQueue* hosted = find_for_apply(part.queue, live);
    if (hosted == nullptr) continue;
    std::uint64_t number = part.first_number;
    for (const NumberRange& range : part.sequences) {
      hosted->queue.apply_dead({range, number, command.reason, command.time_ms});
      number += range.count();
    }
    context_.queues.note_memory(*hosted);
    if (live) context_.queues.note_dead(*hosted);
  }
}

}  // namespace segue::node
