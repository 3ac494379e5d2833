// The lines of the messaging semantics that are decided in the node, by their numbers.
#include <algorithm>

#include "tests/node/queue_host_fixture.h"

namespace segue::node {
namespace {

using Bodies = std::vector<std::string>;

class Semantics : public QueueHostTest {};

// ---- 2: confirms and durability

TEST_F(Semantics, S02_AQueueWithAnIntervalConfirmsWhenWrittenAndSaysSo) {
  v1::QueueDefinition definition = define(1);
  (*definition.mutable_arguments())["x-durability"].set_int_value(500);
  host->add_queue(definition);
  const auto batch = publish({"a"}, {1});
  turn();
  ASSERT_NE(confirm_of(batch), nullptr);
  EXPECT_EQ(confirm_of(batch)->durability(), v1::DURABILITY_INTERVAL);
}

TEST_F(Semantics, S02_AQueueMayAskForSyncWhereTheClusterDoesNot) {
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

TEST_F(Semantics, S02_ATransientQueueIsEmptyAfterARestart) {
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

TEST_F(Semantics, S04_SeveralQueuesEachGetOneCopyUnderOneConfirm) {
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

TEST_F(Semantics, S04_EachQueueGetsItsOwnMessagesOfTheBatch) {
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

TEST_F(Semantics, S05_APublishToAQueueThatWasDeletedIsConfirmed) {
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

TEST_F(Semantics, S07_WhatIsSentAgainIsConfirmedAndNotEnqueuedAgain) {
  declare(1);
  publish_as("p", 1, {"a", "b"}, 1);
  turn();
  const auto again = publish_as("p", 1, {"a", "b"}, 1);
  ASSERT_NE(confirm_of(again), nullptr);
  EXPECT_FALSE(confirm_of(again)->has_error());
  EXPECT_EQ(status(1).ready(), 2u);
}

TEST_F(Semantics, S07_ADuplicateWaitsUntilTheOriginalIsDurable) {
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

TEST_F(Semantics, S07_OfAPartlyKnownBatchTheRestIsEnqueuedInOrder) {
  declare(1);
  publish_as("p", 1, {"m1", "m2"}, 1);
  turn();
  publish_as("p", 1, numbered(5), 1);
  turn();
  subscribe(1, 1);
  settle_down();
  EXPECT_EQ(take_bodies(1), numbered(5));
}

TEST_F(Semantics, S07_OnceAcrossRestartsWithAndWithoutACheckpoint) {
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

TEST_F(Semantics, S07_ALostUncommittedPublishIsTakenAgainAfterTheRestart) {
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

TEST_F(Semantics, S07_AnOlderSessionOfAProducerIsRefused) {
  declare(1);
  publish_as("p", 1, {"a"}, 1, 2);
  const auto old = publish_as("p", 2, {"b"}, 1, 1);
  ASSERT_NE(confirm_of(old), nullptr);
  EXPECT_EQ(confirm_of(old)->error().code(), static_cast<std::uint32_t>(Code::kStaleEpoch));
  turn();
  EXPECT_EQ(status(1).ready(), 1u);
  EXPECT_FALSE(confirm_of(publish_as("p", 1, {"a"}, 1, 3)) == nullptr);
}

TEST_F(Semantics, S06_ATransientQueueDropsDuplicatesToo) {
  declare(1, false);
  publish_as("p", 1, {"a", "b"}, 1);
  publish_as("p", 2, {"b", "c"}, 1, 2);
  subscribe(1, 1);
  settle_down();
  EXPECT_EQ(take_bodies(1), (Bodies{"a", "b", "c"}));
}

// ---- 14: auto-delete

TEST_F(Semantics, S14_AutoDeleteAsksOnceTheLastConsumerIsGoneAndAgainUntilRemoved) {
  declare(1, true, true);
  declare(2, true, true);
  tick(std::chrono::seconds(60));
  EXPECT_TRUE(deletions.empty());
  subscribe(5, 1);
  subscribe(6, 1);
  unsubscribe(5, false);
  EXPECT_TRUE(deletions.empty());
  unsubscribe(6, false);
  EXPECT_EQ(deletions, (std::vector<QueueId>{QueueId{1}}));
  output->events.clear();
  subscribe(7, 1);  // it is being deleted
  ASSERT_EQ(output->events.size(), 1u);
  EXPECT_EQ(output->events[0].second.cancelled().code(), 404u);
  tick(std::chrono::seconds(2));
  EXPECT_EQ(deletions.size(), 2u);
  host->remove_queue(QueueId{1});
  tick(std::chrono::seconds(2));
  EXPECT_EQ(deletions.size(), 2u);
}

TEST_F(Semantics, S14_ABrokenLinkGivesConsumersTimeToComeBack) {
  declare(1, true, true);
  subscribe(5, 1);
  host->on_peer_lost(kRouter);
  tick(std::chrono::seconds(1));
  subscribe(5, 1, {}, PeerId{2});
  tick(std::chrono::seconds(60));
  EXPECT_TRUE(deletions.empty());
  host->on_peer_lost(PeerId{2});
  tick(std::chrono::seconds(60));
  EXPECT_EQ(deletions.size(), 1u);
}

// ---- 15: delete, purge

TEST_F(Semantics, S15_PurgeRemovesReadyOnesAndReturnsTheirNumber) {
  declare(1);
  publish(numbered(5), {1});
  turn();
  subscribe(1, 1, {.prefetch = 2});
  settle_down();
  EXPECT_EQ(take(1).size(), 2u);
  EXPECT_EQ(purge(1).reply.purged(), 3u);
  EXPECT_EQ(status(1).ready(), 0u);
  EXPECT_EQ(status(1).unacked(), 2u);
  open();
  EXPECT_EQ(status(1).ready(), 2u);
  EXPECT_EQ(purge(1).reply.purged(), 2u);
  EXPECT_EQ(purge(1).reply.purged(), 0u);
}

TEST_F(Semantics, S15_PurgeTakesRequeuedOnesToo) {
  declare(1);
  publish(numbered(5), {1});
  subscribe(1, 1, {.prefetch = 3});
  settle_down();
  settle(1, 2, 3, v1::OUTCOME_REQUEUE);
  unsubscribe(1, false);
  settle_down();
  EXPECT_EQ(purge(1).reply.purged(), 4u);
  EXPECT_EQ(status(1).unacked(), 1u);
}

TEST_F(Semantics, S15_IfUnusedAndIfEmptyAreCheckedWithTheNumbersNamed) {
  declare(1);
  v1::QueueRequest message;
  message.set_queue_id(1);
  message.mutable_check_delete()->set_if_unused(true);
  message.mutable_check_delete()->set_if_empty(true);
  EXPECT_FALSE(request(message).reply.has_error());
  subscribe(1, 1, {.prefetch = 1});
  auto refused = request(message).reply;
  EXPECT_EQ(refused.error().code(), 406u);
  EXPECT_NE(refused.error().text().find("'q1'"), std::string::npos);
  EXPECT_NE(refused.error().text().find("1 consumers"), std::string::npos);
  publish(numbered(3), {1});
  settle_down();
  unsubscribe(1, false);
  refused = request(message).reply;
  EXPECT_EQ(refused.error().code(), 406u);
  EXPECT_NE(refused.error().text().find("2 ready and 1 unacked"), std::string::npos);
  message.mutable_check_delete()->set_if_empty(false);
  EXPECT_FALSE(request(message).reply.has_error());
  message.set_queue_id(99);
  EXPECT_EQ(request(message).reply.error().code(), 404u);
}

// ---- 17: delivery tags

TEST_F(Semantics, S17_TagsCountFromOneForEachSubscription) {
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

TEST_F(Semantics, S17_SettlingAnUnknownOrSettledTagIsAnErrorForThatCallOnly) {
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

TEST_F(Semantics, S17_ASettleIsConfirmedWhenItIsDurable) {
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

TEST_F(Semantics, S18_ConsumersWithPrefetchOneShareFairly) {
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

TEST_F(Semantics, S18_AFewMessagesAreSpreadOverConsumersWithMuchCredit) {
  declare(1);
  subscribe(1, 1);
  subscribe(2, 1);
  publish(numbered(10), {1});
  settle_down();
  EXPECT_EQ(take(1).size(), 5u);
  EXPECT_EQ(take(2).size(), 5u);
}

TEST_F(Semantics, S18_AHigherPriorityIsServedFirstWhileItHasCredit) {
  declare(1);
  subscribe(1, 1, {.priority = 0});
  subscribe(2, 1, {.prefetch = 3, .priority = 10});
  publish(numbered(5), {1});
  settle_down();
  EXPECT_EQ(take_bodies(2), numbered(3));
  EXPECT_EQ(take_bodies(1), numbered(2, 4));
}

TEST_F(Semantics, S18_PrefetchCanBeRaisedAndOpensWithEachSettle) {
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

TEST_F(Semantics, S18_PrefetchInBytesAndTheWindowBoundWhatIsOut) {
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

TEST_F(Semantics, S18_NoAckConsumersIgnoreThePrefetchAndSettleAtDelivery) {
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

TEST_F(Semantics, S20_RequeuedOnesComeBackInTheirPlacesFlaggedAndCounted) {
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

TEST_F(Semantics, S20_AConsumersLossRequeuesInOrderBeforeTheRest) {
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

TEST_F(Semantics, S20_ALostPeersMessagesAreReadyAgain) {
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

TEST_F(Semantics, S20_CancelDoesNotRequeueAndWhatWasDeliveredCanBeSettled) {
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

TEST_F(Semantics, S20_DeliveryCountsSurviveRestartsAndCheckpoints) {
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

TEST_F(Semantics, S20_WhatWasNeverDeliveredIsNotFlaggedAfterARestart) {
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
TEST_F(Semantics, S20_NothingIsDeliveredBeforeItsMarkIsDurable) {
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

// ---- 22: deletion

// The mark stands far beyond the oldest message that is looked for, and everything up to it is
// settled: what follows needs a new one all the same.
TEST_F(Semantics, S20_ABacklogBehindManySettledOnesIsDeliveredAfterARestart) {
  declare(1);
  subscribe(7, 1);
  publish(numbered(6000), {1});
  settle_down();
  settle(7, 1, 6000);
  settle_down();
  unsubscribe(7, false);
  publish({"a", "b"}, {1});
  settle_down();
  open();
  subscribe(8, 1);
  settle_down();
  EXPECT_EQ(take(8),
            (std::vector<SeenMessage>{{"a", false, 0, 1, "key"}, {"b", false, 0, 2, "key"}}));
  EXPECT_EQ(status(1).ready(), 0u);
}

TEST_F(Semantics, S20_SoIsOneBehindAHoleOfSettledOnes) {
  declare(1);
  subscribe(7, 1);
  publish(numbered(6000), {1});
  settle_down();
  settle(7, 2, 6000);
  settle_down();
  unsubscribe(7, false);
  publish({"a"}, {1});
  settle_down();
  open();
  const auto first = get(9, 1);
  ASSERT_EQ(first.messages.size(), 1u);
  EXPECT_EQ(first.messages[0].body, "m1");
  EXPECT_TRUE(first.messages[0].redelivered);
  const auto second = get(9, 1);
  ASSERT_EQ(second.messages.size(), 1u);
  EXPECT_EQ(second.messages[0].body, "a");
  EXPECT_FALSE(second.messages[0].redelivered);
}

TEST_F(Semantics, S22_ConsumersAreToldWhenTheQueueIsDeleted) {
  declare(1);
  publish(numbered(3), {1});
  subscribe(8, 1, {.prefetch = 2});
  settle_down();
  take(8);
  output->events.clear();
  host->remove_queue(QueueId{1});
  ASSERT_EQ(output->events.size(), 1u);
  EXPECT_EQ(output->events[0].second.consumer(), 8u);
  EXPECT_EQ(output->events[0].second.cancelled().code(), 404u);
  EXPECT_NE(output->events[0].second.cancelled().text().find("'q1'"), std::string::npos);
  settle(8, 1, 2, v1::OUTCOME_ACK, 12);  // crossed the news: no error
  ASSERT_NE(settle_ok(12), nullptr);
  EXPECT_FALSE(settle_ok(12)->has_error());
  settle_down();
  definitions.clear();
  open();
  EXPECT_EQ(host->state().queues(), 0u);
  EXPECT_EQ(host->state().ready(), 0u);
}

TEST_F(Semantics, S22_PublishesOnTheirWayAreConfirmedWhenTheQueueGoes) {
  declare(1);
  disk.commit_on_flush = false;
  const auto batch = publish({"a"}, {1});
  turn();
  host->remove_queue(QueueId{1});
  disk.commit();
  turn();
  ASSERT_NE(confirm_of(batch), nullptr);
  EXPECT_FALSE(confirm_of(batch)->has_error());
}

// ---- 23: get

TEST_F(Semantics, S23_GetPollsOneMessageWithOrWithoutAck) {
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

TEST_F(Semantics, S23_OneSessionsGetsMayBeOfQueuesOnSeveralShards) {
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
