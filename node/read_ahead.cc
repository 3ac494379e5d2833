#include "node/read_ahead.h"

#include <algorithm>
#include <utility>

namespace segue::node {

namespace {

constexpr std::uint64_t kMaxWindow = 8 << 20;
constexpr std::uint64_t kMinWindow = 64 << 10;
constexpr std::uint64_t kMaxLoad = 2 << 20;
constexpr std::uint64_t kMaxLoads = 32;

}  // namespace

std::uint64_t ReadAhead::window() const {
  // A tenth of the memory for all queues that have messages in it.
  const std::uint64_t queues = std::max<std::uint64_t>(1, queues_.in_memory().size());
  return std::clamp(memory_.limit() / 10 / queues, kMinWindow, kMaxWindow);
}

void ReadAhead::consider(HostedQueue& hosted) {
  const std::uint64_t wanted = window();
  const auto plan = hosted.queue.plan_load(wanted);
  if (!plan) return;
  if (loads_ >= kMaxLoads) {
    waiting_.push_back(hosted.queue.id());
    return;
  }
  if (memory_.above_block_mark()) {
    held_back_.insert(hosted.queue.id());
    return;
  }
  hosted.queue.begin_load();
  ++loads_;
  queues_.note_memory(hosted);
  const std::uint64_t bytes = std::clamp(wanted / 2, kMinWindow, kMaxLoad);
  disk_.load(hosted.queue.id(), plan->from, plan->through, bytes,
             [this, id = hosted.queue.id(), plan = *plan](Result<storage::LoadedMessages> result) {
               finished(id, plan, result);
             });
}

void ReadAhead::finished(QueueId id, const Queue::LoadPlan& plan,
                         const Result<storage::LoadedMessages>& result) {
  --loads_;
  for (const QueueId waiting : std::exchange(waiting_, {})) {
    if (HostedQueue* hosted = queues_.find(waiting)) consider(*hosted);
  }
  HostedQueue* hosted = queues_.find(id);
  if (hosted == nullptr) return;
  if (!result) {
    hosted->queue.fail_load();
    log_.error("queue_read_failed", {{"queue", hosted->queue.display_name()},
                                     {"from", plan.from},
                                     {"reason", result.status()}});
    failed_.push_back(id);
    return;
  }
  const auto lost = hosted->queue.finish_load(plan, memory_.tracked(*result));
  if (!lost.empty()) give_up(*hosted, lost, result->not_set_aside);
  queues_.wake(*hosted);
  if (hosted->has_takers()) consider(*hosted);
}

void ReadAhead::give_up(HostedQueue& hosted, const std::vector<NumberRange>& lost,
                        const std::vector<Sequence>& not_set_aside) {
  RangeSet gone;
  for (const NumberRange& range : lost) gone.add(range);
  const std::uint64_t messages = gone.count();
  for (const Sequence sequence : not_set_aside) gone.remove({sequence.value, sequence.value});
  log_.error("messages_lost", {{"queue", hosted.queue.name()},
                               {"queue_id", hosted.queue.id()},
                               {"messages", messages},
                               {"from", lost.front().first},
                               {"through", lost.back().last},
                               {"taken_out", gone.count()}});
  Shard& shard = shards_.of(hosted);
  for (const auto& [first, last] : gone.ranges()) {
    shard.depart(hosted, {first, last}, Departure::kDamaged);
  }
}

void ReadAhead::end_turn() {
  if (held_back_.empty() || memory_.above_block_mark()) return;
  for (const QueueId id : std::exchange(held_back_, {})) {
    HostedQueue* hosted = queues_.find(id);
    if (hosted != nullptr && hosted->has_takers()) consider(*hosted);
  }
}

void ReadAhead::on_tick() {
  for (const QueueId id : std::exchange(failed_, {})) {
    HostedQueue* hosted = queues_.find(id);
    if (hosted != nullptr && hosted->has_takers()) consider(*hosted);
  }
}

}  // namespace segue::node
