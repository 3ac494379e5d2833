#include "node/dedupe_window.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>

namespace segue::node {
namespace {

DedupeId id(int number) {
  return DedupeId::of(std::to_string(number));
}

class DedupeWindowTest : public ::testing::Test {
 protected:
  DedupeWindowTest() { window.set_limits({1000, 3}, 0); }

  MemoryBudget memory{64 << 20};
  DedupeWindow window{memory};
};

TEST_F(DedupeWindowTest, KnowsAnIdForAsLongAsTheWindowIs) {
  EXPECT_FALSE(window.knows(id(1), 100));
  window.add(id(1), 100);
  EXPECT_TRUE(window.knows(id(1), 100));
  EXPECT_TRUE(window.knows(id(1), 1099));
  EXPECT_FALSE(window.knows(id(1), 1100));
  EXPECT_FALSE(window.knows(id(2), 100));
}

TEST_F(DedupeWindowTest, TheOldestGoWhenThereAreTooMany) {
  for (int i = 1; i <= 4; ++i) window.add(id(i), 100 + i);
  EXPECT_FALSE(window.knows(id(1), 200));
  for (int i = 2; i <= 4; ++i) EXPECT_TRUE(window.knows(id(i), 200)) << i;
  EXPECT_EQ(window.entries(), 3u);
}

TEST_F(DedupeWindowTest, ForgetsWhatIsOverSomeAtOnceAndGivesTheMemoryBack) {
  for (int i = 1; i <= 3; ++i) window.add(id(i), 100 * i);
  EXPECT_EQ(memory.used(), window.bytes());
  EXPECT_GT(window.bytes(), 0u);
  window.forget_old(1250, 1);
  EXPECT_EQ(window.entries(), 2u);
  window.forget_old(1250, 10);
  EXPECT_EQ(window.entries(), 1u);
  EXPECT_TRUE(window.knows(id(3), 1250));
  EXPECT_EQ(memory.used(), window.bytes());
  window.set_limits({}, 1250);
  EXPECT_EQ(memory.used(), 0u);
}

TEST_F(DedupeWindowTest, AnIdThatComesAgainAfterItsTimeIsKnownFromThenOn) {
  window.add(id(1), 100);
  window.add(id(1), 1200);
  window.forget_old(1300, 10);
  EXPECT_TRUE(window.knows(id(1), 2100));
  EXPECT_EQ(window.entries(), 1u);
}

TEST_F(DedupeWindowTest, WhatIsProposedIsKnownUntilThatEnds) {
  window.propose(id(1));
  window.propose(id(1));
  EXPECT_TRUE(window.knows(id(1), 100));
  window.end_proposed(id(1));
  EXPECT_TRUE(window.knows(id(1), 100));
  window.end_proposed(id(1));
  EXPECT_FALSE(window.knows(id(1), 100));
  EXPECT_EQ(window.entries(), 0u);
}

TEST_F(DedupeWindowTest, OtherLimitsHoldForWhatIsThere) {
  for (int i = 1; i <= 3; ++i) window.add(id(i), 100 * i);
  window.set_limits({1000, 2}, 400);
  EXPECT_FALSE(window.knows(id(1), 400));
  EXPECT_TRUE(window.knows(id(2), 400));
  window.set_limits({150, 2}, 400);
  EXPECT_FALSE(window.knows(id(2), 400));
  EXPECT_TRUE(window.knows(id(3), 400));
}

TEST_F(DedupeWindowTest, TimesThatMakeNoSenseAreNoTrouble) {
  constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  window.add(id(1), kLeast);
  window.add(id(2), kMost);
  for (const std::int64_t now : {kLeast, std::int64_t{0}, kMost}) {
    EXPECT_FALSE(window.knows(id(1), now));
    window.set_limits({1000, 3}, now);
  }
}

TEST_F(DedupeWindowTest, IsSavedAndRestored) {
  for (int i = 1; i <= 3; ++i) window.add(id(i), 100 * i);
  window.propose(id(9));
  v1::DedupeState state;
  window.save(state);
  DedupeWindow again(memory);
  ASSERT_TRUE(again.restore(state).is_ok());
  EXPECT_EQ(again.limits(), window.limits());
  for (int i = 1; i <= 3; ++i) EXPECT_TRUE(again.knows(id(i), 400)) << i;
  EXPECT_FALSE(again.knows(id(1), 1100));
  EXPECT_FALSE(again.knows(id(9), 400));
  state.mutable_entries()->pop_back();
  EXPECT_FALSE(DedupeWindow(memory).restore(state).is_ok());
}

}  // namespace
}  // namespace segue::node
