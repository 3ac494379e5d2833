#include "node/policy_rules.h"

#include <string>
#include <utility>

#include "node/catalog_checks.h"
#include "node/queue_policies.h"

namespace segue::node {
namespace {

bool is_same(const v1::PolicyDefinition& a, const v1::PolicyDefinition& b) {
  return a.pattern() == b.pattern() && a.apply_to() == b.apply_to() &&
         a.priority() == b.priority() &&
         canonical_arguments(a.definition()) == canonical_arguments(b.definition());
}

}  // namespace

void decide_set_policy(const CatalogState& state, v1::PolicyDefinition policy,
                       CatalogDecision& decision) {
  if (policy.vhost().empty()) policy.set_vhost(std::string(kDefaultVhost));
  if (policy.apply_to().empty()) policy.set_apply_to(std::string(kApplyToAll));
  decision.entity = policy.name();
  if (state.find_vhost(policy.vhost()) == nullptr) {
    decision.status = no_such_vhost(policy.vhost());
    return;
  }
  if (!(decision.status = check_policy(policy)).is_ok()) return;
  const v1::PolicyDefinition* current = state.policies().find(policy.vhost(), policy.name());
  if (current != nullptr && is_same(*current, policy)) return;
  if (current == nullptr && state.policies().count() >= kMaxPolicies) {
    decision.status =
        Status(Code::kResourceError, "the cluster has " + std::to_string(kMaxPolicies) +
                                         " policies, the most that a catalog takes; delete some "
                                         "first");
    return;
  }
  decision.created = current == nullptr;
  decision.updated = current != nullptr;
  *decision.changes.emplace_back().mutable_policy_set() = std::move(policy);
}

void decide_delete_policy(const CatalogState& state, v1::PolicyKey key, CatalogDecision& decision) {
  if (key.vhost().empty()) key.set_vhost(std::string(kDefaultVhost));
  decision.entity = key.name();
  if (state.policies().find(key.vhost(), key.name()) == nullptr) return;
  *decision.changes.emplace_back().mutable_policy_deleted() = std::move(key);
}

}  // namespace segue::node
