#include "common/policies.h"

#include <gtest/gtest.h>

#include <string>

namespace segue {
namespace {

using Target = Policies::Target;

v1::PolicyDefinition policy(const std::string& name, const std::string& pattern, int priority,
                            const std::string& key, int value,
                            std::string_view apply_to = kApplyToAll) {
  v1::PolicyDefinition made;
  made.set_vhost("/");
  made.set_name(name);
  made.set_pattern(pattern);
  made.set_priority(priority);
  made.set_apply_to(std::string(apply_to));
  (*made.mutable_definition())[key].set_int_value(value);
  return made;
}

TEST(Policies, TheHighestPriorityCountsKeyByKey) {
  Policies policies;
  policies.set(policy("low", ".", 1, "a", 1));
  policies.set(policy("high", "^q", 2, "a", 2));
  policies.set(policy("other", "^q", -5, "b", 3));
  auto values = policies.values_of(Target::kQueue, "/", "q1");
  ASSERT_EQ(values.size(), 2u);
  EXPECT_EQ(values["a"].value->int_value(), 2);
  EXPECT_EQ(values["a"].policy, "high");
  EXPECT_EQ(values["b"].policy, "other");
  EXPECT_EQ(policies.value_of(Target::kQueue, "/", "x", "a").policy, "low");
  EXPECT_EQ(policies.value_of(Target::kQueue, "/", "x", "b").value, nullptr);
}

TEST(Policies, OfEqualPrioritiesTheFirstNameCounts) {
  for (const bool forwards : {true, false}) {
    Policies policies;
    policies.set(policy(forwards ? "a" : "b", ".", 0, "k", 1));
    policies.set(policy(forwards ? "b" : "a", ".", 0, "k", 2));
    EXPECT_EQ(policies.value_of(Target::kQueue, "/", "q", "k").policy, "a");
  }
}

TEST(Policies, AreForQueuesOrExchangesOfTheirVirtualHost) {
  Policies policies;
  policies.set(policy("q", ".", 0, "k", 1, kApplyToQueues));
  policies.set(policy("e", ".", 0, "k", 2, kApplyToExchanges));
  EXPECT_EQ(policies.value_of(Target::kQueue, "/", "x", "k").policy, "q");
  EXPECT_EQ(policies.value_of(Target::kExchange, "/", "x", "k").policy, "e");
  EXPECT_EQ(policies.value_of(Target::kQueue, "other", "x", "k").value, nullptr);
  EXPECT_EQ(policies.count("/"), 2u);
  EXPECT_EQ(policies.count("other"), 0u);
}

TEST(Policies, ReplacesByNameAndForgets) {
  Policies policies;
  policies.set(policy("p", "^a", 5, "k", 1));
  const std::uint64_t before = policies.generation();
  policies.set(policy("p", "^b", 1, "k", 2));
  EXPECT_GT(policies.generation(), before);
  EXPECT_EQ(policies.count(), 1u);
  EXPECT_EQ(policies.value_of(Target::kQueue, "/", "a", "k").value, nullptr);
  EXPECT_EQ(policies.value_of(Target::kQueue, "/", "b", "k").value->int_value(), 2);
  const Policies copy = policies;
  policies.erase("/", "p");
  policies.erase("/", "p");
  EXPECT_EQ(policies.find("/", "p"), nullptr);
  EXPECT_TRUE(policies.values_of(Target::kQueue, "/", "b").empty());
  EXPECT_EQ(copy.value_of(Target::kQueue, "/", "b", "k").value->int_value(), 2);
}

TEST(Policies, APatternThatCannotBeCompiledMatchesNothing) {
  Policies policies;
  policies.set(policy("p", "(", 0, "k", 1));
  EXPECT_TRUE(policies.values_of(Target::kQueue, "/", "(").empty());
  EXPECT_NE(policies.find("/", "p"), nullptr);
}

TEST(Policies, ListsByName) {
  Policies policies;
  for (const char* name : {"c", "a", "b"}) policies.set(policy(name, ".", 0, "k", 1));
  const auto listed = policies.list("/", "a", 1);
  ASSERT_EQ(listed.size(), 1u);
  EXPECT_EQ(listed[0]->name(), "b");
  EXPECT_EQ(policies.all().size(), 3u);
}

}  // namespace
}  // namespace segue
