#include "node/shard_commands.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "common/expiry.h"
#include "segue/v1/shard_log.pb.h"

namespace segue::node {

namespace {

constexpr std::uint64_t kHighest = std::numeric_limits<std::uint64_t>::max() - 1;

Status bad(const std::string& text) {
  return Status(Code::kCorruption, "shard command: " + text);
}

template <typename Ranges>
void write_ranges(const std::vector<NumberRange>& ranges, Ranges* out) {
  out->Reserve(static_cast<int>(ranges.size()));
  for (const NumberRange& range : ranges) {
    v1::Range& to = *out->Add();
    to.set_first(range.first);
    to.set_last(range.last);
  }
}

template <typename Ranges>
Status read_ranges(const Ranges& from, std::vector<NumberRange>* ranges) {
  ranges->reserve(static_cast<std::size_t>(from.size()));
  for (const v1::Range& range : from) {
    if (range.first() > range.last() || range.last() > kHighest) {
      return bad("range " + std::to_string(range.first()) + ".." + std::to_string(range.last()));
    }
    ranges->push_back({range.first(), range.last()});
  }
  return {};
}

void write_queue(const QueueRanges& queue, v1::QueueSequences& place) {
  place.set_queue_id(queue.queue.value);
  write_ranges(queue.sequences, place.mutable_sequences());
}

void write(const EnqueueCommand& command, v1::ShardCommand& out) {
  const bool ends_delay = !command.taken.sequences.empty();
  if (ends_delay) write_queue(command.taken, *out.mutable_delay_end()->mutable_from());
  v1::EnqueueCommand& to =
      ends_delay ? *out.mutable_delay_end()->mutable_enqueue() : *out.mutable_enqueue();
  to.set_time_ms(command.time_ms);
  to.set_producer_id(command.producer_id);
  to.set_producer_session(command.producer_session);
  to.set_settled_below(command.settled_below);
  write_ranges(command.seqs, to.mutable_seqs());
  for (const EnqueueTarget& target : command.targets) {
    v1::EnqueueTarget& place = *to.add_targets();
    place.set_queue_id(target.queue.value);
    place.set_first_sequence(target.first.value);
    place.mutable_messages()->Add(target.places.begin(), target.places.end());
    place.set_delivery_mark(target.mark.value);
    if (target.dedupe.any()) {
      place.set_dedupe_window_ms(target.dedupe.window_ms);
      place.set_dedupe_max(target.dedupe.max_entries);
    }
    place.set_first_dead_number(target.first_dead_number);
  }
  if (!command.batch) return;
  const SharedBytes& batch = command.batch->serialized();
  to.set_batch(batch.data(), batch.size());
}

template <typename Proto>
void write_queues(const std::vector<QueueRanges>& queues, Proto& to) {
  for (const QueueRanges& queue : queues) write_queue(queue, *to.add_queues());
}

Status read_queue(const v1::QueueSequences& from, QueueRanges* queue) {
  queue->queue = QueueId{from.queue_id()};
  SEGUE_RETURN_IF_ERROR(read_ranges(from.sequences(), &queue->sequences));
  for (const NumberRange& range : queue->sequences) {
    if (range.first == 0) return bad("sequence 0");
  }
  return {};
}

template <typename Proto>
Status read_queues(const Proto& from, std::vector<QueueRanges>* queues) {
  for (const v1::QueueSequences& queue : from.queues()) {
    queues->emplace_back();
    SEGUE_RETURN_IF_ERROR(read_queue(queue, &queues->back()));
  }
  return {};
}

void write(const DeadLetterCommand& command, v1::DeadLetterCommand& to) {
  to.set_time_ms(command.time_ms);
  to.set_reason(command.reason);
  for (const DeadRanges& queue : command.queues) {
    v1::DeadSequences& place = *to.add_queues();
    place.set_queue_id(queue.queue.value);
    place.set_first_number(queue.first_number);
    write_ranges(queue.sequences, place.mutable_sequences());
  }
}

Result<ShardCommand> read_dead_letters(const v1::DeadLetterCommand& from) {
  DeadLetterCommand command;
  command.time_ms = from.time_ms();
  command.reason = from.reason();
  if (from.reason() < v1::DEAD_REASON_REJECTED || from.reason() > v1::DEAD_REASON_DELIVERY_LIMIT) {
    return bad("dead letters for the reason " + std::to_string(from.reason()));
  }
  for (const v1::DeadSequences& queue : from.queues()) {
    command.queues.push_back({QueueId{queue.queue_id()}, queue.first_number(), {}});
    DeadRanges& dead = command.queues.back();
    SEGUE_RETURN_IF_ERROR(read_ranges(queue.sequences(), &dead.sequences));
    std::uint64_t room = kHighest - std::min(queue.first_number(), kHighest);
    for (const NumberRange& range : dead.sequences) {
      if (range.first == 0) return bad("sequence 0");
      if (range.count() > room) return bad("dead-letter numbers that are too high");
      room -= range.count();
    }
    if (queue.first_number() == 0) return bad("dead-letter number 0");
  }
  return ShardCommand(std::move(command));
}

Status read_target(const v1::EnqueueTarget& from, std::uint32_t count, EnqueueTarget* to) {
  to->queue = QueueId{from.queue_id()};
  to->first = Sequence{from.first_sequence()};
  to->mark = Sequence{from.delivery_mark()};
  if (from.dedupe_window_ms() < 0 || from.dedupe_window_ms() > kMaxExpirationMs) {
    return bad("a deduplication window of " + std::to_string(from.dedupe_window_ms()) + " ms");
  }
  to->dedupe = {from.dedupe_window_ms(), from.dedupe_max()};
  to->places.assign(from.messages().begin(), from.messages().end());
  to->first_dead_number = from.first_dead_number();
  if (to->first_dead_number > kHighest - count) return bad("dead-letter numbers that are too high");
  if (from.first_sequence() == 0 || from.first_sequence() > kHighest - count) {
    return bad("first sequence " + std::to_string(from.first_sequence()));
  }
  std::uint32_t lowest = 0;
  for (const std::uint32_t place : to->places) {
    if (place < lowest || place >= count) {
      return bad("place " + std::to_string(place) + " in a batch of " + std::to_string(count));
    }
    lowest = place + 1;
  }
  return {};
}

Result<ShardCommand> read_enqueue(v1::EnqueueCommand& from, SharedBytes bodies,
                                  QueueRanges taken = {}) {
  EnqueueCommand command;
  command.taken = std::move(taken);
  if (!from.targets().empty() || !from.batch().empty()) {
    auto batch =
        MessageBatch::parse(SharedBytes::from(std::move(*from.mutable_batch())), std::move(bodies));
    if (!batch) return bad(batch.status().message());
    command.batch = std::move(*batch);
  }
  command.time_ms = from.time_ms();
  command.producer_id = std::move(*from.mutable_producer_id());
  command.producer_session = from.producer_session();
  command.settled_below = from.settled_below();
  SEGUE_RETURN_IF_ERROR(read_ranges(from.seqs(), &command.seqs));
  for (const v1::EnqueueTarget& target : from.targets()) {
    command.targets.emplace_back();
    SEGUE_RETURN_IF_ERROR(read_target(target, command.batch->count(), &command.targets.back()));
  }
  return ShardCommand(std::move(command));
}

}  // namespace

std::string encode_command(const ShardCommand& command) {
  v1::ShardCommand out;
  if (const auto* enqueue = std::get_if<EnqueueCommand>(&command)) {
    write(*enqueue, out);
  } else if (const auto* settle = std::get_if<SettleCommand>(&command)) {
    write_queues(settle->queues, *out.mutable_settle());
  } else if (const auto* requeue = std::get_if<RequeueCommand>(&command)) {
    write_queues(requeue->queues, *out.mutable_requeue());
  } else if (const auto* remove = std::get_if<DeleteQueueCommand>(&command)) {
    out.mutable_delete_queue()->set_queue_id(remove->queue.value);
  } else if (const auto* dead = std::get_if<DeadLetterCommand>(&command)) {
    write(*dead, *out.mutable_dead_letter());
  } else {
    const auto& mark = std::get<DeliveryMarkCommand>(command);
    out.mutable_delivery_mark()->set_queue_id(mark.queue.value);
    out.mutable_delivery_mark()->set_sequence(mark.mark.value);
  }
  return out.SerializeAsString();
}

Result<ShardCommand> decode_command(const SharedBytes& command, SharedBytes bodies) {
  v1::ShardCommand from;
  if (command.size() > std::numeric_limits<std::int32_t>::max() ||
      !from.ParseFromArray(command.data(), static_cast<int>(command.size()))) {
    return bad("not a ShardCommand");
  }
  switch (from.kind_case()) {
    case v1::ShardCommand::kDelayEnd: {
      QueueRanges taken;
      SEGUE_RETURN_IF_ERROR(read_queue(from.delay_end().from(), &taken));
      if (taken.sequences.empty()) return bad("the end of a delay of no message");
      return read_enqueue(*from.mutable_delay_end()->mutable_enqueue(), std::move(bodies),
                          std::move(taken));
    }
    case v1::ShardCommand::kEnqueue:
      return read_enqueue(*from.mutable_enqueue(), std::move(bodies));
    case v1::ShardCommand::kSettle: {
      SettleCommand settle;
      SEGUE_RETURN_IF_ERROR(read_queues(from.settle(), &settle.queues));
      return ShardCommand(std::move(settle));
    }
    case v1::ShardCommand::kRequeue: {
      RequeueCommand requeue;
      SEGUE_RETURN_IF_ERROR(read_queues(from.requeue(), &requeue.queues));
      return ShardCommand(std::move(requeue));
    }
    case v1::ShardCommand::kDeleteQueue:
      return ShardCommand(DeleteQueueCommand{QueueId{from.delete_queue().queue_id()}});
    case v1::ShardCommand::kDeliveryMark:
      return ShardCommand(DeliveryMarkCommand{QueueId{from.delivery_mark().queue_id()},
                                              Sequence{from.delivery_mark().sequence()}});
    case v1::ShardCommand::kDeadLetter:
      return read_dead_letters(from.dead_letter());
    case v1::ShardCommand::KIND_NOT_SET:
      break;
  }
  return bad("of a kind that this version does not know");
}

}  // namespace segue::node
