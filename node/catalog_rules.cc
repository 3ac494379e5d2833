#include "node/catalog_rules.h"

#include <algorithm>
#include <cstdio>
#include <set>

#include "common/counted.h"
#include "common/sharding.h"
#include "node/catalog_checks.h"
#include "node/policy_rules.h"
#include "node/vhost_rules.h"

namespace segue::node {
namespace {

constexpr const char* kDefaultVhost = "/";

Status access_refused(std::string text) {
  return Status(Code::kAccessRefused, std::move(text));
}
Status not_found(std::string text) {
  return Status(Code::kNotFound, std::move(text));
}

bool is_reserved(const std::string& name) {
  return std::string_view(name).starts_with(kReservedNamePrefix);
}

Status check_vhost(const CatalogState& state, const std::string& vhost) {
  return state.find_vhost(vhost) != nullptr ? Status() : no_such_vhost(vhost);
}

Status not_the_default_exchange(const std::string& name) {
  if (!name.empty()) return {};
  return access_refused(
      "the default exchange cannot be declared, deleted or bound: every queue is bound to it by "
      "its "
      "name");
}

Status not_reserved(const std::string& name) {
  if (!is_reserved(name)) return {};
  return access_refused("exchange " + quoted_name(name) +
                        ": names that begin with 'amq.' are the broker's own");
}

bool is_nobody(const v1::SessionOwner& asker) {
  return asker.router_id().empty() && asker.router_incarnation() == 0 && asker.session_id() == 0;
}

bool is_same_session(const v1::SessionOwner& a, const v1::SessionOwner& b) {
  return a.router_id() == b.router_id() && a.router_incarnation() == b.router_incarnation() &&
         a.session_id() == b.session_id();
}

/// Exclusive queues are for their session, and for the cluster itself.
Status check_owner(const v1::QueueDefinition& queue, const v1::SessionOwner& asker) {
  if (!queue.exclusive() || is_nobody(asker) || is_same_session(queue.owner(), asker)) return {};
  return Status(Code::kResourceLocked, "queue " + quoted_name(queue.name()) +
                                           " is exclusive to another session; use another name, or "
                                           "wait until that session ends");
}

const v1::ExchangeDefinition* exchange_of(const CatalogState& state, const std::string& vhost,
                                          const std::string& name, Status& status) {
  const v1::ExchangeDefinition* exchange = state.find_exchange(vhost, name);
  if (exchange == nullptr) {
    status = not_found("there is no exchange " + quoted_name(name) + "; declare it first");
  }
  return exchange;
}

void delete_exchange_key(const v1::ExchangeDefinition& exchange,
                         std::vector<v1::CatalogChange>& changes) {
  v1::ExchangeKey* key = changes.emplace_back().mutable_exchange_deleted();
  key->set_vhost(exchange.vhost());
  key->set_name(exchange.name());
}

/// What goes with something that is deleted: its bindings, and exchanges that are auto-delete and
/// lose the last binding from them by that, with theirs.
class Deletion {
 public:
  Deletion(const CatalogState& state, const std::string& vhost,
           std::vector<v1::CatalogChange>& changes)
      : state_(state), vhost_(vhost), changes_(changes) {}

  void binding(std::uint64_t number) {
    if (!gone_.insert(number).second) return;
    changes_.emplace_back().set_binding_deleted(number);
    touched_.push_back(state_.find_binding(number)->exchange());
  }

  void exchange(const v1::ExchangeDefinition& exchange) {
    deleted_.insert(exchange.name());
    for (const std::uint64_t number : state_.bindings_from(vhost_, exchange.name())) {
      binding(number);
    }
    for (const std::uint64_t number : state_.bindings_to_exchange(vhost_, exchange.name())) {
      binding(number);
    }
    delete_exchange_key(exchange, changes_);
  }

  /// To be called at the end.
  void bare_exchanges() {
    while (!touched_.empty()) {
      const std::string name = std::move(touched_.back());
      touched_.pop_back();
      const v1::ExchangeDefinition* const exchange = state_.find_exchange(vhost_, name);
      if (exchange == nullptr || !exchange->auto_delete() || deleted_.contains(name)) continue;
      const auto from = state_.bindings_from(vhost_, name);
      const bool bare = std::all_of(from.begin(), from.end(),
                                    [&](std::uint64_t number) { return gone_.contains(number); });
      if (bare) this->exchange(*exchange);
    }
  }

 private:
  const CatalogState& state_;
  const std::string vhost_;
  std::vector<v1::CatalogChange>& changes_;
  std::set<std::uint64_t> gone_;
  std::set<std::string> deleted_;
  std::vector<std::string> touched_;
};

void declare_exchange(const CatalogState& state, const v1::DeclareExchangeOp& operation,
                      CatalogDecision& decision) {
  v1::ExchangeDefinition wanted = operation.exchange();
  if (wanted.vhost().empty()) wanted.set_vhost(kDefaultVhost);
  decision.entity = wanted.name();
  Status& status = decision.status;
  if (!(status = not_the_default_exchange(wanted.name())).is_ok()) return;
  if (!(status = check_vhost(state, wanted.vhost())).is_ok()) return;
  if (operation.passive()) {
    exchange_of(state, wanted.vhost(), wanted.name(), status);
    return;
  }
  if (!(status = not_reserved(wanted.name())).is_ok()) return;
  if (!(status = check_exchange(wanted)).is_ok()) return;
  if (const v1::ExchangeDefinition* current = state.find_exchange(wanted.vhost(), wanted.name())) {
    status = check_same(*current, wanted);
    return;
  }
  decision.created = true;
  *decision.changes.emplace_back().mutable_exchange_created() = std::move(wanted);
}

void delete_exchange(const CatalogState& state, const v1::DeleteExchangeOp& operation,
                     CatalogDecision& decision) {
  const std::string vhost = operation.vhost().empty() ? kDefaultVhost : operation.vhost();
  decision.entity = operation.name();
  Status& status = decision.status;
  if (!(status = not_the_default_exchange(operation.name())).is_ok()) return;
  if (!(status = not_reserved(operation.name())).is_ok()) return;
  const v1::ExchangeDefinition* exchange = state.find_exchange(vhost, operation.name());
  if (exchange == nullptr) return;
  const std::vector<std::uint64_t> bindings = state.bindings_from(vhost, operation.name());
  if (operation.if_unused() && !bindings.empty()) {
    status = Status(Code::kPreconditionFailed, "exchange " + quoted_name(operation.name()) +
                                                   " is in use: it has " +
                                                   counted(bindings.size(), "binding"));
    return;
  }
  Deletion deletion(state, vhost, decision.changes);
  deletion.exchange(*exchange);
  deletion.bare_exchanges();
}

void delete_queue(const CatalogState& state, const v1::DeleteQueueOp& operation,
                  const v1::SessionOwner& asker, CatalogDecision& decision) {
  const std::string vhost = operation.vhost().empty() ? kDefaultVhost : operation.vhost();
  decision.entity = operation.name();
  const v1::QueueDefinition* queue = state.find_queue(vhost, operation.name());
  if (queue == nullptr || (operation.id() != 0 && queue->id() != operation.id())) return;
  if (!(decision.status = check_owner(*queue, asker)).is_ok()) return;
  decision.queue = *queue;
  decision.changes = CatalogRules::deletion(state, *queue);
}

/// The queue or the exchange that a binding leads to; a missing one is no failure of an unbind.
Status check_destination(const CatalogState& state, const v1::BindingDefinition& binding,
                         const v1::SessionOwner& asker, bool must_be_there) {
  if (!binding.queue().empty() && !binding.to_exchange().empty()) {
    return Status(Code::kPreconditionFailed,
                  "a binding leads to a queue or to an exchange: " + quoted_name(binding.queue()) +
                      " and " + quoted_name(binding.to_exchange()) + " are given");
  }
  if (!binding.to_exchange().empty()) {
    Status status;
    if (must_be_there) exchange_of(state, binding.vhost(), binding.to_exchange(), status);
    return status;
  }
  const v1::QueueDefinition* queue = state.find_queue(binding.vhost(), binding.queue());
  if (queue != nullptr) return check_owner(*queue, asker);
  if (!must_be_there) return {};
  return not_found("there is no queue " + quoted_name(binding.queue()) + "; declare it first");
}

void bind(const CatalogState& state, v1::BindingDefinition binding, const v1::SessionOwner& asker,
          CatalogDecision& decision) {
  if (binding.vhost().empty()) binding.set_vhost(kDefaultVhost);
  decision.entity = binding.exchange();
  Status& status = decision.status;
  if (!(status = not_the_default_exchange(binding.exchange())).is_ok()) return;
  const v1::ExchangeDefinition* const exchange =
      exchange_of(state, binding.vhost(), binding.exchange(), status);
  if (exchange == nullptr) return;
  decision.entity = binding.to_exchange().empty() ? binding.queue() : binding.to_exchange();
  if (!(status = check_destination(state, binding, asker, true)).is_ok()) return;
  if (!(status = check_binding(exchange->type(), binding)).is_ok()) return;
  if (state.find_binding(binding) != nullptr) return;
  decision.created = true;
  binding.set_number(state.next_binding_number());
  *decision.changes.emplace_back().mutable_binding_created() = std::move(binding);
}

void unbind(const CatalogState& state, v1::BindingDefinition like, const v1::SessionOwner& asker,
            CatalogDecision& decision) {
  if (like.vhost().empty()) like.set_vhost(kDefaultVhost);
  decision.entity = like.to_exchange().empty() ? like.queue() : like.to_exchange();
  Status& status = decision.status;
  if (!(status = not_the_default_exchange(like.exchange())).is_ok()) return;
  if (!(status = check_destination(state, like, asker, false)).is_ok()) return;
  const v1::BindingDefinition* binding = state.find_binding(like);
  if (binding == nullptr) return;
  Deletion deletion(state, like.vhost(), decision.changes);
  deletion.binding(binding->number());
  deletion.bare_exchanges();
}

/// What is to be made, in which virtual host; empty for what takes away.
std::string makes_in(const v1::CatalogOperation& operation) {
  switch (operation.kind_case()) {
    case v1::CatalogOperation::kDeclareExchange:
      return operation.declare_exchange().exchange().vhost();
    case v1::CatalogOperation::kDeclareQueue:
      return operation.declare_queue().queue().vhost();
    case v1::CatalogOperation::kBind:
      return operation.bind().vhost();
    case v1::CatalogOperation::kSetPolicy:
      return operation.set_policy().vhost();
    case v1::CatalogOperation::kDeclareVhost:
      return operation.declare_vhost().vhost().name();
    default:
      return "";
  }
}

}  // namespace

Status CatalogRules::check_open(const v1::CatalogOperation& operation) const {
  if (closed_vhosts_.empty()) return {};
  const std::string vhost = makes_in(operation);
  if (!closed_vhosts_.contains(vhost)) return {};
  return Status(Code::kPreconditionFailed,
                "virtual host " + quoted_name(vhost) + " is being deleted; wait until it is gone");
}

CatalogDecision CatalogRules::decide(const CatalogState& state,
                                     const v1::CatalogOperation& operation) {
  CatalogDecision decision;
  if (!(decision.status = check_open(operation)).is_ok()) return decision;
  switch (operation.kind_case()) {
    case v1::CatalogOperation::kDeclareExchange:
      declare_exchange(state, operation.declare_exchange(), decision);
      break;
    case v1::CatalogOperation::kDeleteExchange:
      delete_exchange(state, operation.delete_exchange(), decision);
      break;
    case v1::CatalogOperation::kDeclareQueue:
      declare_queue(state, operation.declare_queue(), operation.asker(), decision);
      break;
    case v1::CatalogOperation::kDeleteQueue:
      delete_queue(state, operation.delete_queue(), operation.asker(), decision);
      break;
    case v1::CatalogOperation::kBind:
      bind(state, operation.bind(), operation.asker(), decision);
      break;
    case v1::CatalogOperation::kUnbind:
      unbind(state, operation.unbind(), operation.asker(), decision);
      break;
    case v1::CatalogOperation::kSetPolicy:
      decide_set_policy(state, operation.set_policy(), decision);
      break;
    case v1::CatalogOperation::kDeletePolicy:
      decide_delete_policy(state, operation.delete_policy(), decision);
      break;
    case v1::CatalogOperation::kDeclareVhost:
      decide_declare_vhost(state, operation.declare_vhost(), decision);
      break;
    case v1::CatalogOperation::kDeleteVhost:
      decide_delete_vhost(operation.delete_vhost(), decision);
      break;
    case v1::CatalogOperation::KIND_NOT_SET:
      decision.status = Status(Code::kNotImplemented,
                               "this node does not know the operation; it is of another version");
      break;
  }
  return decision;
}

void CatalogRules::declare_queue(const CatalogState& state, const v1::DeclareQueueOp& operation,
                                 const v1::SessionOwner& asker, CatalogDecision& decision) {
  v1::QueueDefinition wanted = operation.queue();
  if (wanted.vhost().empty()) wanted.set_vhost(kDefaultVhost);
  decision.entity = wanted.name();
  Status& status = decision.status;
  if (!(status = check_vhost(state, wanted.vhost())).is_ok()) return;
  const v1::QueueDefinition* current = state.find_queue(wanted.vhost(), wanted.name());
  if (current != nullptr && !(status = check_owner(*current, asker)).is_ok()) return;
  if (operation.passive()) {
    if (current == nullptr) {
      status = not_found("there is no queue " + quoted_name(wanted.name()));
      return;
    }
    decision.queue = *current;
    return;
  }
  if (wanted.name().empty()) {
    wanted.set_name(new_queue_name(state, wanted.vhost()));
    decision.entity = wanted.name();
  } else if (current == nullptr && is_reserved(wanted.name())) {
    status = access_refused("queue " + quoted_name(wanted.name()) +
                            ": names that begin with 'amq.' are the broker's own");
    return;
  }
  if (!(status = check_queue(wanted)).is_ok()) return;
  if (current != nullptr) return redeclare(*current, wanted, operation.update(), decision);
  if (!(status = check_room_for_queue(state, wanted.vhost())).is_ok()) return;
  if (state.queue_count() >= max_queues_) {
    status = Status(Code::kResourceError, "the cluster has " + counted(max_queues_, "queue") +
                                              ", the most that a catalog takes; delete "
                                              "some first");
    return;
  }
  if (state.next_queue_id() >= kQueueIdLimit) {
    status = Status(Code::kResourceError, "the cluster has used up its " +
                                              std::to_string(kQueueIdLimit) + " queue numbers");
    return;
  }
  wanted.set_id(state.next_queue_id());
  wanted.set_shard(
      shard_of(wanted.vhost(), wanted.name(), static_cast<std::uint16_t>(state.shard_count()))
          .value);
  wanted.clear_owner();
  if (wanted.exclusive()) *wanted.mutable_owner() = asker;
  decision.created = true;
  decision.queue = wanted;
  *decision.changes.emplace_back().mutable_queue_created() = std::move(wanted);
}

void CatalogRules::redeclare(const v1::QueueDefinition& current, const v1::QueueDefinition& wanted,
                             bool update, CatalogDecision& decision) {
  decision.status = update ? check_update(current, wanted) : check_same(current, wanted);
  if (!decision.status.is_ok()) return;
  decision.queue = current;
  if (canonical_arguments(current.arguments()) == canonical_arguments(wanted.arguments())) return;
  *decision.queue.mutable_arguments() = wanted.arguments();
  decision.updated = true;
  *decision.changes.emplace_back().mutable_queue_updated() = decision.queue;
}

std::vector<v1::CatalogChange> CatalogRules::deletion(const CatalogState& state,
                                                      const v1::QueueDefinition& queue) {
  std::vector<v1::CatalogChange> changes;
  Deletion deletion(state, queue.vhost(), changes);
  for (const std::uint64_t number : state.bindings_to(queue.vhost(), queue.name())) {
    deletion.binding(number);
  }
  changes.emplace_back().set_queue_deleted(queue.id());
  deletion.bare_exchanges();
  return changes;
}

std::vector<v1::CatalogChange> CatalogRules::deletion(const CatalogState& state,
                                                      const v1::ExchangeDefinition& exchange) {
  std::vector<v1::CatalogChange> changes;
  Deletion deletion(state, exchange.vhost(), changes);
  deletion.exchange(exchange);
  deletion.bare_exchanges();
  return changes;
}

std::string CatalogRules::new_queue_name(const CatalogState& state, const std::string& vhost) {
  for (;;) {
    const unsigned long long high = random_.next_u64();
    const unsigned long long low = random_.next_u64();
    char name[48];
    std::snprintf(name, sizeof name, "amq.gen-%016llx%016llx", high, low);
    if (state.find_queue(vhost, name) == nullptr) return name;
  }
}

}  // namespace segue::node
