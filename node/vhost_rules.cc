#include "node/vhost_rules.h"

#include <optional>
#include <utility>

#include "common/counted.h"
#include "node/catalog_checks.h"

namespace segue::node {
namespace {

std::string limit(const std::optional<std::uint64_t>& value) {
  return value ? std::to_string(*value) : "none";
}

std::vector<std::pair<const char*, std::optional<std::uint64_t>>> limits_of(
    const v1::VhostDefinition& vhost) {
  const auto given = [](bool has, std::uint64_t value) {
    return has ? std::optional(value) : std::nullopt;
  };
  return {{"max_queues", given(vhost.has_max_queues(), vhost.max_queues())},
          {"max_sessions", given(vhost.has_max_sessions(), vhost.max_sessions())},
          {"max_bytes", given(vhost.has_max_bytes(), vhost.max_bytes())}};
}

/// The first limit that differs, for people; empty when none does.
std::string difference(const v1::VhostDefinition& current, const v1::VhostDefinition& wanted) {
  const auto has = limits_of(current);
  const auto wants = limits_of(wanted);
  for (std::size_t i = 0; i < has.size(); ++i) {
    if (has[i].second == wants[i].second) continue;
    return std::string(has[i].first) + ": wanted " + limit(wants[i].second) +
           ", current value is " + limit(has[i].second);
  }
  return "";
}

/// Exchanges that nobody declared have bindings, too.
bool binding_step(const CatalogState& state, const std::string& vhost, std::size_t most,
                  std::vector<v1::CatalogChange>& changes) {
  const std::size_t before = changes.size();
  for (const v1::ExchangeDefinition* exchange : state.list_exchanges(vhost, "", most)) {
    const bool own = std::string_view(exchange->name()).starts_with(kReservedNamePrefix);
    if (!own) {
      const auto gone = CatalogRules::deletion(state, *exchange);
      changes.insert(changes.end(), gone.begin(), gone.end());
      return true;  // it may have taken others along
    }
    for (const std::uint64_t number : state.bindings_from(vhost, exchange->name())) {
      if (changes.size() - before >= most) return true;
      changes.emplace_back().set_binding_deleted(number);
    }
  }
  return changes.size() > before;
}

}  // namespace

void decide_declare_vhost(const CatalogState& state, const v1::DeclareVhostOp& operation,
                          CatalogDecision& decision) {
  const v1::VhostDefinition& wanted = operation.vhost();
  decision.entity = wanted.name();
  if (!(decision.status = check_name("virtual host", wanted.name())).is_ok()) return;
  const v1::VhostDefinition* current = state.find_vhost(wanted.name());
  if (current == nullptr && state.vhost_count() >= kMaxVhosts) {
    decision.status =
        Status(Code::kResourceError, "the cluster has " + std::to_string(kMaxVhosts) +
                                         " virtual hosts, the most that a catalog takes");
    return;
  }
  if (current != nullptr) {
    const std::string differs = difference(*current, wanted);
    if (differs.empty()) return;
    if (!operation.update()) {
      decision.status = Status(
          Code::kPreconditionFailed,
          "virtual host " + quoted_name(wanted.name()) + " exists and differs in " + differs +
              "; create it as it is, or change it in place (update; on the command "
              "line --update)");
      return;
    }
  }
  decision.created = current == nullptr;
  decision.updated = current != nullptr;
  *decision.changes.emplace_back().mutable_vhost_set() = wanted;
}

void decide_delete_vhost(const std::string& name, CatalogDecision& decision) {
  decision.entity = name;
  if (name != kDefaultVhost) return;
  decision.status = Status(Code::kAccessRefused, "the virtual host '/' always exists");
}

Status check_room_for_queue(const CatalogState& state, const std::string& vhost) {
  const v1::VhostDefinition* definition = state.find_vhost(vhost);
  if (definition == nullptr) return no_such_vhost(vhost);
  if (!definition->has_max_queues() || state.queue_count(vhost) < definition->max_queues()) {
    return {};
  }
  return Status(Code::kResourceError, "virtual host " + quoted_name(vhost) + " has " +
                                          counted(state.queue_count(vhost), "queue") +
                                          ", and its max_queues is " +
                                          std::to_string(definition->max_queues()) +
                                          "; delete some first, or raise the limit");
}

bool deletion_step(const CatalogState& state, const std::string& vhost, std::size_t most,
                   std::vector<v1::CatalogChange>& changes) {
  const auto queues = state.list_queues(vhost, "", 1);
  if (!queues.empty()) {
    changes = CatalogRules::deletion(state, *queues.front());
    return false;
  }
  if (binding_step(state, vhost, most, changes)) return false;
  for (const v1::PolicyDefinition* policy : state.policies().list(vhost, "", most)) {
    v1::PolicyKey& key = *changes.emplace_back().mutable_policy_deleted();
    key.set_vhost(policy->vhost());
    key.set_name(policy->name());
  }
  if (!changes.empty()) return false;
  changes.emplace_back().set_vhost_deleted(vhost);
  return true;
}

}  // namespace segue::node
