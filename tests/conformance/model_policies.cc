// Policies of the model: line 34 of docs/semantics.md.

#include <algorithm>
#include <regex>

#include "tests/conformance/model.h"

namespace segue::conformance {
namespace {

const std::set<std::string>& limits() {
  static const std::set<std::string> kLimits = {"max-length",     "max-length-bytes",
                                                "message-ttl",    "expires",
                                                "delivery-limit", "consumer-timeout"};
  return kLimits;
}

bool makes_sense(const SetPolicy& policy) {
  if (policy.definition.empty()) return false;
  for (const auto& [key, value] : policy.definition) {
    if (key == "alternate-exchange") {
      const auto* text = value.as<std::string>();
      if (policy.apply_to == "queues" || text == nullptr || text->empty()) return false;
      continue;
    }
    // What it needs beside it may come from elsewhere.
    Table alone = {{"x-" + key, value}};
    if (key == "dead-letter-routing-key") alone["x-dead-letter-exchange"] = "";
    if (key == "deduplication-max") alone["x-deduplication-window"] = 1;
    if (policy.apply_to == "exchanges" || !make_sense(alone) || !can_change("x-" + key)) {
      return false;
    }
  }
  return true;
}

}  // namespace

std::optional<Outcome> Model::perform(const SetPolicy& op) {
  if (!makes_sense(op)) return Outcome{{ErrorCode::kPreconditionFailed}, {}, {}};
  policies_.insert_or_assign(op.name, op);
  return Outcome{};
}

std::optional<Outcome> Model::perform(const DeletePolicy& op) {
  if (policies_.erase(op.name) == 0) return std::nullopt;
  return Outcome{};
}

Table Model::said_of(const std::string& name, const std::string& kind) const {
  std::vector<const SetPolicy*> all;  // by name
  for (const auto& [policy_name, policy] : policies_) {
    const bool matches =
        std::regex_search(name, std::regex(policy.pattern), std::regex_constants::match_continuous);
    if (matches && (policy.apply_to == "all" || policy.apply_to == kind)) all.push_back(&policy);
  }
  std::stable_sort(all.begin(), all.end(), [](const auto* one, const auto* other) {
    return one->priority > other->priority;
  });
  Table said;
  for (const SetPolicy* policy : all) {
    for (const auto& [key, value] : policy->definition) said.try_emplace(key, value);
  }
  return said;
}

void Model::put_in_force() {
  changed_.clear();
  for (auto& [name, queue] : queues_) {
    Table in_force = queue.as.arguments;
    for (const auto& [key, value] : said_of(name, "queues")) {
      if (key == "alternate-exchange") continue;
      const auto [own, none] = in_force.try_emplace("x-" + key, value);
      if (none) continue;
      if (mistake_ == Mistake::kPoliciesGoFirst) own->second = value;
      if (!limits().contains(key)) continue;
      if (*value.as<std::int64_t>() < *own->second.as<std::int64_t>()) own->second = value;
    }
    if (!in_force.contains("x-dead-letter-exchange")) in_force.erase("x-dead-letter-routing-key");
    if (in_force != queue.in_force) changed_.insert(name);
    queue.in_force = std::move(in_force);
    queue.keep_window();
  }
  std::map<std::string, std::string> alternates;
  for (const auto& [name, exchange] : topology_.exchanges()) {
    const Table said = said_of(name, "exchanges");
    const auto found = said.find("alternate-exchange");
    if (found != said.end()) alternates[name] = *found->second.as<std::string>();
  }
  alternates_changed_ = topology_.set_alternates(std::move(alternates));
}

}  // namespace segue::conformance
