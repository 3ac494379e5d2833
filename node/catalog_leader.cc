#include "node/catalog_leader.h"

#include <utility>

#include "common/counted.h"
#include "common/sharding.h"
#include "node/status_error.h"
#include "node/vhost_rules.h"

namespace segue::node {
namespace {

// A turn's entry that has grown to this is logged before the turn ends.
constexpr std::size_t kEntryBytes = 1 << 20;
// Changes of one turn that take away what is in a virtual host, about.
constexpr std::size_t kDeletesPerTurn = 500;

/// The change that takes `change` back, while the state is still what it was before it.
v1::CatalogChange inverse(const CatalogState& state, const v1::CatalogChange& change) {
  v1::CatalogChange back;
  switch (change.kind_case()) {
    case v1::CatalogChange::kExchangeCreated:
      back.mutable_exchange_deleted()->set_vhost(change.exchange_created().vhost());
      back.mutable_exchange_deleted()->set_name(change.exchange_created().name());
      break;
    case v1::CatalogChange::kExchangeDeleted: {
      const v1::ExchangeKey& key = change.exchange_deleted();
      if (const auto* exchange = state.find_exchange(key.vhost(), key.name())) {
        *back.mutable_exchange_created() = *exchange;
      }
      break;
    }
    case v1::CatalogChange::kQueueCreated:
      back.set_queue_deleted(change.queue_created().id());
      break;
    case v1::CatalogChange::kQueueUpdated:
      if (const auto* queue = state.find_queue(QueueId(change.queue_updated().id()))) {
        *back.mutable_queue_updated() = *queue;
      }
      break;
    case v1::CatalogChange::kQueueDeleted:
      if (const auto* queue = state.find_queue(QueueId(change.queue_deleted()))) {
        *back.mutable_queue_created() = *queue;
      }
      break;
    case v1::CatalogChange::kBindingCreated:
      back.set_binding_deleted(change.binding_created().number());
      break;
    case v1::CatalogChange::kBindingDeleted:
      if (const auto* binding = state.find_binding(change.binding_deleted())) {
        *back.mutable_binding_created() = *binding;
      }
      break;
    case v1::CatalogChange::kPolicySet: {
      const v1::PolicyDefinition& set = change.policy_set();
      if (const auto* policy = state.policies().find(set.vhost(), set.name())) {
        *back.mutable_policy_set() = *policy;
      } else {
        back.mutable_policy_deleted()->set_vhost(set.vhost());
        back.mutable_policy_deleted()->set_name(set.name());
      }
      break;
    }
    case v1::CatalogChange::kPolicyDeleted: {
      const v1::PolicyKey& key = change.policy_deleted();
      if (const auto* policy = state.policies().find(key.vhost(), key.name())) {
        *back.mutable_policy_set() = *policy;
      }
      break;
    }
    case v1::CatalogChange::kVhostSet:
      if (const auto* vhost = state.find_vhost(change.vhost_set().name())) {
        *back.mutable_vhost_set() = *vhost;
      } else {
        back.set_vhost_deleted(change.vhost_set().name());
      }
      break;
    case v1::CatalogChange::kVhostDeleted:
      if (const auto* vhost = state.find_vhost(change.vhost_deleted())) {
        *back.mutable_vhost_set() = *vhost;
      }
      break;
    case v1::CatalogChange::kClusterCreated:
    case v1::CatalogChange::kShardAssigned:
    case v1::CatalogChange::kNumbersUsed:
    case v1::CatalogChange::KIND_NOT_SET:
      break;
  }
  return back;
}

bool only_deletes(const v1::CatalogEntry& entry) {
  for (const v1::CatalogChange& change : entry.changes()) {
    const auto kind = change.kind_case();
    if (kind != v1::CatalogChange::kQueueDeleted && kind != v1::CatalogChange::kBindingDeleted &&
        kind != v1::CatalogChange::kExchangeDeleted && kind != v1::CatalogChange::kPolicyDeleted &&
        kind != v1::CatalogChange::kVhostDeleted) {
      return false;
    }
  }
  return true;
}

}  // namespace

Status check_catalog_fits(const CatalogState& state, const std::string& cluster,
                          std::uint32_t shard_count) {
  if (state.shard_count() == 0) return {};
  if (state.cluster() != cluster) {
    return Status(Code::kInvalidConfig, "the data are of cluster '" + state.cluster() +
                                            "', but the configuration is of cluster '" + cluster +
                                            "'; check the key cluster and the data directory");
  }
  if (state.shard_count() != shard_count) {
    return Status(Code::kInvalidConfig,
                  "cluster '" + cluster + "' was created with " +
                      counted(state.shard_count(), "shard") + ", but the configuration says " +
                      std::to_string(shard_count) +
                      "; the number cannot be changed: set the key shards back to " +
                      std::to_string(state.shard_count()));
  }
  return {};
}

CatalogLeader::CatalogLeader(Options options, ReplicatedLog& log, Random& random, Logger& log_lines,
                             Apply apply)
    : options_(std::move(options)),
      log_(log),
      log_lines_(log_lines),
      apply_(std::move(apply)),
      rules_(options_.max_queues, random),
      lives_(options_.router_grace) {}

Status CatalogLeader::start(const CatalogState& committed, TimePoint now) {
  SEGUE_RETURN_IF_ERROR(check_catalog_fits(committed, options_.cluster, options_.shard_count));
  asked_ = committed;
  asked_.set_listener(nullptr);
  committed_ = committed.index();
  for (const v1::QueueDefinition* queue : asked_.queues_owned_by("")) {
    lives_.down(queue->owner().router_id(), now);
  }
  if (asked_.shard_count() > 0) return {};
  create_cluster();
  return propose();
}

void CatalogLeader::create_cluster() {
  std::vector<v1::CatalogChange> changes(1);
  changes[0].mutable_cluster_created()->set_cluster(options_.cluster);
  changes[0].mutable_cluster_created()->set_shard_count(options_.shard_count);
  const std::vector<std::string> nodes =
      place_shards(static_cast<std::uint16_t>(options_.shard_count), options_.node_ids);
  for (std::uint32_t shard = 0; shard < options_.shard_count; ++shard) {
    v1::ShardAssigned* assigned = changes.emplace_back().mutable_shard_assigned();
    assigned->set_shard(shard);
    assigned->set_node(nodes[shard]);
  }
  change(changes);
  log_lines_.info("cluster_created",
                  {{"cluster", options_.cluster}, {"shards", options_.shard_count}});
}

Status CatalogLeader::submit(const v1::CatalogOperation& operation, Reply reply) {
  CatalogDecision decision = rules_.decide(asked_, operation);
  if (operation.kind_case() == v1::CatalogOperation::kDeleteVhost && decision.status.is_ok() &&
      asked_.find_vhost(operation.delete_vhost()) != nullptr) {
    delete_vhost(operation.delete_vhost(), std::move(reply));
    return {};
  }
  Answer& answer = turn_.answers.emplace_back();
  answer.reply = std::move(reply);
  if (!decision.status.is_ok()) {
    *answer.outcome.mutable_error() = status_error(decision.status, std::move(decision.entity));
    return decision.status;
  }
  answer.outcome.set_created(decision.created);
  answer.outcome.set_updated(decision.updated);
  if (decision.queue.id() != 0) *answer.outcome.mutable_queue() = std::move(decision.queue);
  change(decision.changes);
  if (turn_bytes_ >= kEntryBytes) end_turn();
  return {};
}

void CatalogLeader::delete_vhost(const std::string& name, Reply reply) {
  rules_.close_vhost(name);
  for (DoomedVhost& doomed : doomed_vhosts_) {
    if (doomed.name == name) return doomed.replies.push_back(std::move(reply));
  }
  log_lines_.info("vhost_deletion", {{"vhost", name}, {"queues", asked_.queue_count(name)}});
  DoomedVhost& doomed = doomed_vhosts_.emplace_back();
  doomed.name = name;
  doomed.replies.push_back(std::move(reply));
}

void CatalogLeader::step() {
  if (doomed_vhosts_.empty()) return;
  // Entries of their own, so that they are taken even when there is no space for creations.
  end_turn();
  in_step_ = true;
  take_from(doomed_vhosts_.front());
  end_turn();
  in_step_ = false;
}

void CatalogLeader::take_from(DoomedVhost& doomed) {
  bool gone = false;
  for (std::size_t changes = 0; changes < kDeletesPerTurn && !gone;) {
    std::vector<v1::CatalogChange> next;
    gone = deletion_step(asked_, doomed.name, kDeletesPerTurn, next);
    changes += next.size();
    change(next);
  }
  if (!gone) return;
  for (Reply& reply : doomed.replies) turn_.answers.push_back({std::move(reply), {}});
  rules_.open_vhost(doomed.name);
  doomed_vhosts_.pop_front();
}

void CatalogLeader::change(std::vector<v1::CatalogChange>& changes) {
  for (v1::CatalogChange& change : changes) {
    undo_.push_back(inverse(asked_, change));
    v1::CatalogEntry step;
    step.set_index(asked_.index().value + 1);
    *step.add_changes() = change;
    asked_.apply(step);
    turn_bytes_ += change.ByteSizeLong();
    *turn_.entry.add_changes() = std::move(change);
  }
}

void CatalogLeader::end_turn() {
  if (turn_.entry.changes_size() > 0) {
    if (const Status proposed = propose(); !proposed.is_ok()) fail_turn(proposed);
    return;
  }
  if (turn_.answers.empty()) return;
  // They change nothing, but may have seen what is not committed yet: answered after it.
  if (!pending_.empty()) {
    std::vector<Answer>& answers = pending_.back().answers;
    std::move(turn_.answers.begin(), turn_.answers.end(), std::back_inserter(answers));
    turn_.answers.clear();
    return;
  }
  const std::vector<Answer> answers = std::exchange(turn_.answers, {});
  for (const Answer& answer : answers) {
    v1::CatalogOutcome outcome = answer.outcome;
    outcome.set_index(committed_.value);
    answer.reply(outcome);
  }
}

Status CatalogLeader::propose() {
  const LogIndex index = log_.last_index().next();
  turn_.entry.set_index(index.value);
  Proposal proposal;
  proposal.command = turn_.entry.SerializeAsString();
  proposal.drains = only_deletes(turn_.entry);
  Result<LogIndex> proposed = log_.propose(std::move(proposal));
  if (!proposed.is_ok()) return proposed.status();
  SEGUE_CHECK(proposed.value() == index);
  pending_.push_back(std::exchange(turn_, {}));
  turn_bytes_ = 0;
  undo_.clear();
  return {};
}

void CatalogLeader::fail_turn(const Status& reason) {
  log_lines_.warn("catalog_change_refused",
                  {{"changes", turn_.entry.changes_size()}, {"reason", reason}});
  undo_turn();
  const Pending failed = std::exchange(turn_, {});
  turn_bytes_ = 0;
  const Status status(reason.code(), "the catalog cannot be changed now: " + reason.message());
  v1::CatalogOutcome outcome;
  *outcome.mutable_error() = status_error(status);
  outcome.set_index(committed_.value);
  for (const Answer& answer : failed.answers) answer.reply(outcome);
  if (!in_step_) return;
  // What was under way is for who asked to ask again.
  for (const DoomedVhost& doomed : std::exchange(doomed_vhosts_, {})) {
    rules_.open_vhost(doomed.name);
    for (const Reply& reply : doomed.replies) reply(outcome);
  }
}

void CatalogLeader::undo_turn() {
  for (auto change = undo_.rbegin(); change != undo_.rend(); ++change) {
    v1::CatalogEntry step;
    step.set_index(asked_.index().value + 1);
    *step.add_changes() = std::move(*change);
    asked_.apply(step);
  }
  undo_.clear();
}

void CatalogLeader::on_committed(LogIndex index) {
  while (!pending_.empty() && pending_.front().entry.index() <= index.value) {
    const Pending done = std::move(pending_.front());
    pending_.pop_front();
    committed_ = CatalogIndex(done.entry.index());
    apply_(done.entry);
    for (const Answer& answer : done.answers) {
      v1::CatalogOutcome outcome = answer.outcome;
      outcome.set_index(committed_.value);
      answer.reply(outcome);
    }
  }
}

void CatalogLeader::router_up(const std::string& router, std::uint64_t incarnation) {
  lives_.up(router);
  delete_queues_of(router, incarnation, "the router was restarted");
}

void CatalogLeader::router_down(const std::string& router, TimePoint now) {
  lives_.down(router, now);
}

void CatalogLeader::on_tick(TimePoint now) {
  for (const std::string& router : lives_.take_dead(now)) {
    delete_queues_of(router, 0, "the router stays away");
  }
}

void CatalogLeader::delete_queues_of(const std::string& router, std::uint64_t but_incarnation,
                                     const char* reason) {
  std::vector<v1::QueueDefinition> queues;
  for (const v1::QueueDefinition* queue : asked_.queues_owned_by(router)) {
    if (queue->owner().router_incarnation() != but_incarnation) queues.push_back(*queue);
  }
  if (queues.empty()) return;
  log_lines_.info("exclusive_queues_deleted",
                  {{"router", router}, {"queues", queues.size()}, {"reason", reason}});
  // An entry of their own, so that it is taken even when there is no space for creations.
  end_turn();
  for (const v1::QueueDefinition& queue : queues) {
    std::vector<v1::CatalogChange> changes = CatalogRules::deletion(asked_, queue);
    change(changes);
  }
  end_turn();
}

}  // namespace segue::node
