// The lines of the messaging semantics about consuming that are decided in the node, by their
// numbers.

#include "tests/node/queue_host_fixture.h"

namespace segue::node {
namespace {

using Bodies = std::vector<std::string>;

class ConsumeSemantics : public QueueHostTest {};

// ---- 17: delivery tags

TEST_F(ConsumeSemantics, S17_TagsCountFromOneForEachSubscription) {
  declare(1);
  publish(numbered(4), {1});
  subscribe(1, 1, {.prefetch = 2});
  subscribe(2, 1, {.prefetch = 2});
  settle_down();
  for (const std::uint64_t consumer : {1u, 2u}) {
    const auto seen = take(consumer);
    ASSERT_EQ(seen.size(), 2u);
    EXPECT_EQ(seen[0].number, 1u);
    EXPECT_EQ(seen[1].number, 2u);
  }
}

TEST_F(ConsumeSemantics, S17_SettlingAnUnknownOrSettledTagIsAnErrorForThatCallOnly) {
  declare(1);
  publish(numbered(4), {1});
  subscribe(1, 1);
  settle_down();
  settle(1, 2, 2);
  settle(1, 1, 3, v1::OUTCOME_ACK, 9);  // 2 is settled already; 1 and 3 are settled by this
  settle_down();
  ASSERT_NE(settle_ok(9), nullptr);
  EXPECT_EQ(settle_ok(9)->error().code(), 406u);
  EXPECT_EQ(status(1).unacked(), 1u);
  settle(1, 5, 5);
  ASSERT_NE(settle_ok(0), nullptr);  // without a confirm id the error comes too
  EXPECT_EQ(settle_ok(0)->error().code(), 406u);
  settle(1, 4, 4, v1::OUTCOME_ACK, 10);
  settle_down();
  EXPECT_FALSE(settle_ok(10)->has_error());
  EXPECT_EQ(status(1).unacked(), 0u);
}

TEST_F(ConsumeSemantics, S17_ASettleIsConfirmedWhenItIsDurable) {
  declare(1);
  publish({"a"}, {1});
  subscribe(1, 1);
  settle_down();
  disk.commit_on_flush = false;
  settle(1, 1, 1, v1::OUTCOME_REJECT, 3);
  turn();
  turn();
  EXPECT_EQ(settle_ok(3), nullptr);
  disk.commit();
  turn();
  ASSERT_NE(settle_ok(3), nullptr);
  disk.commit_on_flush = true;
  open();
  EXPECT_EQ(status(1).ready(), 0u);
}

// ---- 18: round-robin, priorities, prefetch

TEST_F(ConsumeSemantics, S18_ConsumersWithPrefetchOneShareFairly) {
  declare(1);
  for (std::uint64_t consumer = 1; consumer <= 4; ++consumer) {
    subscribe(consumer, 1, {.prefetch = 1});
  }
  publish(numbered(400), {1});
  std::map<std::uint64_t, int> got;
  for (int round = 0; round < 200; ++round) {
    turn();
    for (std::uint64_t consumer = 1; consumer <= 4; ++consumer) {
      for (const SeenMessage& message : take(consumer)) {
        ++got[consumer];
        settle(consumer, message.number, message.number);
      }
    }
  }
  for (std::uint64_t consumer = 1; consumer <= 4; ++consumer) EXPECT_EQ(got[consumer], 100);
}

TEST_F(ConsumeSemantics, S18_AFewMessagesAreSpreadOverConsumersWithMuchCredit) {
  declare(1);
  subscribe(1, 1);
  subscribe(2, 1);
  publish(numbered(10), {1});
  settle_down();
  EXPECT_EQ(take(1).size(), 5u);
  EXPECT_EQ(take(2).size(), 5u);
}

TEST_F(ConsumeSemantics, S18_AHigherPriorityIsServedFirstWhileItHasCredit) {
  declare(1);
  subscribe(1, 1, {.priority = 0});
  subscribe(2, 1, {.prefetch = 3, .priority = 10});
  publish(numbered(5), {1});
  settle_down();
  EXPECT_EQ(take_bodies(2), numbered(3));
  EXPECT_EQ(take_bodies(1), numbered(2, 4));
}

TEST_F(ConsumeSemantics, S18_PrefetchCanBeRaisedAndOpensWithEachSettle) {
  declare(1);
  subscribe(1, 1, {.prefetch = 2});
  publish(numbered(10), {1});
  settle_down();
  EXPECT_EQ(take(1).size(), 2u);
  settle(1, 1, 1);
  settle_down();
  EXPECT_EQ(take_bodies(1), numbered(1, 3));
  v1::ConsumerCommand command;
  command.set_consumer(1);
  command.mutable_set_prefetch()->set_prefetch_count(5);
  host->on_consumer_command(kRouter, command);
  settle_down();
  EXPECT_EQ(take_bodies(1), numbered(3, 4));
}

TEST_F(ConsumeSemantics, S18_PrefetchInBytesAndTheWindowBoundWhatIsOut) {
  declare(1);
  declare(2);
  const Bodies bodies(10, std::string(1000, 'x'));
  publish(bodies, {1, 2});
  subscribe(1, 1, {.prefetch_bytes = 2500});
  subscribe(2, 2, {.window_bytes = 3 * 1064});
  settle_down();
  EXPECT_EQ(take(1).size(), 2u);
  EXPECT_EQ(take(2).size(), 3u);
  settle(1, 1, 1);
  received(2, 3);
  settle_down();
  EXPECT_EQ(take(1).size(), 1u);
  EXPECT_EQ(take(2).size(), 3u);
  settle(2, 4, 6);  // says that they were received, too
  settle_down();
  EXPECT_EQ(take(2).size(), 3u);
}

TEST_F(ConsumeSemantics, S18_NoAckConsumersIgnoreThePrefetchAndSettleAtDelivery) {
  declare(1);
  publish(numbered(5), {1});
  subscribe(1, 1, {.prefetch = 1, .no_ack = true});
  settle_down();
  EXPECT_EQ(take(1).size(), 5u);
  EXPECT_EQ(status(1).unacked(), 0u);
  open();
  EXPECT_EQ(status(1).ready(), 0u);
}

// ---- 20: back to the original position

TEST_F(ConsumeSemantics, S20_RequeuedOnesComeBackInTheirPlacesFlaggedAndCounted) {
  declare(1);
  publish(numbered(6), {1});
  subscribe(1, 1, {.prefetch = 4});
  settle_down();
  take(1);
  settle(1, 3, 3, v1::OUTCOME_REQUEUE);
  settle(1, 1, 1, v1::OUTCOME_REQUEUE);
  settle_down();
  auto seen = take(1);
  ASSERT_EQ(seen.size(), 2u);
  EXPECT_EQ(seen[0].body, "m1");
  EXPECT_EQ(seen[0].number, 5u);
  EXPECT_TRUE(seen[0].redelivered);
  EXPECT_EQ(seen[0].delivery_count, 1u);
  EXPECT_EQ(seen[1].body, "m3");
  settle(1, 5, 5, v1::OUTCOME_REQUEUE);
  settle_down();
  seen = take(1);
  ASSERT_EQ(seen.size(), 1u);
  EXPECT_EQ(seen[0].delivery_count, 2u);
}

TEST_F(ConsumeSemantics, S20_AConsumersLossRequeuesInOrderBeforeTheRest) {
  declare(1);
  publish(numbered(5), {1});
  subscribe(1, 1, {.prefetch = 3});
  settle_down();
  take(1);
  settle(1, 2, 2);
  unsubscribe(1, true);
  subscribe(2, 1);
  settle_down();
  const auto seen = take(2);
  ASSERT_EQ(seen.size(), 4u);
  EXPECT_EQ(seen[0].body, "m1");
  EXPECT_TRUE(seen[0].redelivered);
  EXPECT_EQ(seen[1].body, "m3");
  EXPECT_EQ(seen[1].delivery_count, 1u);
  EXPECT_EQ(seen[2].body, "m4");
  EXPECT_FALSE(seen[2].redelivered);
}

TEST_F(ConsumeSemantics, S20_ALostPeersMessagesAreReadyAgain) {
  declare(1);
  publish(numbered(3), {1});
  subscribe(1, 1);
  settle_down();
  take(1);
  host->on_peer_lost(kRouter);
  subscribe(1, 1, {}, PeerId{2});
  settle_down();
  const auto seen = take(1, PeerId{2});
  ASSERT_EQ(seen.size(), 3u);
  EXPECT_EQ(seen[0].number, 1u);
  EXPECT_TRUE(seen[2].redelivered);
}

TEST_F(ConsumeSemantics, S20_CancelDoesNotRequeueAndWhatWasDeliveredCanBeSettled) {
  declare(1);
  publish(numbered(3), {1});
  subscribe(1, 1, {.prefetch = 2});
  settle_down();
  take(1);
  unsubscribe(1, false);
  settle_down();
  EXPECT_EQ(status(1).ready(), 1u);
  EXPECT_EQ(status(1).unacked(), 2u);
  settle(1, 1, 1, v1::OUTCOME_ACK, 4);
  settle(1, 2, 2, v1::OUTCOME_REQUEUE, 5);
  settle_down();
  EXPECT_FALSE(settle_ok(4)->has_error());
  EXPECT_FALSE(settle_ok(5)->has_error());
  EXPECT_EQ(status(1).ready(), 2u);
  settle(1, 1, 1, v1::OUTCOME_ACK, 6);
  EXPECT_EQ(settle_ok(6)->error().code(), 406u);
}

TEST_F(ConsumeSemantics, S20_DeliveryCountsSurviveRestartsAndCheckpoints) {
  declare(1);
  publish(numbered(3), {1});
  subscribe(1, 1);
  settle_down();
  settle(1, 2, 2, v1::OUTCOME_REQUEUE);
  settle_down();
  for (int round = 0; round < 2; ++round) {
    host->begin_shutdown([] {});
    settle_down();
    open();
  }
  subscribe(1, 1);
  settle_down();
  const auto seen = take(1);
  ASSERT_EQ(seen.size(), 3u);
  EXPECT_EQ(seen[0].delivery_count, 0u);
  EXPECT_EQ(seen[1].delivery_count, 1u);
  EXPECT_TRUE(seen[0].redelivered);  // was out when the node ended
}

TEST_F(ConsumeSemantics, S20_WhatWasNeverDeliveredIsNotFlaggedAfterARestart) {
  declare(1);
  publish(numbered(30'000), {1});
  turn();
  subscribe(1, 1, {.prefetch = 1});
  settle_down();
  take(1);
  open();
  subscribe(1, 1);
  settle_down();
  const auto seen = take(1);
  ASSERT_EQ(seen.size(), 30'000u);
  EXPECT_TRUE(seen[0].redelivered);
  EXPECT_FALSE(seen[29'999].redelivered);
}

// A delivery must not outrun the durable mark that flags it: also when the log is slow.
TEST_F(ConsumeSemantics, S20_NothingIsDeliveredBeforeItsMarkIsDurable) {
  declare(1);
  publish({"a"}, {1});
  turn();
  disk.commit_on_flush = false;
  subscribe(1, 1);
  turn();
  turn();
  EXPECT_TRUE(take(1).empty());
  disk.commit();
  turn();
  turn();
  EXPECT_EQ(take_bodies(1), (Bodies{"a"}));
}

// ---- 23: get

TEST_F(ConsumeSemantics, S23_GetPollsOneMessageWithOrWithoutAck) {
  declare(1);
  EXPECT_FALSE(get(0, 1).reply.has_delivery());
  publish(numbered(3), {1});
  turn();
  auto first = get(50, 1);
  ASSERT_EQ(first.messages.size(), 1u);
  EXPECT_EQ(first.messages[0].body, "m1");
  EXPECT_EQ(first.messages[0].number, 1u);
  EXPECT_EQ(first.reply.remaining(), 2u);
  auto second = get(50, 1, true);
  ASSERT_EQ(second.messages.size(), 1u);
  EXPECT_EQ(second.messages[0].body, "m2");
  settle(50, 1, 1, v1::OUTCOME_REQUEUE, 1);
  settle_down();
  EXPECT_FALSE(settle_ok(1)->has_error());
  auto third = get(50, 1);
  EXPECT_EQ(third.messages.at(0).body, "m1");
  EXPECT_TRUE(third.messages.at(0).redelivered);
  unsubscribe(50, true);
  settle_down();
  EXPECT_EQ(status(1).ready(), 2u);
  EXPECT_EQ(status(1).unacked(), 0u);
}

TEST_F(ConsumeSemantics, S23_OneSessionsGetsMayBeOfQueuesOnSeveralShards) {
  declare(1);
  declare(2, true, false, 7);
  publish({"a"}, {1});
  publish({"b"}, {2}, 7);
  turn();
  EXPECT_EQ(get(50, 1).messages.at(0).number, 1u);
  EXPECT_EQ(get(50, 2).messages.at(0).number, 2u);
  disk.commit_on_flush = false;
  settle(50, 1, 2, v1::OUTCOME_ACK, 9);
  turn();
  EXPECT_EQ(settle_ok(9), nullptr);
  disk.commit(1);
  turn();
  EXPECT_EQ(settle_ok(9), nullptr);  // one shard has it, the other not yet
  disk.commit();
  turn();
  ASSERT_NE(settle_ok(9), nullptr);
}

}  // namespace
}  // namespace segue::node
