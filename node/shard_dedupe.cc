// Deduplication by the application's ids (class Shard).
#include "common/ids.h"
#include "node/shard.h"

namespace segue::node {

DedupeWindow& Shard::make_dedupe(HostedQueue& hosted) {
  if (!hosted.dedupe) {
    hosted.dedupe = std::make_unique<DedupeWindow>(context_.memory);
    context_.queues.dedupes().add(hosted);
  }
  return *hosted.dedupe;
}

void Shard::define_dedupe(HostedQueue& hosted, bool first_time) {
  const DedupeLimits& limits = hosted.settings.dedupe;
  if (hosted.whole != nullptr || (!limits.any() && !hosted.dedupe)) return;
  DedupeWindow& window = make_dedupe(hosted);
  if (first_time && !hosted.queue.durable()) window.clear();
  if (limits.any()) return window.set_limits(limits, context_.clock.wall_ms);
  context_.queues.dedupes().remove(hosted);
  hosted.dedupe.reset();
}

bool Shard::leave_out_duplicates(HostedQueue& hosted, std::vector<std::uint32_t>& places,
                                 Work& work, DedupeFilter& filter) {
  const MessageBatch& batch = *work.checked.batch;
  if (!work.ids) work.ids = std::make_unique<DedupeIds>(batch);
  filter.take_out(*hosted.dedupe, *work.ids, batch, context_.clock.wall_ms, places);
  return filter.any_left();
}

void Shard::propose_ids(HostedQueue& hosted, EnqueueTarget& to, Work& work) {
  DedupeWindow& window = *hosted.of_whole().dedupe;
  to.dedupe = window.limits();
  work.ids->each(*work.checked.batch, to.places, [&](const DedupeId& id) { window.propose(id); });
}

void Shard::forget_proposed_ids(const EnqueueCommand& command) {
  for (const EnqueueTarget& target : command.targets) {
    if (!target.dedupe.any() || !command.batch) continue;
    HostedQueue* const hosted = context_.queues.find(queue_of_lane(target.queue));
    if (hosted == nullptr || !hosted->dedupe) continue;
    DedupeIds(*command.batch).each(*command.batch, target.places, [&](const DedupeId& id) {
      hosted->dedupe->end_proposed(id);
    });
  }
}

void Shard::remember_ids(const TransientTarget& target, Work& work) {
  DedupeWindow& window = *target.queue->of_whole().dedupe;
  work.ids->each(*work.checked.batch, target.places,
                 [&](const DedupeId& id) { window.add(id, context_.clock.wall_ms); });
}

void Shard::remember_ids(const EnqueueCommand& command, bool live) {
  std::unique_ptr<DedupeIds> ids;
  for (const EnqueueTarget& target : command.targets) {
    if (!target.dedupe.any()) continue;
    HostedQueue* const hosted = find_for_apply(queue_of_lane(target.queue), live);
    // Live, the queue may have been deleted since, or its window taken away.
    if (hosted == nullptr || (live && !hosted->dedupe)) continue;
    DedupeWindow& window = make_dedupe(*hosted);
    if (!live && window.limits() != target.dedupe) {
      window.set_limits(target.dedupe, command.time_ms);
    }
    if (!ids) ids = std::make_unique<DedupeIds>(*command.batch);
    ids->each(*command.batch, target.places, [&](const DedupeId& id) {
      if (live) window.end_proposed(id);
      window.add(id, command.time_ms);
    });
  }
}

}  // namespace segue::node
