// The lines of the messaging semantics about publishing that are decided in the node, by their
// numbers.

#include "tests/node/queue_host_fixture.h"

namespace segue::node {
namespace {

using Bodies = std::vector<std::string>;

class PublishSemantics : public QueueHostTest {};

// ---- 2: confirms and durability

TEST_F(PublishSemantics, S02_AQueueWithAnIntervalConfirmsWhenWrittenAndSaysSo) {
  v1::QueueDefinition definition = define(1);
  (*definition.mutable_arguments())["x-durability"].set_int_value(500);
  host->add_queue(definition);
  const auto batch = publish({"a"}, {1});
  turn();
  ASSERT_NE(confirm_of(batch), nullptr);
  EXPECT_EQ(confirm_of(batch)->durability(), v1::DURABILITY_INTERVAL);
}

TEST_F(PublishSemantics, S02_AQueueMayAskForSyncWhereTheClusterDoesNot) {
  options.durability_sync = false;
  options.durability_interval_ms = 100;
  open();
  declare(1);
  v1::QueueDefinition definition = define(2);
  (*definition.mutable_arguments())["x-durability"].set_string_value("sync");
  host->add_queue(definition);
  const auto weak = publish({"a"}, {1});
  const auto strong = publish({"a"}, {2});
  turn();
  EXPECT_EQ(confirm_of(weak)->durability(), v1::DURABILITY_INTERVAL);
  EXPECT_EQ(confirm_of(strong)->durability(), v1::DURABILITY_SYNC);
}

TEST_F(PublishSemantics, S02_ATransientQueueIsEmptyAfterARestart) {
  declare(1, false);
  publish({"a"}, {1});
  turn();
  EXPECT_EQ(status(1).ready(), 1u);
  open();
  EXPECT_EQ(status(1).ready(), 0u);
  const auto batch = publish({"b"}, {1});
  ASSERT_NE(confirm_of(batch), nullptr);
  subscribe(1, 1);
  settle_down();
  EXPECT_EQ(take_bodies(1), (Bodies{"b"}));
}

// ---- 4: several queues

TEST_F(PublishSemantics, S04_SeveralQueuesEachGetOneCopyUnderOneConfirm) {
  declare(1);
  declare(2);
  declare(3, false);
  const auto batch = publish({"a", "b"}, {1, 2, 3});
  EXPECT_EQ(confirm_of(batch), nullptr);
  turn();
  ASSERT_NE(confirm_of(batch), nullptr);
  EXPECT_EQ(output->confirms.size(), 1u);
  EXPECT_EQ(confirm_of(batch)->durability(), v1::DURABILITY_TRANSIENT);  // the weakest
  for (std::uint64_t queue = 1; queue <= 3; ++queue) {
    EXPECT_EQ(status(queue).ready(), 2u);
    EXPECT_EQ(status(queue).bytes(), 2u);
  }
}

TEST_F(PublishSemantics, S04_EachQueueGetsItsOwnMessagesOfTheBatch) {
  declare(1);
  declare(2);
  v1::ShardPublish message = publish_of({"a", "b", "c", "d"}, {});
  message.set_batch_id(77);
  auto* one = message.add_targets();
  one->set_queue_id(1);
  one->add_messages(0);
  one->add_messages(2);
  one->add_messages(3);
  auto* two = message.add_targets();
  two->set_queue_id(2);
  two->add_messages(1);
  host->on_publish(kRouter, message, joined({"a", "b", "c", "d"}));
  subscribe(1, 1);
  subscribe(2, 2);
  settle_down();
  EXPECT_EQ(take_bodies(1), (Bodies{"a", "c", "d"}));
  EXPECT_EQ(take_bodies(2), (Bodies{"b"}));
  open();
  EXPECT_EQ(status(1).ready(), 3u);
  EXPECT_EQ(status(2).ready(), 1u);
}

TEST_F(PublishSemantics, S05_APublishToAQueueThatWasDeletedIsConfirmed) {
  declare(1);
  declare(2);
  host->remove_queue(QueueId{1});
  const auto alone = publish({"a"}, {1});
  ASSERT_NE(confirm_of(alone), nullptr);
  EXPECT_FALSE(confirm_of(alone)->has_error());
  const auto both = publish({"a"}, {1, 2});
  turn();
  ASSERT_NE(confirm_of(both), nullptr);
  EXPECT_FALSE(confirm_of(both)->has_error());
  EXPECT_EQ(status(2).ready(), 1u);
}

// ---- 6, 7: order, exactly once

TEST_F(PublishSemantics, S07_WhatIsSentAgainIsConfirmedAndNotEnqueuedAgain) {
  declare(1);
  publish_as("p", 1, {"a", "b"}, 1);
  turn();
  const auto again = publish_as("p", 1, {"a", "b"}, 1);
  ASSERT_NE(confirm_of(again), nullptr);
  EXPECT_FALSE(confirm_of(again)->has_error());
  EXPECT_EQ(status(1).ready(), 2u);
}

TEST_F(PublishSemantics, S07_ADuplicateWaitsUntilTheOriginalIsDurable) {
  declare(1);
  disk.commit_on_flush = false;
  const auto first = publish_as("p", 1, {"a"}, 1);
  const auto again = publish_as("p", 1, {"a"}, 1, 2);
  turn();
  EXPECT_EQ(confirm_of(again), nullptr);
  disk.commit();
  turn();
  EXPECT_NE(confirm_of(first), nullptr);
  EXPECT_NE(confirm_of(again), nullptr);
  EXPECT_EQ(status(1).ready(), 1u);
}

TEST_F(PublishSemantics, S07_OfAPartlyKnownBatchTheRestIsEnqueuedInOrder) {
  declare(1);
  publish_as("p", 1, {"m1", "m2"}, 1);
  turn();
  publish_as("p", 1, numbered(5), 1);
  turn();
  subscribe(1, 1);
  settle_down();
  EXPECT_EQ(take_bodies(1), numbered(5));
}

TEST_F(PublishSemantics, S07_OnceAcrossRestartsWithAndWithoutACheckpoint) {
  declare(1);
  for (int round = 0; round < 2; ++round) {
    publish_as("p", 1, numbered(3), 1, 1 + round);
    turn();
    open();
    const auto again = publish_as("p", 1, numbered(4), 1, 5);
    turn();
    ASSERT_NE(confirm_of(again), nullptr);
    EXPECT_FALSE(confirm_of(again)->has_error());
    EXPECT_EQ(status(1).ready(), 4u);
    bool done = false;
    host->begin_shutdown([&] { done = true; });
    settle_down();
    ASSERT_TRUE(done);
    open();
    EXPECT_EQ(status(1).ready(), 4u);
  }
}

TEST_F(PublishSemantics, S07_ALostUncommittedPublishIsTakenAgainAfterTheRestart) {
  declare(1);
  publish_as("p", 1, {"a"}, 1);
  turn();
  disk.commit_on_flush = false;
  publish_as("p", 2, {"b"}, 1);
  host->begin_shutdown([] {});
  for (int i = 0; i < 10; ++i) turn();  // a checkpoint, but no commit of "b"
  open();
  disk.commit_on_flush = true;
  EXPECT_EQ(status(1).ready(), 1u);
  publish_as("p", 2, {"b"}, 1);
  turn();
  EXPECT_EQ(status(1).ready(), 2u);
}

TEST_F(PublishSemantics, S07_AnOlderSessionOfAProducerIsRefused) {
  declare(1);
  publish_as("p", 1, {"a"}, 1, 2);
  const auto old = publish_as("p", 2, {"b"}, 1, 1);
  ASSERT_NE(confirm_of(old), nullptr);
  EXPECT_EQ(confirm_of(old)->error().code(), static_cast<std::uint32_t>(Code::kStaleEpoch));
  turn();
  EXPECT_EQ(status(1).ready(), 1u);
  EXPECT_FALSE(confirm_of(publish_as("p", 1, {"a"}, 1, 3)) == nullptr);
}

TEST_F(PublishSemantics, S06_ATransientQueueDropsDuplicatesToo) {
  declare(1, false);
  publish_as("p", 1, {"a", "b"}, 1);
  publish_as("p", 2, {"b", "c"}, 1, 2);
  subscribe(1, 1);
  settle_down();
  EXPECT_EQ(take_bodies(1), (Bodies{"a", "b", "c"}));
}

}  // namespace
}  // namespace segue::node
