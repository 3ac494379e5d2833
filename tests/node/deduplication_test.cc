// Deduplication by the application's ids (7), from the outside.
#include "tests/node/deduplication_fixture.h"

namespace segue::node {
namespace {

using Deduplication = DeduplicationTest;

TEST_F(Deduplication, ARepeatIsConfirmedAndNotEnqueued) {
  for (const bool durable : {true, false}) {
    const std::uint64_t queue = durable ? 1 : 3;
    host->add_queue(define_window(queue, 1000, durable));
    declare(queue + 1, durable);
    publish_confirmed({"1:a", "2:b", ":c"}, {queue, queue + 1});
    publish_confirmed({"2:again", "3:d", ":c"}, {queue, queue + 1});
    EXPECT_EQ(status(queue).deduplicated_total(), 1u);
    EXPECT_EQ(status(queue).dedupe_entries(), 3u);
    EXPECT_GT(status(queue).dedupe_bytes(), 0u);
    EXPECT_EQ(drain(queue), (Bodies{"1:a", "2:b", ":c", "3:d", ":c"}));
    EXPECT_EQ(drain(queue + 1).size(), 6u) << "it has no window";
    publish_confirmed({"1:a"}, {queue});
    EXPECT_EQ(drain(queue), (Bodies{})) << "whether it is still there does not matter";
  }
}

TEST_F(Deduplication, OfABatchWithOneIdTwiceTheFirstIsTaken) {
  host->add_queue(define_window(1, 1000));
  publish_confirmed({"1:a", "1:b", "2:c", "1:d"}, {1});
  EXPECT_EQ(drain(), (Bodies{"1:a", "2:c"}));
  EXPECT_EQ(status(1).deduplicated_total(), 2u);
}

TEST_F(Deduplication, AfterTheWindowItIsTakenAgainAndTheMemoryIsGivenBack) {
  host->add_queue(define_window(1, 1000));
  tick();
  publish_confirmed({"1:a"}, {1});
  tick(std::chrono::milliseconds(999));
  publish_confirmed({"1:b"}, {1});
  tick(std::chrono::milliseconds(1));
  EXPECT_EQ(status(1).dedupe_entries(), 0u);
  publish_confirmed({"1:c"}, {1});
  EXPECT_EQ(drain(), (Bodies{"1:a", "1:c"}));
}

TEST_F(Deduplication, ARepeatOfWhatIsOnItsWayToTheDiskIsConfirmedWhenThatIsThere) {
  host->add_queue(define_window(1, 1000));
  disk.commit_on_flush = false;
  const std::uint64_t first = publish({"1:a"}, {1});
  const std::uint64_t second = publish({"1:b"}, {1});
  turn();
  EXPECT_EQ(confirm_of(first), nullptr);
  EXPECT_EQ(confirm_of(second), nullptr);
  disk.commit();
  turn();
  EXPECT_NE(confirm_of(first), nullptr);
  EXPECT_NE(confirm_of(second), nullptr);
  disk.commit_on_flush = true;
  EXPECT_EQ(drain(), (Bodies{"1:a"}));
}

TEST_F(Deduplication, TheWindowIsAsDurableAsTheMessages) {
  host->add_queue(define_window(1, 60'000));
  publish_confirmed({"1:a"}, {1});
  reopen();  // with a checkpoint
  publish_confirmed({"1:again", "2:b"}, {1});
  open();  // from the log
  publish_confirmed({"1:again", "2:again", "3:c"}, {1});
  EXPECT_EQ(status(1).dedupe_entries(), 3u);
  EXPECT_EQ(drain(), (Bodies{"1:a", "2:b", "3:c"}));
}

TEST_F(Deduplication, ATransientQueueForgetsItsWindowWithItsMessages) {
  host->add_queue(define_window(1, 60'000, false));
  publish_confirmed({"1:a"}, {1});
  reopen();
  publish_confirmed({"1:b"}, {1});
  EXPECT_EQ(drain(), (Bodies{"1:b"}));
}

TEST_F(Deduplication, WhatIsRefusedIsNotRemembered) {
  v1::QueueDefinition& definition = define_window(1, 1000);
  set(definition, "x-max-length", 1);
  (*definition.mutable_arguments())["x-overflow"].set_string_value("reject-publish");
  host->add_queue(definition);
  const std::uint64_t batch = publish({"1:a", "2:b", "1:again", "2:again"}, {1});
  turn();
  turn();
  ASSERT_NE(confirm_of(batch), nullptr);
  ASSERT_EQ(confirm_of(batch)->refusals_size(), 1);
  const auto& refused = confirm_of(batch)->refusals(0).messages();
  EXPECT_EQ(std::vector<std::uint32_t>(refused.begin(), refused.end()),
            (std::vector<std::uint32_t>{1, 3}))
      << "the repeat of what was refused is refused";
  EXPECT_EQ(drain(), (Bodies{"1:a"}));
  publish_confirmed({"2:b"}, {1});
  EXPECT_EQ(drain(), (Bodies{"2:b"}));
  EXPECT_EQ(status(1).deduplicated_total(), 1u);
}

TEST_F(Deduplication, ARetryOfARepeatIsNotLetInAfterTheWindow) {
  for (const bool durable : {true, false}) {
    const std::uint64_t queue = durable ? 1 : 2;
    host->add_queue(define_window(queue, 1000, durable));
    publish_confirmed({"1:a", "2:b"}, {queue});
    const auto repeat = [&] {
      v1::ShardPublish message = publish_with_ids({"1:again", "2:again"}, {queue});
      message.set_producer_id("p");
      message.set_producer_session(1);
      message.set_first_seq(10 * queue);
      host->on_publish(kRouter, message, joined({"1:again", "2:again"}));
      settle_down();
      const v1::ShardConfirm* const confirm = confirm_of(message.batch_id());
      ASSERT_NE(confirm, nullptr);
      EXPECT_FALSE(confirm->has_error());
      EXPECT_EQ(confirm->refusals_size(), 0);
    };
    repeat();
    EXPECT_EQ(status(queue).deduplicated_total(), 2u);
    if (durable) open();  // from the log
    tick(std::chrono::seconds(2));
    repeat();
    if (durable) reopen();  // from a checkpoint
    repeat();
    EXPECT_EQ(drain(queue), (Bodies{"1:a", "2:b"}));
  }
}

TEST_F(Deduplication, ARetryOfARepeatIsNotLetInWhenOthersWereRefused) {
  v1::QueueDefinition& definition = define_window(1, 1000);
  set(definition, "x-max-length", 1);
  (*definition.mutable_arguments())["x-overflow"].set_string_value("reject-publish");
  host->add_queue(definition);
  publish_confirmed({"1:a"}, {1});
  for (const std::uint32_t refused_there : {1u, 0u}) {
    v1::ShardPublish message = publish_with_ids({"1:again", "2:b"}, {1});
    message.set_producer_id("p");
    message.set_producer_session(1);
    message.set_first_seq(1);
    host->on_publish(kRouter, message, joined({"1:again", "2:b"}));
    settle_down();
    ASSERT_NE(confirm_of(message.batch_id()), nullptr);
    EXPECT_EQ(confirm_of(message.batch_id())->refusals_size(), static_cast<int>(refused_there));
    EXPECT_EQ(drain(), refused_there > 0 ? (Bodies{"1:a"}) : (Bodies{"2:b"}));
    tick(std::chrono::seconds(2));
  }
}

TEST_F(Deduplication, WhatTheLogHasNoRoomForIsNotRemembered) {
  host->add_queue(define_window(1, 60'000));
  disk.wal_full = true;
  const std::uint64_t batch = publish({"1:a"}, {1});
  turn();
  ASSERT_NE(confirm_of(batch), nullptr);
  EXPECT_TRUE(confirm_of(batch)->has_error());
  disk.wal_full = false;
  for (int i = 0; i < 20; ++i) tick();
  publish_confirmed({"1:a"}, {1});
  EXPECT_EQ(drain(), (Bodies{"1:a"}));
}

TEST_F(Deduplication, TheWindowIsTheQueuesNotTheLanes) {
  v1::QueueDefinition& definition = define_window(1, 60'000);
  set(definition, "x-max-priority", 3);
  host->add_queue(definition);
  publish_confirmed({"1:a", "2:b"}, {1});  // priorities 0 and 1
  publish_confirmed({"3:c", "1:again", "2:again"}, {1});
  EXPECT_EQ(status(1).ready(), 3u);
  open();
  publish_confirmed({"3:c", "4:d", "1:again"}, {1});
  EXPECT_EQ(status(1).ready(), 4u);
  EXPECT_EQ(status(1).dedupe_entries(), 4u);
}

TEST_F(Deduplication, TheWindowOfAQueueWithHighPrioritiesOnlyIsInTheCheckpoint) {
  v1::QueueDefinition& definition = define_window(1, 60'000);
  set(definition, "x-max-priority", 3);
  host->add_queue(definition);
  for (int i = 0; i < 2; ++i) {
    v1::ShardPublish message = publish_with_ids({"1:low", "2:high"}, {1});
    message.mutable_targets(0)->add_messages(1);
    host->on_publish(kRouter, message, joined({"1:low", "2:high"}));
    settle_down();
    reopen();
  }
  EXPECT_EQ(drain(), (Bodies{"2:high"}));
}

TEST_F(Deduplication, TheOldestIdsGoWhenThereAreTooMany) {
  v1::QueueDefinition& definition = define_window(1, 60'000);
  set(definition, "x-deduplication-max", 2);
  host->add_queue(definition);
  publish_confirmed({"1:a", "2:b", "3:c"}, {1});
  publish_confirmed({"2:x", "3:x"}, {1});
  publish_confirmed({"1:again"}, {1});
  EXPECT_EQ(drain(), (Bodies{"1:a", "2:b", "3:c", "1:again"}));
}

TEST_F(Deduplication, ChangesInPlaceHoldAtOnce) {
  host->add_queue(define_window(1, 60'000));
  publish_confirmed({"1:a"}, {1});
  definitions.back().mutable_arguments()->clear();
  host->add_queue(definitions.back());
  publish_confirmed({"1:b"}, {1});
  EXPECT_EQ(status(1).dedupe_entries(), 0u);
  set(definitions.back(), "x-deduplication-window", 60'000);
  host->add_queue(definitions.back());
  publish_confirmed({"1:c"}, {1});
  publish_confirmed({"1:d"}, {1});
  EXPECT_EQ(drain(), (Bodies{"1:a", "1:b", "1:c"}));
}

TEST_F(Deduplication, DeadLettersAreNeitherHeldBackNorRemembered) {
  host->add_queue(define_window(1, 60'000));
  publish_confirmed({"1:a"}, {1});
  v1::ShardPublish letter = publish_with_ids({"1:letter"}, {1});
  letter.set_producer_id(std::string(80, 'n'));  // as nodes have them
  letter.set_producer_session(1);
  letter.set_first_seq(1);
  host->on_publish(kRouter, letter, joined({"1:letter"}));
  settle_down();
  EXPECT_EQ(drain(), (Bodies{"1:a", "1:letter"}));
}

}  // namespace
}  // namespace segue::node
