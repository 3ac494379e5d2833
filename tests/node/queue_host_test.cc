#include "node/queue_host.h"

#include <algorithm>

#include "tests/node/queue_host_fixture.h"

namespace segue::node {
namespace {

using Bodies = std::vector<std::string>;

// ---- publishing (semantics 2, 4, 6, 7)

TEST_F(QueueHostTest, ConfirmsADurablePublishOnlyWhenItIsCommitted) {
  declare(1);
  disk.commit_on_flush = false;
  const auto batch = publish({"a", "b"}, {1});
  turn();
  EXPECT_EQ(confirm_of(batch), nullptr);
  disk.commit();
  turn();
  ASSERT_NE(confirm_of(batch), nullptr);
  EXPECT_FALSE(confirm_of(batch)->has_error());
  EXPECT_EQ(confirm_of(batch)->durability(), v1::DURABILITY_SYNC);
  EXPECT_EQ(status(1).ready(), 2u);
}

TEST_F(QueueHostTest, ConfirmsATransientPublishAtOnceAndLogsNothing) {
  declare(1, false);
  const auto batch = publish({"a"}, {1});
  ASSERT_NE(confirm_of(batch), nullptr);
  EXPECT_EQ(confirm_of(batch)->durability(), v1::DURABILITY_TRANSIENT);
  EXPECT_EQ(disk.unflushed(), 0u);
}

TEST_F(QueueHostTest, DeliversInOrderAndForgetsWhatIsSettled) {
  declare(1);
  publish({"a", "b"}, {1});
  publish({"c"}, {1});
  turn();
  subscribe(7, 1);
  settle_down();
  EXPECT_EQ(take_bodies(7), (Bodies{"a", "b", "c"}));
  EXPECT_EQ(status(1).unacked(), 3u);
  settle(7, 1, 3, v1::OUTCOME_ACK, 55);
  EXPECT_EQ(settle_ok(55), nullptr);
  settle_down();
  ASSERT_NE(settle_ok(55), nullptr);
  EXPECT_FALSE(settle_ok(55)->has_error());
  EXPECT_EQ(status(1).ready() + status(1).unacked(), 0u);
  open();
  EXPECT_EQ(status(1).ready(), 0u);
}

TEST_F(QueueHostTest, WhatIsUnackedComesBackAfterARestartFlaggedRedelivered) {
  declare(1);
  publish({"a", "b", "c"}, {1});
  turn();
  subscribe(7, 1, {.prefetch = 2});
  settle_down();
  EXPECT_EQ(take_bodies(7), (Bodies{"a", "b"}));
  settle(7, 1, 1);
  settle_down();
  open();
  subscribe(7, 1);
  settle_down();
  const auto seen = take(7);
  ASSERT_EQ(seen.size(), 2u);
  EXPECT_EQ(seen[0].body, "b");
  EXPECT_TRUE(seen[0].redelivered);
  EXPECT_EQ(seen[0].delivery_count, 0u);
  EXPECT_EQ(seen[1].body, "c");
}

}  // namespace
}  // namespace segue::node
