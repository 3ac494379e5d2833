// How a shard takes a publish (class Shard).
#include <algorithm>
#include <string>
#include <utility>

#include "node/message_priorities.h"
#include "node/shard.h"
#include "node/status_error.h"

namespace segue::node {

namespace {

/// With fewer messages before them than this, new messages carry their delivery mark themselves.
constexpr std::uint64_t kMarkedBacklog = 10'000;

v1::Durability weaker(v1::Durability one, QueueDurability other) {
  const auto level = other == QueueDurability::kSync       ? v1::DURABILITY_SYNC
                     : other == QueueDurability::kInterval ? v1::DURABILITY_INTERVAL
                                                           : v1::DURABILITY_TRANSIENT;
  return std::max(one, level);
}

std::vector<std::uint64_t> all_seqs(const CheckedPublish& checked) {
  if (!checked.listed_seqs.empty()) return checked.listed_seqs;
  std::vector<std::uint64_t> seqs(checked.batch->count());
  for (std::size_t i = 0; i < seqs.size(); ++i) seqs[i] = checked.seqs.first + i;
  return seqs;
}

}  // namespace

void Shard::refuse(PeerId peer, std::uint64_t batch_id, const Status& status) {
  v1::ShardConfirm confirm;
  confirm.set_batch_id(batch_id);
  *confirm.mutable_error() = status_error(status);
  context_.output.confirm(peer, std::move(confirm));
}

void Shard::publish(PeerId peer, const v1::ShardPublish& publish, SharedBytes bodies) {
  auto checked = check_publish(publish, std::move(bodies), context_.memory);
  if (!checked) return refuse(peer, publish.batch_id(), checked.status());
  Work work;
  work.checked = std::move(*checked);
  if (const Status status = sort_out(publish, work); !status) {
    work.command.batch = work.checked.batch;
    unstamp(work.command);
    return refuse(peer, publish.batch_id(), status);
  }
  const bool waits = !work.command.targets.empty() || work.any_known || !work.duplicates.empty();
  if (!part_refusals_.empty()) repeat_refusals(publish, work);
  const ConfirmAnswer confirm{peer, publish.batch_id(), work.durability, work.refusals};
  if (const Status status = enqueue(publish, work); !status) {
    return refuse(peer, publish.batch_id(), status);
  }
  // What came before may still be on its way to the disk: then the confirm waits for it.
  if (waits && !pending_.empty()) {
    pending_.back().answers.emplace_back(confirm);
  } else {
    Answer now(confirm);
    answer(now);
  }
}

Status Shard::sort_out(const v1::ShardPublish& publish, Work& work) {
  const CheckedPublish& checked = work.checked;
  const std::string& producer = publish.producer_id();
  work.ids_count = producer.size() <= ProducerDedupe::kLongestClientId;
  if (!producer.empty()) {
    SEGUE_RETURN_IF_ERROR(dedupe_.check_session(producer, publish.producer_session()));
    part_refusals_.forget_below(producer, publish.settled_below());
    if (!dedupe_.all_fresh(producer, publish.settled_below(), checked.seqs)) {
      dedupe_.find_fresh(producer, publish.settled_below(), all_seqs(checked), work.fresh);
      work.any_fresh = !work.fresh.empty();
      work.any_known = work.fresh.size() < checked.batch->count();
      if (!work.any_known) work.fresh.clear();
    }
  }
  for (const v1::QueueTarget& target : publish.targets()) {
    SEGUE_RETURN_IF_ERROR(add_target(target, work));
  }
  return {};
}

Status Shard::add_target(const v1::QueueTarget& target, Work& work) {
  HostedQueue* hosted = context_.queues.find_queue(QueueId{target.queue_id()});
  if (hosted == nullptr || !hosted->queue.defined()) return {};  // deleted meanwhile
  Queue& queue = hosted->queue;
  if (queue.shard() != id_) {
    return Status(Code::kFrameError, "publish: queue " + std::to_string(target.queue_id()) +
                                         " is on shard " + std::to_string(queue.shard().value) +
                                         ", not on shard " + std::to_string(id_.value));
  }
  work.durability = weaker(work.durability, queue.durability());
  if (!work.any_fresh) return {};
  std::vector<std::uint32_t> places;
  if (work.any_known) {
    places = fresh_places(target, work.fresh);
    if (places.empty()) return {};
  } else {
    places.assign(target.messages().begin(), target.messages().end());
  }
  if (leave_out(*hosted, places, work)) add_to_queue(*hosted, std::move(places), work);
  return {};
}

void Shard::add_to_queue(HostedQueue& hosted, std::vector<std::uint32_t> places, Work& work,
                         bool dead) {
  if (hosted.settings.max_priority == 0) return add_places(hosted, std::move(places), work, dead);
  for (PriorityPlaces& part :
       by_priority(*work.checked.batch, std::move(places), hosted.settings.max_priority)) {
    add_places(add_lane(hosted, part.priority), std::move(part.places), work, dead);
  }
}

void Shard::add_places(HostedQueue& hosted, std::vector<std::uint32_t> places, Work& work,
                       bool dead) {
  Queue& queue = hosted.queue;
  if (!queue.durable()) {
    work.transient.push_back({&hosted, std::move(places), dead});
    return;
  }
  if (dead) return add_dead(queue, std::move(places), work);
  if (hosted.settings.limits.counts_bytes()) {
    queue.add_proposed_bytes(body_bytes_at(*work.checked.batch, places));
  }
  EnqueueTarget to{queue.id(), queue.next_sequence(), std::move(places), Sequence{0}};
  const std::uint64_t before =
      queue.ready() + queue.next_sequence().value - 1 - queue.applied_through().value;
  const Sequence next = to.first.next(to.count(*work.checked.batch));
  queue.set_next_sequence(next);
  if (!hosted.schedule && hosted.of_whole().has_consumers() && before < kMarkedBacklog)
    to.mark = Sequence{next.value - 1};
  if (work.ids_count && hosted.of_whole().dedupe) propose_ids(hosted, to, work);
  work.sync = work.sync || queue.durability() == QueueDurability::kSync;
  work.command.targets.push_back(std::move(to));
}

void Shard::add_dead(Queue& queue, std::vector<std::uint32_t> places, Work& work) {
  EnqueueTarget to{queue.id(), queue.next_sequence(), std::move(places), Sequence{0}};
  to.first_dead_number = queue.next_dead_number();
  const std::uint32_t count = to.count(*work.checked.batch);
  queue.set_next_sequence(to.first.next(count));
  queue.set_next_dead_number(to.first_dead_number + count);
  queue.add_proposed_dead(count);
  work.sync = true;  // as for every number of a dead letter
  work.command.targets.push_back(std::move(to));
}

bool Shard::leave_out(HostedQueue& hosted, std::vector<std::uint32_t>& places, Work& work) {
  DedupeFilter filter;
  bool any = true;
  if (hosted.dedupe && work.ids_count) any = leave_out_duplicates(hosted, places, work, filter);
  // What is delayed needs no room yet.
  if (any && work.checked.batch->any_delayed()) any = add_delayed(hosted, places, work);
  if (any && hosted.settings.limits.rejects) any = leave_room(hosted, places, work, filter);
  if (filter.duplicates() > 0) {
    filter.add_duplicates(work.duplicates);
    if (hosted.queue.durable()) {
      work.notes_seqs = true;
      work.sync = work.sync || hosted.queue.durability() == QueueDurability::kSync;
    }
    hosted.dedupe->count_duplicates(filter.duplicates());
  }
  return any;
}

bool Shard::leave_room(HostedQueue& hosted, std::vector<std::uint32_t>& places, Work& work,
                       DedupeFilter& filter) {
  std::vector<std::uint32_t> refused;
  const bool any = refuse_overflow(hosted, *work.checked.batch, places, refused);
  if (refused.empty()) return any;
  filter.add_repeats(refused);
  v1::QueueRefusal& refusal = work.refusals.emplace_back();
  refusal.set_queue_id(hosted.queue.id().value);
  *refusal.mutable_error() = overflow_error(hosted);
  refusal.mutable_messages()->Add(refused.begin(), refused.end());
  // A letter stays where it is, and is sent again until there is room.
  const bool dies = hosted.settings.limits.buries_rejected && hosted.settings.dead_letters;
  if (dies && work.ids_count) add_to_queue(hosted, std::move(refused), work, true);
  return any;
}

void Shard::repeat_refusals(const v1::ShardPublish& publish, Work& work) const {
  if (work.any_fresh && !work.any_known) return;
  const auto seqs = all_seqs(work.checked);
  for (std::uint32_t place = 0; place < seqs.size(); ++place) {
    const auto* const queues = part_refusals_.find(publish.producer_id(), seqs[place]);
    if (queues == nullptr || std::binary_search(work.fresh.begin(), work.fresh.end(), place)) {
      continue;
    }
    for (const QueueId queue : *queues) {
      const HostedQueue* const hosted = context_.queues.find(queue);
      if (hosted == nullptr) continue;  // deleted meanwhile
      v1::QueueRefusal& refusal = work.refusals.emplace_back();
      refusal.set_queue_id(queue.value);
      *refusal.mutable_error() = overflow_error(*hosted);
      refusal.add_messages(place);
    }
  }
}

std::vector<std::uint32_t> Shard::done_places(const Work& work) const {
  std::vector<bool> done(work.checked.batch->count());
  const auto take = [&](const std::vector<std::uint32_t>& places) {
    if (places.empty()) done.assign(done.size(), true);
    for (const std::uint32_t place : places) done[place] = true;
  };
  for (const EnqueueTarget& target : work.command.targets) take(target.places);
  for (const TransientTarget& target : work.transient) take(target.places);
  for (const std::uint32_t place : work.duplicates) done[place] = true;
  std::vector<std::uint32_t> places;
  for (std::uint32_t place = 0; place < done.size(); ++place) {
    if (done[place]) places.push_back(place);
  }
  return places;
}

void Shard::note_part_refusals(const v1::ShardPublish& publish, const Work& work,
                               const std::vector<std::uint32_t>& done) {
  const auto seqs = all_seqs(work.checked);
  for (const v1::QueueRefusal& refusal : work.refusals) {
    for (const std::uint32_t place : refusal.messages()) {
      if (!std::binary_search(done.begin(), done.end(), place)) continue;
      part_refusals_.add(publish.producer_id(), seqs[place], QueueId{refusal.queue_id()});
    }
  }
}

void Shard::unstamp(const EnqueueCommand& command) {
  forget_proposed_ids(command);
  for (auto target = command.targets.rbegin(); target != command.targets.rend(); ++target) {
    if (HostedQueue* queue = context_.queues.find(target->queue)) {
      queue->queue.set_next_sequence(target->first);
      if (target->first_dead_number > 0) {
        queue->queue.set_next_dead_number(target->first_dead_number);
        if (command.batch) queue->queue.end_proposed_dead(target->count(*command.batch));
        continue;
      }
      if (queue->settings.limits.counts_bytes() && command.batch) {
        queue->queue.end_proposed_bytes(body_bytes_at(*command.batch, target->places));
      }
    }
  }
}

Status Shard::enqueue(const v1::ShardPublish& publish, Work& work) {
  const std::string& producer = publish.producer_id();
  const bool logged = !work.command.targets.empty() || (work.notes_seqs && !producer.empty());
  if (!logged && work.transient.empty() && work.duplicates.empty()) return {};
  std::vector<NumberRange> seqs;
  std::vector<std::uint32_t> done;  // when some were refused
  if (!producer.empty() && work.refusals.empty()) {
    seqs = seq_ranges(work.checked, work.fresh);
  } else if (!producer.empty()) {
    done = done_places(work);
    seqs = seq_ranges(work.checked, done);
  }
  if (logged) {
    work.command.seqs = seqs;
    SEGUE_RETURN_IF_ERROR(propose_enqueue(publish, work));
  }
  if (!producer.empty()) {
    dedupe_.propose(producer, publish.producer_session(), seqs);
    note_part_refusals(publish, work, done);
    if (!logged) {
      dedupe_.apply(producer, publish.producer_session(), publish.settled_below(), seqs,
                    context_.clock.wall_ms);
    }
  }
  apply_transient(work);
  return {};
}

void Shard::apply_transient(Work& work) {
  for (const TransientTarget& target : work.transient) {
    Queue& queue = target.queue->queue;
    if (target.dead) {
      bury_transient(target, work);
      continue;
    }
    const Sequence first = queue.next_sequence();
    queue.apply_enqueue(first, work.checked.batch, target.places, context_.clock.wall_ms);
    if (work.ids_count && target.queue->of_whole().dedupe) remember_ids(target, work);
    if (target.queue->schedule) {
      note_delayed(*target.queue, first, *work.checked.batch, target.places,
                   context_.clock.wall_ms);
    }
    context_.queues.note_expiring(*target.queue);
    context_.queues.note_length(*target.queue);
    context_.queues.note_memory(*target.queue);
    context_.queues.wake(*target.queue);
  }
}

void Shard::bury_transient(const TransientTarget& target, const Work& work) {
  Queue& queue = target.queue->queue;
  queue.apply_enqueue_dead(queue.next_sequence(), work.checked.batch, target.places,
                           context_.clock.wall_ms, queue.next_dead_number());
  context_.queues.note_dead(*target.queue);
  context_.queues.note_memory(*target.queue);
}

Status Shard::propose_enqueue(const v1::ShardPublish& publish, Work& work) {
  EnqueueCommand& command = work.command;
  command.time_ms = context_.clock.wall_ms;
  command.producer_id = publish.producer_id();
  command.producer_session = publish.producer_session();
  command.settled_below = publish.settled_below();
  if (!command.targets.empty()) command.batch = work.checked.batch;
  ShardCommand proposed(std::move(command));
  if (const Status status = propose(proposed, {}, work.sync, false); !status) {
    unstamp(std::get<EnqueueCommand>(proposed));
    if (status.code() != Code::kNoSpace) return status;
    context_.gate.log_is_short();
    return Status(Code::kShardBlocked, "shard " + std::to_string(id_.value) +
                                           " takes no publishes: " + context_.gate.reason());
  }
  note_marks();
  return {};
}

void Shard::note_marks() {
  for (const EnqueueTarget& target : std::get<EnqueueCommand>(pending_.back().command).targets) {
    if (target.mark == Sequence{0}) continue;
    context_.queues.find(target.queue)->queue.set_proposed_mark(target.mark);
  }
}

}  // namespace segue::node
