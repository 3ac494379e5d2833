#include "node/shard.h"

#include <algorithm>
#include <utility>

#include "node/local_log.h"
#include "node/missing_notes.h"

namespace segue::node {

namespace {

/// A command of more ranges is cut: it must fit into a record, and not hold up the log.
constexpr std::size_t kMaxRanges = 50'000;
/// With and without delayed messages and dead letters: a version that knows nothing of them must
/// not drop them, or take them for ready.
constexpr std::uint32_t kStateVersion = 3;
constexpr std::uint32_t kVersionWithoutDelays = 2;
constexpr std::uint32_t kVersionWithoutDead = 1;
/// With deduplication windows: a version that knows nothing of them would let repeats in.
constexpr std::uint32_t kVersionWithDedupe = 4;

Status bad_state(ShardId shard, const std::string& text) {
  return Status(Code::kCorruption,
                "checkpoint of shard " + std::to_string(shard.value) + ": " + text);
}

}  // namespace

// ---- start

Status Shard::restore(const storage::RecoveredShard& recovered) {
  applied_ = checkpointed_ = recovered.applied;
  for (const storage::MissingSegment& segment : recovered.missing) context_.missing.add(segment);
  for (const storage::StoredQueue& stored : recovered.queues) {
    add_queue(stored.id).queue.restore_stored(stored);
  }
  if (recovered.state.empty()) return {};
  v1::ShardState state;
  if (!state.ParseFromString(recovered.state)) return bad_state(id_, "not a ShardState");
  if (state.version() < kVersionWithoutDead || state.version() > kVersionWithDedupe) {
    return bad_state(id_, "version " + std::to_string(state.version()) +
                              " was written by a newer Segue; this one reads version " +
                              std::to_string(kVersionWithDedupe));
  }
  for (const v1::QueueState& queue : state.queues()) {
    if (queue.next_sequence() == 0) return bad_state(id_, "a queue's next sequence is 0");
    for (const v1::CountedRange& range : queue.delivery_counts()) {
      if (range.first() > range.last()) return bad_state(id_, "a range of counts is turned round");
    }
    for (const v1::DeadRange& range : queue.dead()) {
      if (range.first_sequence() > range.last_sequence() || range.first_number() == 0) {
        return bad_state(id_, "a range of dead letters makes no sense");
      }
    }
    HostedQueue& hosted = add_queue(QueueId{queue.queue_id()});
    hosted.queue.restore(queue);
    if (!queue.has_dedupe()) continue;
    if (const Status status = make_dedupe(hosted).restore(queue.dedupe()); !status) {
      return bad_state(id_, status.message());
    }
  }
  for (const v1::ProducerState& producer : state.producers()) {
    for (const v1::Range& range : producer.enqueued()) {
      if (range.first() > range.last()) return bad_state(id_, "a range of seqs is turned round");
    }
  }
  dedupe_.restore(state);
  return {};
}

Status Shard::replay(const storage::ReplayedRecord& record) {
  if (record.index <= applied_) return {};
  // The bodies are copied out of the log's file, which goes when it is read.
  auto command = decode_command(
      record.command,
      context_.memory.track(SharedBytes::from(std::string(record.bodies.view())), 512));
  if (!command) {
    return Status(command.status().code(), "record " + std::to_string(record.index.value) +
                                               " of shard " + std::to_string(id_.value) + ": " +
                                               command.status().message());
  }
  if (!context_.missing.empty()) note_in_log(*command, context_.missing);
  apply(*command, false);
  applied_ = record.index;
  return {};
}

void Shard::start(LogIndex end) {
  applied_ = std::max(applied_, end);
  log_ = std::make_unique<LocalLog>(context_.disk, id_, applied_);
  for (std::size_t i = 0; i < queues_.size(); ++i) {
    Queue& queue = queues_[i].queue;
    queue.finish_replay(context_.disk.stored(queue.id()));
    if (!queue.dead().empty()) context_.queues.note_dead(queues_[i]);
    context_.queues.note_expiring(queues_[i]);
    if (queues_[i].schedule && queue.ready() > 0) {
      queues_[i].schedule->forget();
      context_.queues.note_delay(queues_[i]);
    }
  }
}

// ---- leading

HostedQueue& Shard::add_queue(QueueId queue) {
  HostedQueue& hosted = context_.queues.find_or_add(queue, id_);
  queues_.add(hosted);
  return hosted;
}

void Shard::define(HostedQueue& queue, const std::string& name, QueueDurability durability,
                   bool auto_delete) {
  Queue& messages = queue.queue;
  const bool first_time = !messages.defined();
  messages.define(name, durability, auto_delete);
  if (first_time && !messages.durable() && messages.applied_through() > Sequence{0}) {
    // What a transient queue had spilled before the restart.
    context_.disk.drop_queue(messages.id());
    messages.start_empty();
    if (queue.schedule) queue.schedule->clear();
  }
  if (queue.schedule) {
    context_.queues.note_delay(queue);
    return define_files(queue, first_time);
  }
  define_dedupe(queue, first_time);
  messages.set_ttl(queue.settings.ttl_ms, context_.clock.wall_ms);
  if (queue.settings.message_groups && queue.whole == nullptr && !queue.groups) {
    queue.groups = std::make_unique<MessageGroups>(context_.memory);
    messages.set_by_number();
  }
  if (messages.ready() > 0) context_.queues.note_expiring(queue);
  messages.count_ready_bytes(queue.settings.limits.counts_bytes() ? &context_.disk : nullptr);
  define_files(queue, first_time);
  if (queue.whole != nullptr) return;
  if (HostedQueue* lane = context_.queues.find(delay_lane_id(messages.id()))) {
    join_lane(queue, *lane);
  }
  for (int priority = queue.settings.max_priority; priority > 0; --priority) {
    HostedQueue* lane =
        context_.queues.find(lane_id(queue.queue.id(), static_cast<std::uint8_t>(priority)));
    if (lane == nullptr) continue;
    join_lane(queue, *lane);
  }
  context_.queues.note_length(queue);
}

void Shard::define_files(const HostedQueue& queue, bool first_time) {
  if (first_time && queue.settings.gc.empty()) return;
  context_.disk.set_gc(queue.queue.id(), queue.settings.gc);
}

HostedQueue& Shard::add_lane(HostedQueue& queue, std::uint8_t priority) {
  if (priority == 0) return queue;
  const QueueId id = lane_id(queue.queue.id(), priority);
  if (HostedQueue* lane = context_.queues.find(id)) return *lane;
  HostedQueue& lane = add_queue(id);
  join_lane(queue, lane);
  return lane;
}

void Shard::join_lane(HostedQueue& queue, HostedQueue& lane) {
  context_.queues.join(queue, lane);
  lane.settings = queue.settings;
  define(lane, queue.queue.name(), queue.queue.durability(), false);
}

void Shard::remove_queue(HostedQueue& hosted) {
  for (HostedQueue* lane : std::vector<HostedQueue*>(hosted.lanes)) remove_queue(*lane);
  if (hosted.delay_lane != nullptr) remove_queue(*hosted.delay_lane);
  const QueueId id = hosted.queue.id();
  const bool logged = hosted.queue.durable();
  forget_queue(hosted);
  if (!logged || !log_) return;
  // If this fails, the queue is dropped after the next restart, when the catalog does not name it.
  ShardCommand command(DeleteQueueCommand{id});
  if (const Status status = propose(command, {}, false, true); !status) {
    context_.log.warn("queue_deletion_not_logged", {{"queue", id}, {"reason", status}});
  }
}

void Shard::forget_queue(HostedQueue& hosted) {
  queues_.remove(hosted);
  unstored_.remove(hosted);
  context_.disk.drop_queue(hosted.queue.id());
  context_.queues.erase(hosted);
}

void Shard::release(HostedQueue& hosted, NumberRange sequences) {
  hosted.queue.make_released_ready(sequences);
  if (hosted.groups) hosted.groups->come_back(sequences);
  context_.queues.note_expiring(hosted);
  context_.queues.note_length(hosted);
  context_.queues.wake(hosted);
}

void Shard::answer_after_departures(Answer after, bool sync) {
  if (!has_waiting() && pending_.empty()) return answer(after);
  departure_answers_.push_back(std::move(after));
  departures_sync_ = departures_sync_ || sync;
  join_turn();
}

void Shard::join_turn() {
  if (in_turn_) return;
  in_turn_ = true;
  context_.in_turn.push_back(this);
}

void Shard::propose_mark(HostedQueue& hosted) {
  const auto mark = hosted.queue.wanted_mark();
  if (!mark) return;
  ShardCommand command(DeliveryMarkCommand{hosted.queue.id(), *mark});
  if (propose(command, {}, true, true)) {
    hosted.queue.set_proposed_mark(*mark);
  } else {
    unmarked_.push_back(hosted.queue.id());
  }
}

void Shard::on_tick() {
  for (const QueueId id : std::exchange(unmarked_, {})) {
    if (HostedQueue* hosted = context_.queues.find(id)) context_.queues.wake(*hosted);
  }
  if (has_waiting() || !departure_answers_.empty()) join_turn();
}

void Shard::end_turn() {
  in_turn_ = false;
  // Requeues first: what was requeued and delivered again may have departed in the same turn.
  if (!requeues_.empty()) propose_pieces(requeues_, false);
  if (requeues_.empty() && !departures_.empty()) propose_pieces(departures_, true);
  if (requeues_.empty() && !dead_.empty()) {
    for (DeadTurn& dead : dead_) propose_dead(dead);
    std::erase_if(dead_, [](const DeadTurn& dead) { return dead.messages.empty(); });
  }
  if (has_waiting()) return;
  departures_sync_ = false;
  if (departure_answers_.empty()) return;
  // Answers to departures of earlier turns wait for what is on its way.
  for (Answer& waiting : departure_answers_) {
    if (pending_.empty()) {
      answer(waiting);
    } else {
      pending_.back().answers.push_back(std::move(waiting));
    }
  }
  departure_answers_.clear();
}

void Shard::propose_pieces(TurnSettles& from, bool departures) {
  for (auto& piece : from.take(kMaxRanges)) {
    ShardCommand command;
    if (departures) {
      command = SettleCommand{std::move(piece)};
    } else {
      command = RequeueCommand{std::move(piece)};
    }
    if (propose(command, {}, departures && departures_sync_, true)) continue;
    // Not even the reserve has room: tried again with the next tick, nothing is lost meanwhile.
    from.put_back(departures ? std::move(std::get<SettleCommand>(command).queues)
                             : std::move(std::get<RequeueCommand>(command).queues));
  }
  if (departures && from.empty()) departures_sync_ = false;
}

Status Shard::propose(ShardCommand& command, std::vector<Answer>&& answers, bool sync,
                      bool drains) {
  Proposal proposal;
  proposal.command = encode_command(command);
  if (const auto* enqueue = std::get_if<EnqueueCommand>(&command); enqueue && enqueue->batch) {
    proposal.bodies.push_back(enqueue->batch->bodies());
  }
  proposal.sync = sync;
  proposal.drains = drains;
  auto index = log_->propose(std::move(proposal));
  if (!index) return index.status();
  pending_.push_back({*index, std::move(command), std::move(answers)});
  return {};
}

// ---- applying

void Shard::on_committed(LogIndex index) {
  while (!pending_.empty() && pending_.front().index <= index) {
    Pending done = std::move(pending_.front());
    pending_.pop_front();
    apply(done.command, true);
    applied_ = done.index;
    for (Answer& waiting : done.answers) answer(waiting);
  }
}

void Shard::apply(const ShardCommand& command, bool live) {
  if (const auto* enqueue = std::get_if<EnqueueCommand>(&command)) return apply(*enqueue, live);
  if (const auto* settle = std::get_if<SettleCommand>(&command)) return apply(*settle);
  if (const auto* requeue = std::get_if<RequeueCommand>(&command)) return apply(*requeue, live);
  if (const auto* dead = std::get_if<DeadLetterCommand>(&command)) return apply(*dead, live);
  if (const auto* mark = std::get_if<DeliveryMarkCommand>(&command)) {
    if (HostedQueue* hosted = find_for_apply(mark->queue, live)) {
      hosted->queue.apply_mark(mark->mark);
      context_.queues.wake(*hosted);
    }
    return;
  }
  // A deletion: live, the queue went when it was proposed.
  HostedQueue* hosted = context_.queues.find(std::get<DeleteQueueCommand>(command).queue);
  if (!live && hosted != nullptr) forget_queue(*hosted);
}

HostedQueue* Shard::find_for_apply(QueueId queue, bool live) {
  HostedQueue* hosted = context_.queues.find(queue);
  // At a replay the catalog has not named the queues yet; live, a queue that is not there is gone.
  if (hosted == nullptr && !live) return &add_queue(queue);
  return hosted;
}

void Shard::apply(const EnqueueCommand& command, bool live) {
  for (const EnqueueTarget& target : command.targets) {
    HostedQueue* hosted = find_for_apply(target.queue, live);
    if (hosted == nullptr) continue;
    unstored_.add(*hosted);
    if (target.first_dead_number > 0) {
      hosted->queue.apply_enqueue_dead(target.first, command.batch, target.places, command.time_ms,
                                       target.first_dead_number);
      if (live) hosted->queue.end_proposed_dead(target.count(*command.batch));
      if (live) context_.queues.note_dead(*hosted);
      context_.queues.note_memory(*hosted);
      continue;
    }
    hosted->queue.apply_enqueue(target.first, command.batch, target.places, command.time_ms);
    if (live && hosted->schedule) {
      note_delayed(*hosted, target.first, *command.batch, target.places, command.time_ms);
    }
    if (live && hosted->settings.limits.counts_bytes()) {
      hosted->queue.end_proposed_bytes(body_bytes_at(*command.batch, target.places));
    }
    context_.queues.note_expiring(*hosted);
    context_.queues.note_length(*hosted);
    if (target.mark > Sequence{0}) hosted->queue.apply_mark(target.mark);
    context_.queues.note_memory(*hosted);
    context_.queues.wake(*hosted);
  }
  remember_ids(command, live);
  if (!command.taken.sequences.empty()) apply_taken(command.taken, live);
  if (!command.producer_id.empty()) {
    dedupe_.apply(command.producer_id, command.producer_session, command.settled_below,
                  command.seqs, command.time_ms);
  }
}

void Shard::apply_taken(const QueueRanges& taken, bool live) {
  HostedQueue* const lane = context_.queues.find(taken.queue);
  if (lane == nullptr) return;
  for (const NumberRange& range : taken.sequences) lane->queue.apply_settle(range, context_.disk);
  if (live) context_.queues.note_delay(*lane);
}

void Shard::apply(const SettleCommand& command) {
  for (const QueueRanges& part : command.queues) {
    HostedQueue* hosted = context_.queues.find(part.queue);
    if (hosted == nullptr) continue;
    for (const NumberRange& range : part.sequences) {
      hosted->queue.apply_settle(range, context_.disk);
    }
  }
}

void Shard::apply(const RequeueCommand& command, bool live) {
  for (const QueueRanges& part : command.queues) {
    HostedQueue* hosted = context_.queues.find(part.queue);
    if (hosted == nullptr) continue;
    for (const NumberRange& range : part.sequences) {
      hosted->queue.apply_requeue(range);
      if (live) hosted->queue.forget_proposed_count(range);
    }
    context_.queues.note_memory(*hosted);
  }
}

void Shard::answer(Answer& given) {
  if (auto* confirm = std::get_if<ConfirmAnswer>(&given)) {
    v1::ShardConfirm message;
    message.set_batch_id(confirm->batch_id);
    message.set_durability(confirm->durability);
    for (v1::QueueRefusal& refusal : confirm->refusals) {
      *message.add_refusals() = std::move(refusal);
    }
    context_.output.confirm(confirm->peer, std::move(message));
  } else if (auto* event = std::get_if<std::shared_ptr<EventAnswer>>(&given)) {
    EventAnswer& joint = **event;
    if (--joint.waits_for == 0) {
      context_.output.consumer_event(joint.peer, std::move(joint.event));
    }
  } else {
    auto& reply = std::get<QueueAnswer>(given);
    context_.output.queue_reply(reply.peer, std::move(reply.reply), {});
  }
}

// ---- checkpoints

std::string Shard::state_blob() const {
  v1::ShardState state;
  state.set_version(kVersionWithoutDead);
  for (std::size_t i = 0; i < queues_.size(); ++i) {
    const Queue& queue = queues_[i].queue;
    v1::QueueState saved;
    const DedupeWindow* const window = queues_[i].dedupe.get();
    if (!queue.durable() || (!queue.save(saved) && window == nullptr)) continue;
    const std::uint32_t needs = queues_[i].schedule            ? kStateVersion
                                : saved.next_dead_letter() > 0 ? kVersionWithoutDelays
                                                               : kVersionWithoutDead;
    state.set_version(std::max(state.version(), needs));
    if (window != nullptr) {
      // Of a queue with priorities, also when it never had a message of priority 0.
      saved.set_queue_id(queue.id().value);
      saved.set_next_sequence(queue.applied_through().value + 1);
      window->save(*saved.mutable_dedupe());
      state.set_version(kVersionWithDedupe);
    }
    *state.add_queues() = std::move(saved);
  }
  dedupe_.save(state);
  return state.SerializeAsString();
}

}  // namespace segue::node
