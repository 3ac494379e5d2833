// The lines of the messaging semantics about queues that are decided in the node, by their numbers.

#include "tests/node/queue_host_fixture.h"

namespace segue::node {
namespace {

class QueueSemantics : public QueueHostTest {
 protected:
  static v1::FieldValue number(std::int64_t value) {
    v1::FieldValue field;
    field.set_int_value(value);
    return field;
  }
};

// ---- 14: auto-delete

TEST_F(QueueSemantics, S14_AutoDeleteAsksOnceTheLastConsumerIsGoneAndAgainUntilRemoved) {
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

TEST_F(QueueSemantics, S14_ABrokenLinkGivesConsumersTimeToComeBack) {
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

// ---- 13, 14: changes in place, x-expires

TEST_F(QueueSemantics, S14_AQueueThatIsNotUsedForItsTimeIsDeleted) {
  declare(1);
  definitions.back().mutable_arguments()->insert({"x-expires", number(1000)});
  host->add_queue(definitions.back());
  tick(std::chrono::milliseconds(900));
  get(5, 1);  // a use
  tick(std::chrono::milliseconds(900));
  v1::QueueRequest again;
  again.set_queue_id(1);
  again.mutable_status()->set_declared(true);
  request(again);
  tick(std::chrono::milliseconds(900));
  status(1);  // none
  EXPECT_TRUE(deletions.empty());
  tick(std::chrono::milliseconds(200));
  EXPECT_EQ(deletions, (std::vector<QueueId>{QueueId{1}}));
  output->events.clear();
  subscribe(7, 1);  // it is being deleted
  ASSERT_EQ(output->events.size(), 1u);
  EXPECT_EQ(output->events[0].second.cancelled().code(), 404u);
}

TEST_F(QueueSemantics, S14_ConsumersKeepAQueueAndItsTimeBeginsWithTheEndOfTheLast) {
  declare(1);
  definitions.back().mutable_arguments()->insert({"x-expires", number(1000)});
  host->add_queue(definitions.back());
  subscribe(5, 1);
  tick(std::chrono::seconds(10));
  tick(std::chrono::milliseconds(700));
  unsubscribe(5, false);
  tick(std::chrono::milliseconds(900));
  EXPECT_TRUE(deletions.empty());
  tick(std::chrono::milliseconds(200));
  EXPECT_EQ(deletions.size(), 1u);
}

TEST_F(QueueSemantics, S13_ANewDefinitionIsInForceAtOnceAndTouchesNoMessage) {
  declare(1);
  publish(numbered(3), {1});
  subscribe(5, 1, {.prefetch = 1});
  settle_down();
  v1::QueueDefinition changed = definitions.back();
  changed.mutable_arguments()->insert({"x-expires", number(1000)});
  changed.mutable_arguments()->insert({"x-gc-min-bytes", number(8192)});
  host->add_queue(changed);
  EXPECT_EQ(disk.gc_overrides.at(QueueId{1}).min_bytes, 8192u);
  EXPECT_EQ(status(1).ready(), 2u);
  EXPECT_EQ(status(1).unacked(), 1u);
  unsubscribe(5, true);
  tick(std::chrono::milliseconds(500));
  host->add_queue(definitions.back());  // and back
  EXPECT_FALSE(disk.gc_overrides.at(QueueId{1}).min_bytes.has_value());
  tick(std::chrono::seconds(5));
  EXPECT_TRUE(deletions.empty());
  EXPECT_EQ(status(1).ready(), 3u);
}

// ---- 21: time for a delivery

TEST_F(QueueSemantics, S21_WhatIsNotSettledInTimeGoesBackAndTheConsumerGoesOn) {
  declare(1);
  definitions.back().mutable_arguments()->insert({"x-consumer-timeout", number(1000)});
  host->add_queue(definitions.back());
  publish(numbered(3), {1});
  subscribe(5, 1, {.prefetch = 2});
  settle_down();
  ASSERT_EQ(take(5).size(), 2u);
  tick(std::chrono::milliseconds(500));
  settle(5, 1, 1);
  settle(5, 2, 2, v1::OUTCOME_EXTEND);
  settle_down();
  ASSERT_EQ(take(5).size(), 1u);  // number 3
  tick(std::chrono::milliseconds(900));
  EXPECT_TRUE(take(5).empty());
  tick(std::chrono::milliseconds(200));
  const auto again = take(5);
  ASSERT_EQ(again.size(), 2u);
  EXPECT_TRUE(again[0].redelivered);
  EXPECT_EQ(again[0].delivery_count, 1u);
  settle(5, 2, 2, v1::OUTCOME_ACK, 77);
  settle_down();
  ASSERT_NE(settle_ok(77), nullptr);
  EXPECT_EQ(settle_ok(77)->error().code(), 406u);
  settle(5, 2, 2, v1::OUTCOME_EXTEND, 78);
  settle_down();
  ASSERT_NE(settle_ok(78), nullptr);
  EXPECT_EQ(settle_ok(78)->error().code(), 406u);
  settle(5, 4, 5, v1::OUTCOME_ACK, 79);
  settle_down();
  EXPECT_FALSE(settle_ok(79)->has_error());
  tick(std::chrono::seconds(5));
  EXPECT_EQ(status(1).ready() + status(1).unacked(), 0u);
}

TEST_F(QueueSemantics, S21_AGetIsDeliveredForTheQueuesTimeToo) {
  declare(1);
  definitions.back().mutable_arguments()->insert({"x-consumer-timeout", number(1000)});
  host->add_queue(definitions.back());
  publish(numbered(1), {1});
  settle_down();
  EXPECT_EQ(get(90, 1).messages.size(), 1u);
  tick(std::chrono::milliseconds(900));
  EXPECT_EQ(status(1).ready(), 0u);
  tick(std::chrono::milliseconds(200));
  EXPECT_EQ(status(1).ready(), 1u);
}

TEST_F(QueueSemantics, S21_WithoutATimeADeliveryIsKeptForEver) {
  declare(1);
  publish(numbered(1), {1});
  subscribe(5, 1);
  settle_down();
  tick(std::chrono::hours(1000));
  EXPECT_EQ(status(1).unacked(), 1u);
  settle(5, 1, 1, v1::OUTCOME_EXTEND, 77);
  settle_down();
  EXPECT_FALSE(settle_ok(77)->has_error());
  EXPECT_EQ(status(1).unacked(), 1u);
}

// ---- 15: delete, purge

TEST_F(QueueSemantics, S15_PurgeRemovesReadyOnesAndReturnsTheirNumber) {
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

TEST_F(QueueSemantics, S15_PurgeTakesRequeuedOnesToo) {
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

TEST_F(QueueSemantics, S15_IfUnusedAndIfEmptyAreCheckedWithTheNumbersNamed) {
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
  EXPECT_NE(refused.error().text().find("1 consumer"), std::string::npos);
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

// ---- 22: deletion

// The mark stands far beyond the oldest message that is looked for, and everything up to it is
// settled: what follows needs a new one all the same.
TEST_F(QueueSemantics, S20_ABacklogBehindManySettledOnesIsDeliveredAfterARestart) {
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

TEST_F(QueueSemantics, S20_SoIsOneBehindAHoleOfSettledOnes) {
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

TEST_F(QueueSemantics, S22_ConsumersAreToldWhenTheQueueIsDeleted) {
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

TEST_F(QueueSemantics, S22_PublishesOnTheirWayAreConfirmedWhenTheQueueGoes) {
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

TEST_F(QueueSemantics, ListsTheFilesOfAQueueInPages) {
  declare(1);
  using storage::StoredSegment;
  disk.segments_of[QueueId{1}] = {
      {Sequence{1}, Sequence{9}, 2, StoredSegment::State::kMerging, 100, 40, 9, 3},
      {Sequence{10}, Sequence{19}, 0, StoredSegment::State::kSealed, 200, 200, 10, 10},
      {Sequence{20}, Sequence{20}, 0, StoredSegment::State::kActive, 30, 30, 1, 1}};
  v1::QueueRequest message;
  message.set_queue_id(1);
  message.mutable_list_segments()->set_limit(2);
  v1::ListSegmentsOk page = request(message).reply.segments();
  EXPECT_TRUE(page.more());
  ASSERT_EQ(page.segments_size(), 2);
  EXPECT_EQ(page.segments(0).generation(), 2u);
  EXPECT_EQ(page.segments(0).state(), v1::SegmentDescription::STATE_MERGING);
  EXPECT_EQ(page.segments(0).bytes(), 100u);
  EXPECT_EQ(page.segments(0).valid_bytes(), 40u);
  EXPECT_EQ(page.segments(0).messages(), 9u);
  EXPECT_EQ(page.segments(0).valid(), 3u);
  EXPECT_EQ(page.segments(1).last(), 19u);
  message.mutable_list_segments()->set_after(page.segments(1).first());
  page = request(message).reply.segments();
  EXPECT_FALSE(page.more());
  ASSERT_EQ(page.segments_size(), 1);
  EXPECT_EQ(page.segments(0).first(), 20u);
  message.set_queue_id(99);
  EXPECT_EQ(request(message).reply.error().code(), 404u);
}

TEST_F(QueueSemantics, TellsTheDiskWhatToDoAboutGarbage) {
  declare(1);
  v1::QueueRequest message;
  message.mutable_collect_garbage()->set_action(v1::CollectGarbage::ACTION_PAUSE);
  EXPECT_TRUE(request(message).reply.garbage().paused());
  message.set_queue_id(1);
  message.mutable_collect_garbage()->set_action(v1::CollectGarbage::ACTION_RUN);
  EXPECT_EQ(request(message).reply.error().code(), 406u);
  message.set_queue_id(0);
  message.mutable_collect_garbage()->set_action(v1::CollectGarbage::ACTION_RESUME);
  EXPECT_FALSE(request(message).reply.garbage().paused());
  message.set_queue_id(1);
  message.mutable_collect_garbage()->set_action(v1::CollectGarbage::ACTION_RUN);
  EXPECT_FALSE(request(message).reply.has_error());
  disk.gc_stats.debt_bytes = 77;
  disk.scrub_stats.passes = 3;
  disk.gc_stats.longest_pause = std::chrono::microseconds(15);
  message.mutable_collect_garbage()->set_action(v1::CollectGarbage::ACTION_STATUS);
  const v1::GarbageDescription garbage = request(message).reply.garbage();
  EXPECT_EQ(garbage.debt_bytes(), 77u);
  EXPECT_EQ(garbage.scrub_passes(), 3u);
  EXPECT_EQ(garbage.longest_pause_us(), 15u);
  ASSERT_EQ(disk.gc_commands.size(), 3u);
  EXPECT_EQ(disk.gc_commands[2].first, storage::GcCommand::kRun);
  EXPECT_EQ(disk.gc_commands[2].second, QueueId{1});
  message.set_queue_id(99);
  EXPECT_EQ(request(message).reply.error().code(), 404u);
}

TEST_F(QueueSemantics, TellsTheDiskAQueuesOwnThresholdsOfGarbage) {
  declare(1);
  EXPECT_TRUE(disk.gc_overrides.empty());
  v1::QueueDefinition definition;
  definition.set_id(2);
  definition.set_name("q2");
  definition.set_vhost("/");
  definition.set_durable(true);
  auto& arguments = *definition.mutable_arguments();
  arguments["x-gc-min-bytes"].set_int_value(65'536);
  arguments["x-gc-valid-percent"].set_int_value(20);
  host->add_queue(definition);
  const storage::GcOverrides own = disk.gc_overrides.at(QueueId{2});
  EXPECT_EQ(own.min_bytes, 65'536u);
  EXPECT_EQ(own.valid_percent, 20u);
  EXPECT_EQ(own.min_messages, std::nullopt);
}

}  // namespace
}  // namespace segue::node
