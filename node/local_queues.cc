#include "node/local_queues.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "node/queue_policies.h"

namespace segue::node {
namespace {

// Queues that are looked at in one step, some microseconds each; and the steps of all their
// patterns, which may cost a microsecond for a long name. An ordinary pattern has some twenty.
constexpr std::uint64_t kQueuesPerStep = 200;
constexpr std::uint64_t kPatternStepsPerStep = 40'000;

}  // namespace

LocalQueues::LocalQueues(CatalogState& state, std::string node_id, Add add, Remove remove)
    : state_(state),
      node_id_(std::move(node_id)),
      add_(std::move(add)),
      remove_(std::move(remove)) {
  state_.set_listener(this);
}

LocalQueues::~LocalQueues() {
  state_.set_listener(nullptr);
}

void LocalQueues::on_change(const v1::CatalogChange& change) {
  switch (change.kind_case()) {
    case v1::CatalogChange::kQueueCreated: {
      const v1::QueueDefinition& queue = change.queue_created();
      const ShardId shard(static_cast<std::uint16_t>(queue.shard()));
      if (state_.node_of(shard) != node_id_) break;
      const auto [at, added] = held_.try_emplace(QueueId(queue.id()));
      if (added) add(queue, at->second);
      // One more that the sweep comes by.
      if (added && remaining_ > 0) ++remaining_;
      break;
    }
    case v1::CatalogChange::kQueueUpdated: {
      const auto held = held_.find(QueueId(change.queue_updated().id()));
      if (held != held_.end()) add(change.queue_updated(), held->second);
      break;
    }
    case v1::CatalogChange::kQueueDeleted:
      if (held_.erase(QueueId(change.queue_deleted())) > 0) {
        remove_(QueueId(change.queue_deleted()));
      }
      break;
    case v1::CatalogChange::kShardAssigned:
      on_reset();
      break;
    case v1::CatalogChange::kPolicySet:
    case v1::CatalogChange::kPolicyDeleted:
      // A sweep that is under way goes round once more from where it is.
      remaining_ = held_.size();
      break;
    default:
      break;
  }
}

void LocalQueues::on_reset() {
  std::map<QueueId, Held> now;
  for (const v1::QueueDefinition* queue : state_.queues_on(node_id_)) {
    now.try_emplace(QueueId(queue->id()));
  }
  for (const auto& [id, held] : held_) {
    if (!now.contains(id)) remove_(id);
  }
  // Those that stay may have been changed meanwhile.
  for (auto& [id, held] : now) add(*state_.find_queue(id), held);
  held_ = std::move(now);
  remaining_ = 0;
}

void LocalQueues::add(const v1::QueueDefinition& queue, Held& held) {
  const Policies& policies = state_.policies();
  held.generation = policies.generation();
  const Policies::Values values =
      policies.values_of(Policies::Target::kQueue, queue.vhost(), queue.name());
  held.said = identity_of(values);
  add_(values.empty() ? queue : in_force(queue, values));
}

void LocalQueues::bring(QueueId queue, Held& held) {
  const Policies& policies = state_.policies();
  if (std::exchange(held.generation, policies.generation()) == policies.generation()) return;
  const v1::QueueDefinition* definition = state_.find_queue(queue);
  if (definition == nullptr) return;
  const Policies::Values values =
      policies.values_of(Policies::Target::kQueue, definition->vhost(), definition->name());
  if (std::string said = identity_of(values); said != held.said) {
    held.said = std::move(said);
    add_(in_force(*definition, values));
  }
}

void LocalQueues::catch_up(QueueId queue) {
  const auto held = held_.find(queue);
  if (held != held_.end()) bring(held->first, held->second);
}

void LocalQueues::describe(QueueId queue, v1::QueueDescription& to) const {
  const v1::QueueDefinition* definition = state_.find_queue(queue);
  if (definition == nullptr) return;
  EffectiveQueue effective = effective_of(*definition, state_.policies());
  for (v1::EffectiveSetting& setting : effective.settings) {
    *to.add_effective() = std::move(setting);
  }
}

std::vector<QueueId> LocalQueues::queues_in(std::string_view vhost) const {
  std::vector<QueueId> queues;
  for (const auto* queue : state_.list_queues(vhost, "", std::numeric_limits<std::size_t>::max())) {
    if (held_.contains(QueueId(queue->id()))) queues.emplace_back(queue->id());
  }
  return queues;
}

void LocalQueues::step() {
  if (remaining_ == 0) return;
  std::size_t queues = std::clamp<std::uint64_t>(
      kPatternStepsPerStep / std::max<std::uint64_t>(1, state_.policies().steps()), 1,
      kQueuesPerStep);
  for (queues = std::min(queues, remaining_); queues > 0 && !held_.empty(); --queues) {
    auto at = held_.lower_bound(next_);
    if (at == held_.end()) at = held_.begin();
    next_ = QueueId(at->first.value + 1);
    --remaining_;
    bring(at->first, at->second);
  }
  if (held_.empty()) remaining_ = 0;
}

}  // namespace segue::node
