#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "common/routing/direct_table.h"
#include "common/routing/exchange_router.h"
#include "common/routing/match_cache.h"

namespace segue {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::unique_ptr<ExchangeRouter> make(std::string_view type) {
  auto router = make_exchange_router(type, {});
  EXPECT_TRUE(router.is_ok()) << router.status().message();
  return std::move(*router);
}

void bind(ExchangeRouter& router, std::uint64_t number, std::uint64_t queue, std::string_view key) {
  const Status status =
      router.bind({BindingNumber(number), QueueId(queue), std::to_string(queue), key, {}});
  EXPECT_TRUE(status.is_ok()) << status.message();
}

std::vector<std::uint64_t> match(ExchangeRouter& router, std::string_view key) {
  std::vector<RouteTarget> targets{QueueId(999)};
  router.match({key, v1::Properties::default_instance()}, targets);
  std::vector<std::uint64_t> numbers;
  for (const RouteTarget target : targets) numbers.push_back(target.queue().value);
  return numbers;
}

TEST(ExchangeTypes, AnUnknownOneIsRefusedWithASuggestion) {
  const auto router = make_exchange_router("topics", {});
  ASSERT_FALSE(router.is_ok());
  EXPECT_EQ(router.status().code(), Code::kPreconditionFailed);
  EXPECT_EQ(router.status().message(),
            "there is no exchange type 'topics'; the types are direct, fanout, topic, headers, "
            "x-consistent-hash; did you mean 'topic'?");
  EXPECT_EQ(check_exchange_type("topics", {}), router.status());
  EXPECT_FALSE(check_exchange_type("", {}).is_ok());
  EXPECT_FALSE(check_exchange_type("Topic", {}).is_ok());
  EXPECT_LT(check_exchange_type(std::string(100'000, 'x'), {}).message().size(), 200u);
  for (const char* type : {"direct", "fanout", "topic", "headers", "x-consistent-hash"})
    EXPECT_TRUE(check_exchange_type(type, {}).is_ok());
}

TEST(ExchangeRouter, SaysWhatTakesTheDelayedMessagesOfAnotherBroker) {
  const Status status = check_exchange_type("x-delayed-message", {});
  EXPECT_NE(status.message().find("the type that is its x-delayed-type: any exchange takes"),
            std::string::npos)
      << status.message();
  EXPECT_EQ(status.message().find("did you mean"), std::string::npos);
}

TEST(DirectExchange, MatchesTheExactKey) {
  const auto router = make("direct");
  bind(*router, 1, 10, "red");
  bind(*router, 2, 5, "red");
  bind(*router, 3, 10, "");
  bind(*router, 4, 10, "a.*");
  EXPECT_THAT(match(*router, "red"), ElementsAre(5, 10));
  EXPECT_THAT(match(*router, ""), ElementsAre(10));
  EXPECT_THAT(match(*router, "Red"), IsEmpty());
  EXPECT_THAT(match(*router, "a.b"), IsEmpty());
  EXPECT_THAT(match(*router, "a.*"), ElementsAre(10));
  EXPECT_EQ(router->binding_count(), 4u);
}

TEST(FanoutExchange, MatchesEveryQueueOnce) {
  const auto router = make("fanout");
  EXPECT_THAT(match(*router, "x"), IsEmpty());
  bind(*router, 1, 10, "");
  bind(*router, 2, 5, "x");
  bind(*router, 3, 10, "y");
  EXPECT_THAT(match(*router, "whatever"), ElementsAre(5, 10));
  router->unbind(BindingNumber(1));
  EXPECT_THAT(match(*router, ""), ElementsAre(5, 10));
  router->unbind(BindingNumber(3));
  EXPECT_THAT(match(*router, ""), ElementsAre(5));
}

TEST(TopicExchange, SeesChangesAlthoughItRemembers) {
  const auto router = make("topic");
  bind(*router, 1, 10, "a.#");
  EXPECT_THAT(match(*router, "a.b"), ElementsAre(10));
  EXPECT_THAT(match(*router, "a.b"), ElementsAre(10));
  bind(*router, 2, 5, "*.b");
  EXPECT_THAT(match(*router, "a.b"), ElementsAre(5, 10));
  EXPECT_THAT(match(*router, "a.b"), ElementsAre(5, 10));
  router->unbind(BindingNumber(1));
  EXPECT_THAT(match(*router, "a.b"), ElementsAre(5));
}

class AnyExchange : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(All, AnyExchange, testing::Values("direct", "fanout", "topic"));

TEST_P(AnyExchange, BindingANumberAgainChangesNothing) {
  const auto router = make(GetParam());
  bind(*router, 1, 10, "k");
  bind(*router, 1, 11, "k");
  EXPECT_THAT(match(*router, "k"), ElementsAre(10));
  EXPECT_EQ(router->binding_count(), 1u);
  router->unbind(BindingNumber(1));
  EXPECT_THAT(match(*router, "k"), IsEmpty());
}

TEST_P(AnyExchange, TwoBindingsOfOneQueueByOneKeyAreTwo) {
  const auto router = make(GetParam());
  bind(*router, 1, 10, "k");
  bind(*router, 2, 10, "k");
  EXPECT_THAT(match(*router, "k"), ElementsAre(10));
  router->unbind(BindingNumber(1));
  EXPECT_THAT(match(*router, "k"), ElementsAre(10));
  router->unbind(BindingNumber(2));
  EXPECT_THAT(match(*router, "k"), IsEmpty());
  EXPECT_EQ(router->binding_count(), 0u);
}

TEST_P(AnyExchange, UnbindingWhatIsNotBoundChangesNothing) {
  const auto router = make(GetParam());
  bind(*router, 1, 10, "k");
  router->unbind(BindingNumber(2));
  EXPECT_THAT(match(*router, "k"), ElementsAre(10));
}

TEST(DirectTable, ForgetsKeysWithoutTargets) {
  DirectTable table;
  table.add("a", QueueId(1));
  table.add("a", QueueId(2));
  table.add("b", QueueId(1));
  EXPECT_EQ(table.key_count(), 2u);
  table.remove("a", QueueId(1));
  table.remove("a", QueueId(2));
  table.remove("c", QueueId(2));
  EXPECT_EQ(table.key_count(), 1u);
}

TEST(MatchCache, KeepsWhatIsAskedForAndIsBounded) {
  MatchCache cache({.entries = 4, .targets = 100, .entry_targets = 3, .key_bytes = 8});
  cache.put("hot", {QueueId(1)});
  for (int i = 0; i < 1000; ++i) {
    cache.put("k" + std::to_string(i), {QueueId(2)});
    ASSERT_LE(cache.size(), 8u);
    const auto* targets = cache.find("hot");
    ASSERT_NE(targets, nullptr) << i;
    EXPECT_THAT(*targets, ElementsAre(QueueId(1)));
  }
  EXPECT_EQ(cache.find("k1"), nullptr);
  EXPECT_NE(cache.find("k999"), nullptr);
}

TEST(MatchCache, BoundsTheTargetsItHolds) {
  MatchCache cache({.entries = 1000, .targets = 6, .entry_targets = 3, .key_bytes = 8});
  for (int i = 0; i < 100; ++i) {
    cache.put("k" + std::to_string(i), std::vector<RouteTarget>(3, QueueId(1)));
    EXPECT_LE(cache.size(), 4u);
  }
}

TEST(MatchCache, LeavesOutWhatIsTooLarge) {
  MatchCache cache({.entries = 4, .targets = 100, .entry_targets = 3, .key_bytes = 8});
  cache.put("many", std::vector<RouteTarget>(4, QueueId(1)));
  cache.put("123456789", {QueueId(1)});
  EXPECT_EQ(cache.size(), 0u);
}

TEST(MatchCache, RemembersThatNobodyWantsAKey) {
  MatchCache cache;
  cache.put("nobody", {});
  ASSERT_NE(cache.find("nobody"), nullptr);
  EXPECT_THAT(*cache.find("nobody"), IsEmpty());
  cache.clear();
  EXPECT_EQ(cache.find("nobody"), nullptr);
}

}  // namespace
}  // namespace segue
