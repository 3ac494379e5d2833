#include "cli/settle_plan.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace segue::cli {
namespace {

TEST(SettlePlan, SettlesEverythingAtOnceWithoutACount) {
  SettlePlan plan(std::nullopt, 500);
  EXPECT_EQ(plan.prefetch(), 500u);
  EXPECT_EQ(plan.take(700), 700u);
  EXPECT_FALSE(plan.complete());
}

TEST(SettlePlan, AsksForNoMoreThanTheCount) {
  SettlePlan plan(3, 500);
  EXPECT_EQ(plan.prefetch(), 3u);
  EXPECT_EQ(plan.want(), 3u);
  EXPECT_EQ(plan.take(2), 0u);
  EXPECT_EQ(plan.want(), 1u);
  EXPECT_EQ(plan.take(1), 0u);
  EXPECT_TRUE(plan.complete());
}

TEST(SettlePlan, IsCompleteAtOnceForACountOfZero) {
  EXPECT_TRUE(SettlePlan(0, 5).complete());
}

// A broker that sends as much as the prefetch allows: it must send exactly `count` messages.
RC_GTEST_PROP(SettlePlan, GetsExactlyTheCountFromAGenerousBroker, ()) {
  const auto count = *rc::gen::inRange<std::uint64_t>(1, 300);
  const auto prefetch = *rc::gen::inRange<std::uint64_t>(1, 100);
  SettlePlan plan(count, prefetch);
  std::uint64_t sent = 0;
  std::uint64_t settled = 0;
  while (!plan.complete()) {
    sent = settled + plan.prefetch();
    RC_ASSERT(sent <= count);
    RC_ASSERT(sent > plan.taken());  // or it would wait for ever
    const auto arrived = *rc::gen::inRange<std::uint64_t>(1, sent - plan.taken() + 1);
    settled += plan.take(std::min<std::uint64_t>(arrived, plan.want()));
  }
  RC_ASSERT(plan.taken() == count);
  RC_ASSERT(settled + plan.prefetch() == count);
}

}  // namespace
}  // namespace segue::cli
