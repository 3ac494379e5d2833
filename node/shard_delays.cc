// Delayed messages: how they come into a queue's delay lane and out of it (class Shard).
#include <algorithm>
#include <utility>

#include "node/message_priorities.h"
#include "node/shard.h"

namespace segue::node {

namespace {

std::vector<NumberRange> ranges_of(std::vector<Sequence> sequences) {
  std::sort(sequences.begin(), sequences.end());
  std::vector<NumberRange> ranges;
  for (const Sequence sequence : sequences) {
    if (!ranges.empty() && ranges.back().last + 1 == sequence.value) {
      ranges.back().last = sequence.value;
    } else {
      ranges.push_back({sequence.value, sequence.value});
    }
  }
  return ranges;
}

}  // namespace

HostedQueue& Shard::add_delay_lane(HostedQueue& queue) {
  if (queue.delay_lane != nullptr) return *queue.delay_lane;
  HostedQueue& lane = add_queue(delay_lane_id(queue.queue.id()));
  join_lane(queue, lane);
  return lane;
}

bool Shard::add_delayed(HostedQueue& hosted, std::vector<std::uint32_t>& places, Work& work) {
  const MessageBatch& batch = *work.checked.batch;
  const std::int64_t now = context_.clock.wall_ms;
  std::vector<std::uint32_t> delayed;
  std::vector<std::uint32_t> others;
  const auto count = places.empty() ? batch.count() : static_cast<std::uint32_t>(places.size());
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::uint32_t place = places.empty() ? i : places[i];
    (batch.due(place, now) > now ? delayed : others).push_back(place);
  }
  if (delayed.empty()) return true;
  add_places(add_delay_lane(hosted), std::move(delayed), work);
  places = std::move(others);
  return !places.empty();
}

void Shard::note_delayed(HostedQueue& lane, Sequence first, const MessageBatch& batch,
                         std::span<const std::uint32_t> places, std::int64_t arrived_ms) {
  const auto count = places.empty() ? batch.count() : static_cast<std::uint32_t>(places.size());
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::uint32_t place = places.empty() ? i : places[i];
    lane.schedule->add({batch.due(place, arrived_ms), first.next(i)});
  }
  context_.queues.note_delay(lane);
}

std::size_t Shard::end_delay(HostedQueue& lane, const MessageBatchPtr& batch,
                             const std::vector<Sequence>& sequences) {
  HostedQueue& hosted = lane.of_whole();
  std::size_t count = sequences.size();
  if (hosted.settings.limits.rejects) {
    std::vector<std::uint32_t> places;
    std::vector<std::uint32_t> refused;
    refuse_overflow(hosted, *batch, places, refused);
    // In their order: what stands behind the first that finds no room waits with it.
    if (!refused.empty()) count = refused.front();
    if (count == 0) return 0;
  }
  Work work;
  work.checked.batch = batch;
  std::vector<std::uint32_t> places;
  for (std::uint32_t i = 0; count < sequences.size() && i < count; ++i) places.push_back(i);
  add_to_queue(hosted, std::move(places), work);
  const auto last = sequences.begin() + static_cast<std::ptrdiff_t>(count);
  const std::vector<NumberRange> taken = ranges_of({sequences.begin(), last});
  if (!work.command.targets.empty()) {
    work.command.taken = {lane.queue.id(), taken};
    if (!propose_delay_end(work)) return 0;
  }
  lane.queue.take_delayed(taken);
  apply_transient(work);
  if (work.transient.empty()) return count;
  for (const NumberRange& range : taken) lane.queue.apply_settle(range, context_.disk);
  return count;
}

bool Shard::propose_delay_end(Work& work) {
  work.command.time_ms = context_.clock.wall_ms;
  work.command.batch = work.checked.batch;
  ShardCommand proposed(std::move(work.command));
  if (!propose(proposed, {}, work.sync, false)) {
    unstamp(std::get<EnqueueCommand>(proposed));
    return false;
  }
  note_marks();
  return true;
}

std::uint64_t Shard::cancel_delayed(HostedQueue& lane, NumberRange sequences) {
  const std::vector<NumberRange> waiting = lane.queue.find_waiting(sequences, context_.disk);
  std::uint64_t count = 0;
  lane.queue.take_delayed(waiting);
  for (const NumberRange& range : waiting) {
    depart(lane, range, Departure::kPurged);
    count += range.count();
  }
  if (count > 0) context_.queues.note_delay(lane);
  return count;
}

}  // namespace segue::node
