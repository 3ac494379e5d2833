#include "node/producer_dedupe.h"

#include <gtest/gtest.h>

namespace segue::node {
namespace {

using Places = std::vector<std::uint32_t>;

Places fresh(const ProducerDedupe& dedupe, std::uint64_t below,
             const std::vector<std::uint64_t>& seqs, std::string_view producer = "p") {
  Places places;
  dedupe.find_fresh(producer, below, seqs, places);
  return places;
}

TEST(ProducerDedupe, KnowsWhatWasAppliedAndWhatIsOnItsWay) {
  ProducerDedupe dedupe;
  EXPECT_TRUE(dedupe.all_fresh("p", 0, {1, 5}));
  dedupe.propose("p", 1, {{1, 3}});
  EXPECT_FALSE(dedupe.all_fresh("p", 0, {3, 6}));
  EXPECT_EQ(fresh(dedupe, 0, {3, 4}), (Places{1}));
  dedupe.apply("p", 1, 0, {{1, 3}}, 1000);
  EXPECT_EQ(fresh(dedupe, 0, {1, 4, 9}), (Places{1, 2}));
  EXPECT_TRUE(dedupe.all_fresh("other", 0, {1, 5}));
}

TEST(ProducerDedupe, WhatWasSkippedIsFreshWhenItComes) {
  ProducerDedupe dedupe;
  dedupe.apply("p", 1, 0, {{5, 9}}, 1000);
  EXPECT_TRUE(dedupe.all_fresh("p", 0, {1, 4}));
  EXPECT_EQ(fresh(dedupe, 0, {4, 5, 10}), (Places{0, 2}));
}

TEST(ProducerDedupe, BelowWhatIsSettledEverythingIsKnownAndForgotten) {
  ProducerDedupe dedupe;
  dedupe.apply("p", 1, 100, {{50, 120}}, 1000);
  EXPECT_EQ(fresh(dedupe, 0, {7, 99, 100, 121}), (Places{3}));
  EXPECT_EQ(fresh(dedupe, 200, {150, 200}), (Places{1}));
  v1::ShardState state;
  dedupe.save(state);
  ASSERT_EQ(state.producers(0).enqueued_size(), 1);
  EXPECT_EQ(state.producers(0).enqueued(0).first(), 100u);
}

TEST(ProducerDedupe, RefusesAnOlderSession) {
  ProducerDedupe dedupe;
  dedupe.propose("p", 5, {{1, 1}});
  EXPECT_TRUE(dedupe.check_session("p", 5).is_ok());
  EXPECT_TRUE(dedupe.check_session("p", 6).is_ok());
  EXPECT_EQ(dedupe.check_session("p", 4).code(), Code::kStaleEpoch);
  EXPECT_TRUE(dedupe.check_session("q", 1).is_ok());
}

TEST(ProducerDedupe, SavesWhatWasAppliedOnly) {
  ProducerDedupe dedupe;
  dedupe.propose("p", 3, {{1, 2}});
  dedupe.apply("p", 3, 0, {{1, 2}}, 1000);
  dedupe.propose("p", 3, {{3, 4}});
  dedupe.propose("new", 1, {{1, 1}});
  v1::ShardState state;
  dedupe.save(state);
  ProducerDedupe restored;
  restored.restore(state);
  EXPECT_EQ(restored.size(), 1u);
  EXPECT_EQ(fresh(restored, 0, {1, 2, 3, 4}), (Places{2, 3}));
  EXPECT_EQ(restored.check_session("p", 2).code(), Code::kStaleEpoch);
}

TEST(ProducerDedupe, ForgetsTheIdleAfterAnHourAndTheOldestWhenThereAreTooMany) {
  ProducerDedupe dedupe(3);
  dedupe.apply("a", 1, 0, {{1, 1}}, 1000);
  dedupe.apply("b", 1, 0, {{1, 1}}, 2000);
  dedupe.apply("a", 1, 0, {{2, 2}}, 3000);
  dedupe.apply("c", 1, 0, {{1, 1}}, 4000);
  dedupe.apply("d", 1, 0, {{1, 1}}, 5000);
  EXPECT_TRUE(dedupe.all_fresh("b", 0, {1, 1}));
  EXPECT_FALSE(dedupe.all_fresh("a", 0, {1, 1}));
  dedupe.apply("e", 1, 0, {{1, 1}}, 3'700'000);
  EXPECT_EQ(dedupe.size(), 1u);
}

TEST(ProducerDedupe, NodesThatPublishDeadLettersAreRememberedForAMonth) {
  constexpr std::int64_t kHour = 3'600'000;
  const std::string node(ProducerDedupe::kLongestClientId + 1, 'n');
  ProducerDedupe dedupe;
  dedupe.apply(node, 1, 5, {{7, 8}}, 1000);
  dedupe.apply("client", 1, 5, {{7, 8}}, 1000);
  for (std::int64_t hour = 1; hour < 24 * 29; ++hour) dedupe.apply("other", 1, 0, {}, hour * kHour);
  EXPECT_EQ(dedupe.size(), 2u);
  EXPECT_EQ(fresh(dedupe, 0, {4, 6, 7, 9}, node), (Places{1, 3}));
  v1::ShardState state;
  dedupe.save(state);
  ProducerDedupe restored;
  restored.restore(state);
  EXPECT_EQ(fresh(restored, 0, {4, 6, 7, 9}, node), (Places{1, 3}));
  const std::string another(ProducerDedupe::kLongestClientId + 1, 'm');
  dedupe.apply(another, 1, 0, {{1, 1}}, 24 * 31 * kHour);
  EXPECT_EQ(fresh(dedupe, 0, {7}, node), (Places{0}));
}

}  // namespace
}  // namespace segue::node
