#include "node/queue_policies.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "node/queue_settings.h"

namespace segue::node {
namespace {

v1::PolicyDefinition policy(const std::string& name, const std::string& pattern) {
  v1::PolicyDefinition made;
  made.set_vhost("/");
  made.set_name(name);
  made.set_pattern(pattern);
  made.set_apply_to("all");
  return made;
}

v1::PolicyDefinition with(v1::PolicyDefinition policy, const std::string& key, std::int64_t value) {
  (*policy.mutable_definition())[key].set_int_value(value);
  return policy;
}

v1::PolicyDefinition with(v1::PolicyDefinition policy, const std::string& key,
                          const std::string& value) {
  (*policy.mutable_definition())[key].set_string_value(value);
  return policy;
}

v1::QueueDefinition queue(const std::string& name) {
  v1::QueueDefinition made;
  made.set_id(1);
  made.set_vhost("/");
  made.set_name(name);
  return made;
}

std::string message(const v1::PolicyDefinition& policy) {
  const Status status = check_policy(policy);
  EXPECT_EQ(status.code(), Code::kPreconditionFailed) << status.to_string();
  return status.message();
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(QueuePolicies, WhatCannotActIsNotInForce) {
  Policies policies;
  policies.set(with(with(with(policy("p", "^a"), "retry-delay", 3000), "retry-factor", 2),
                    "dead-letter-routing-key", "dead"));
  const v1::QueueDefinition plain = effective_of(queue("a"), policies).definition;
  EXPECT_TRUE(plain.arguments().contains("x-retry-delay"));
  EXPECT_TRUE(plain.arguments().contains("x-retry-factor"));
  EXPECT_FALSE(plain.arguments().contains("x-dead-letter-routing-key")) << "there is no exchange";

  v1::QueueDefinition groups = queue("a");
  (*groups.mutable_arguments())["x-message-groups"].set_bool_value(true);
  (*groups.mutable_arguments())["x-dead-letter-exchange"].set_string_value("");
  const EffectiveQueue effective = effective_of(groups, policies);
  EXPECT_FALSE(effective.definition.arguments().contains("x-retry-delay"));
  EXPECT_FALSE(effective.definition.arguments().contains("x-retry-factor"));
  EXPECT_TRUE(effective.definition.arguments().contains("x-dead-letter-routing-key"));
  EXPECT_EQ(effective.settings.size(), 3u);
}

TEST(QueuePolicies, TakesEveryArgumentThatCanBeChangedInPlace) {
  v1::PolicyDefinition all = policy("p", "^a");
  for (const char* key : {"message-ttl", "expires", "max-length", "max-length-bytes",
                          "delivery-limit", "consumer-timeout"}) {
    all = with(all, key, 5);
  }
  all = with(with(all, "overflow", "reject-publish"), "dead-letter-exchange", "");
  all = with(with(all, "dead-letter-routing-key", "k"), "alternate-exchange", "e");
  EXPECT_TRUE(check_policy(all).is_ok()) << check_policy(all).message();
}

TEST(QueuePolicies, RefusesWhatMakesNoSenseByName) {
  EXPECT_TRUE(has(message(with(policy("p", "."), "max-lenght", 5)), "'max-lenght'"));
  EXPECT_TRUE(has(message(with(policy("p", "."), "x-max-length", 5)), "have no 'x-'"));
  EXPECT_TRUE(has(message(with(policy("p", "."), "max-priority", 5)), "argument of a declare"));
  EXPECT_TRUE(has(message(with(policy("p", "."), "max-length", -1)), "'max-length'"));
  EXPECT_TRUE(has(message(with(policy("p", "."), "max-length", "many")), "whole number"));
  EXPECT_TRUE(has(message(with(policy("p", "."), "overflow", "burst")), "drop-head"));
  EXPECT_TRUE(has(message(with(policy("p", "."), "alternate-exchange", "")), "alternate-exchange"));
  EXPECT_TRUE(has(message(with(policy("p", "("), "max-length", 5)), "pattern '('"));
  EXPECT_TRUE(has(message(policy("p", ".")), "sets nothing"));
  EXPECT_TRUE(has(message(with(policy("", "."), "max-length", 5)), "policy name"));
  v1::PolicyDefinition odd = with(policy("p", "."), "max-length", 5);
  odd.set_apply_to("streams");
  EXPECT_TRUE(has(message(odd), "'streams'"));
  odd.set_apply_to("exchanges");
  EXPECT_TRUE(has(message(odd), "one of queues"));
  odd = with(policy("p", "."), "alternate-exchange", "e");
  odd.set_apply_to("queues");
  EXPECT_TRUE(has(message(odd), "one of exchanges"));
}

TEST(QueuePolicies, OfLimitsTheLowerCountsAndOfTheRestTheArgument) {
  v1::QueueDefinition own = queue("q");
  (*own.mutable_arguments())["x-max-length"].set_int_value(10);
  (*own.mutable_arguments())["x-message-ttl"].set_int_value(10);
  (*own.mutable_arguments())["x-dead-letter-exchange"].set_string_value("mine");
  Policies policies;
  v1::PolicyDefinition said = with(with(policy("p", "q"), "max-length", 5), "message-ttl", 20);
  said = with(with(said, "dead-letter-exchange", "theirs"), "dead-letter-routing-key", "k");
  policies.set(with(said, "alternate-exchange", "e"));
  const EffectiveQueue effective = effective_of(own, policies);
  const QueueSettings settings = settings_of(effective.definition);
  EXPECT_EQ(settings.limits.messages, 5u);
  EXPECT_EQ(settings.ttl_ms, 10);
  EXPECT_EQ(settings.dead_letters->exchange, "mine");
  EXPECT_EQ(settings.dead_letters->routing_key, "k");
  std::map<std::string, std::string> origins;
  for (const v1::EffectiveSetting& setting : effective.settings) {
    origins[setting.name()] = setting.origin();
  }
  EXPECT_EQ(origins, (std::map<std::string, std::string>{{"x-dead-letter-exchange", "argument"},
                                                         {"x-dead-letter-routing-key", "policy p"},
                                                         {"x-max-length", "policy p"},
                                                         {"x-message-ttl", "argument"}}));
}

TEST(QueuePolicies, WhatANewerVersionSetsIsLeftAlone) {
  Policies policies;
  policies.set(with(with(policy("p", "."), "new-thing", 5), "max-length", "odd"));
  EXPECT_EQ(effective_of(queue("q"), policies).definition.arguments_size(), 0);
}

/// One policy of the model: a pattern that is a prefix.
struct Said {
  std::string name;
  std::string prefix;
  int priority = 0;
  std::map<std::string, std::int64_t> values;
};

// Against the plainest way to say it: for each key go through all policies.
RC_GTEST_PROP(QueuePolicies, MergesAsThePlainModel, ()) {
  const std::vector<std::string> keys = {"max-length", "message-ttl", "expires", "gc-min-messages"};
  const std::vector<std::string> names = {"a", "ab", "abc", "b", ""};
  Policies policies;
  std::map<std::string, Said> model;
  for (int change = *rc::gen::inRange(0, 12); change > 0; --change) {
    Said said;
    said.name = std::string(1, static_cast<char>('p' + *rc::gen::inRange(0, 5)));
    if (*rc::gen::inRange(0, 4) == 0) {
      model.erase(said.name);
      policies.erase("/", said.name);
      continue;
    }
    said.prefix = *rc::gen::elementOf(names);
    said.priority = *rc::gen::inRange(-2, 3);
    v1::PolicyDefinition definition = policy(said.name, "^" + said.prefix);
    definition.set_priority(said.priority);
    for (const std::string& key : keys) {
      if (!*rc::gen::arbitrary<bool>()) continue;
      said.values[key] = *rc::gen::inRange(1, 9);
      definition = with(definition, key, said.values[key]);
    }
    model[said.name] = said;
    policies.set(definition);
  }
  v1::QueueDefinition own = queue(*rc::gen::elementOf(names) + "x");
  std::map<std::string, std::int64_t> wanted;
  for (const std::string& key : keys) {
    const Said* counts = nullptr;
    for (const auto& [name, said] : model) {
      if (!own.name().starts_with(said.prefix) || !said.values.contains(key)) continue;
      if (counts == nullptr || said.priority > counts->priority) counts = &said;
    }
    std::optional<std::int64_t> value;
    if (counts != nullptr) value = counts->values.at(key);
    if (*rc::gen::arbitrary<bool>()) {
      const std::int64_t argument = *rc::gen::inRange(1, 9);
      (*own.mutable_arguments())["x-" + key].set_int_value(argument);
      const bool lower = key != "gc-min-messages" && value && *value < argument;
      if (!lower) value = argument;
    }
    if (value) wanted["x-" + key] = *value;
  }
  const EffectiveQueue effective = effective_of(own, policies);
  std::map<std::string, std::int64_t> merged;
  for (const auto& [name, value] : effective.definition.arguments()) {
    merged[name] = value.int_value();
  }
  RC_ASSERT(merged == wanted);
}

}  // namespace
}  // namespace segue::node
