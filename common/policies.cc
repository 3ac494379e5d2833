#include "common/policies.h"

#include <algorithm>
#include <optional>

namespace segue {

struct Policies::Policy {
  v1::PolicyDefinition definition;
  std::optional<Pattern> pattern;

  std::uint64_t steps() const { return pattern ? static_cast<std::uint64_t>(pattern->steps()) : 0; }
};

bool Policies::applies_to(const v1::PolicyDefinition& definition, Target target) {
  if (definition.apply_to() == kApplyToAll) return true;
  return definition.apply_to() == (target == Target::kQueue ? kApplyToQueues : kApplyToExchanges);
}

void Policies::set(const v1::PolicyDefinition& definition) {
  erase(definition.vhost(), definition.name());
  auto policy = std::make_shared<Policy>();
  policy->definition = definition;
  if (Result<Pattern> pattern = Pattern::compile(definition.pattern()); pattern.is_ok()) {
    policy->pattern = std::move(pattern).value();
  }
  const auto counts_more = [](const Shared& one, const Shared& other) {
    const v1::PolicyDefinition& a = one->definition;
    const v1::PolicyDefinition& b = other->definition;
    return a.priority() != b.priority() ? a.priority() > b.priority() : a.name() < b.name();
  };
  std::vector<Shared>& order = by_vhost_[definition.vhost()];
  Shared shared = std::move(policy);
  steps_ += shared->steps();
  order.insert(std::upper_bound(order.begin(), order.end(), shared, counts_more), shared);
  policies_[{definition.vhost(), definition.name()}] = std::move(shared);
  ++generation_;
}

void Policies::erase(std::string_view vhost, std::string_view name) {
  const auto found = policies_.find({std::string(vhost), std::string(name)});
  if (found == policies_.end()) return;
  const auto order = by_vhost_.find(vhost);
  std::erase(order->second, found->second);
  steps_ -= found->second->steps();
  if (order->second.empty()) by_vhost_.erase(order);
  policies_.erase(found);
  ++generation_;
}

void Policies::clear() {
  policies_.clear();
  by_vhost_.clear();
  steps_ = 0;
  ++generation_;
}

const v1::PolicyDefinition* Policies::find(std::string_view vhost, std::string_view name) const {
  const auto found = policies_.find({std::string(vhost), std::string(name)});
  return found == policies_.end() ? nullptr : &found->second->definition;
}

std::vector<const v1::PolicyDefinition*> Policies::list(std::string_view vhost,
                                                        std::string_view after,
                                                        std::size_t limit) const {
  std::vector<const v1::PolicyDefinition*> listed;
  for (auto at = policies_.upper_bound({std::string(vhost), std::string(after)});
       at != policies_.end() && at->first.first == vhost && listed.size() < limit; ++at) {
    listed.push_back(&at->second->definition);
  }
  return listed;
}

std::vector<const v1::PolicyDefinition*> Policies::all() const {
  std::vector<const v1::PolicyDefinition*> all;
  all.reserve(policies_.size());
  for (const auto& [key, policy] : policies_) all.push_back(&policy->definition);
  return all;
}

std::size_t Policies::count(std::string_view vhost) const {
  const auto found = by_vhost_.find(vhost);
  return found == by_vhost_.end() ? 0 : found->second.size();
}

template <typename Visit>
void Policies::each_match(Target target, std::string_view vhost, std::string_view name,
                          const Visit& visit) const {
  const auto order = by_vhost_.find(vhost);
  if (order == by_vhost_.end()) return;
  for (const Shared& policy : order->second) {
    if (!policy->pattern || !applies_to(policy->definition, target)) continue;
    if (policy->pattern->matches(name) && !visit(*policy)) return;
  }
}

Policies::Values Policies::values_of(Target target, std::string_view vhost,
                                     std::string_view name) const {
  Values values;
  each_match(target, vhost, name, [&](const Policy& policy) {
    for (const auto& [key, value] : policy.definition.definition()) {
      values.try_emplace(key, Value{&value, policy.definition.name()});
    }
    return true;
  });
  return values;
}

Policies::Value Policies::value_of(Target target, std::string_view vhost, std::string_view name,
                                   std::string_view key) const {
  Value value;
  each_match(target, vhost, name, [&](const Policy& policy) {
    const auto found = policy.definition.definition().find(std::string(key));
    if (found == policy.definition.definition().end()) return true;
    value = {&found->second, policy.definition.name()};
    return false;
  });
  return value;
}

}  // namespace segue
