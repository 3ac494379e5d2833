// Long queues, little memory, little disk, and checkpoints.
#include <algorithm>

#include "segue/v1/shard_state.pb.h"
#include "tests/node/queue_host_fixture.h"

namespace segue::node {
namespace {

class Pressure : public QueueHostTest {
 protected:
  Pressure() {
    options.memory_limit = 8 << 20;
    options.checkpoint_wal_bytes = 1ull << 40;
    open();
    declare(1);
  }

  /// Publishes `count` messages of a KiB, numbered from `first`, some in each turn; true if all
  /// were taken.
  bool fill(std::size_t count, std::size_t first = 1, std::uint64_t queue = 1) {
    bool all = true;
    for (std::size_t done = 0; done < count; done += 64) {
      std::vector<std::string> bodies =
          numbered(std::min<std::size_t>(64, count - done), first + done);
      for (std::string& body : bodies) body.resize(1024, ' ');
      const auto batch = publish(bodies, {queue});
      turn();
      turn();
      all = all && confirm_of(batch) != nullptr && !confirm_of(batch)->has_error();
      output->confirms.clear();
      peak_ = std::max(peak_, host->state().memory_bytes());
      clock.advance(std::chrono::milliseconds(6));
    }
    return all;
  }

  /// Consumes everything; the messages' numbers in the order in which they came.
  std::vector<std::uint64_t> drain(std::uint64_t queue = 1, std::uint32_t prefetch = 500) {
    take(1);  // what an earlier subscription of that number left
    subscribe(1, queue, {.prefetch = prefetch});
    std::vector<std::uint64_t> numbers;
    for (int idle = 0; idle < 50; ++idle) {
      turn();
      clock.advance(std::chrono::milliseconds(6));
      for (const SeenMessage& message : take(1)) {
        numbers.push_back(std::stoull(message.body.substr(1)));
        settle(1, message.number, message.number);
        idle = 0;
      }
      peak_ = std::max(peak_, host->state().memory_bytes());
    }
    return numbers;
  }

  static std::vector<std::uint64_t> up_to(std::uint64_t count) {
    std::vector<std::uint64_t> numbers;
    for (std::uint64_t i = 1; i <= count; ++i) numbers.push_back(i);
    return numbers;
  }

  std::uint64_t peak_ = 0;
};

TEST_F(Pressure, ABacklogOfManyTimesTheMemoryIsTakenAndComesBackInOrder) {
  constexpr std::uint64_t kCount = 64'000;  // 8 times the memory
  EXPECT_TRUE(fill(kCount));
  EXPECT_LT(peak_, options.memory_limit * 7 / 10);
  EXPECT_EQ(status(1).ready(), kCount);
  EXPECT_GT(status(1).bytes(), kCount * 1024 - 1);
  EXPECT_EQ(drain(), up_to(kCount));
  EXPECT_LT(peak_, options.memory_limit * 7 / 10);
  EXPECT_EQ(status(1).ready() + status(1).unacked(), 0u);
  EXPECT_EQ(status(1).bytes(), 0u);
  for (int i = 0; i < 5; ++i) tick();
  EXPECT_EQ(status(1).memory_bytes(), 0u);
}

TEST_F(Pressure, DrainingReadsAheadInLargePieces) {
  fill(32'000);
  const std::uint64_t before = disk.loads();
  drain();
  EXPECT_LT(disk.loads() - before, 400u);  // 64 KiB at least in each
}

TEST_F(Pressure, UnackedMessagesLeaveTheMemoryAndComeBackWhenTheyAreRequeued) {
  fill(8'000);
  subscribe(1, 1);
  for (int i = 0; i < 300; ++i) {
    turn();
    clock.advance(std::chrono::milliseconds(6));
  }
  EXPECT_EQ(take(1).size(), 8'000u);
  fill(8'000, 8'001);
  EXPECT_LT(host->state().memory_bytes(), options.memory_limit / 2);
  unsubscribe(1, true);
  turn();
  EXPECT_EQ(status(1).ready(), 16'000u);
  EXPECT_EQ(drain(), up_to(16'000));
}

TEST_F(Pressure, EveryOtherUnackedMessageIsFoundAgain) {
  fill(4'000);
  subscribe(1, 1);
  for (int i = 0; i < 100; ++i) turn();
  take(1);
  for (std::uint64_t number = 2; number <= 4'000; number += 2) settle(1, number, number);
  turn();
  fill(8'000, 4'001);  // pushes the unacked out of memory
  unsubscribe(1, true);
  std::vector<std::uint64_t> expected;
  for (std::uint64_t i = 1; i <= 4'000; i += 2) expected.push_back(i);
  for (std::uint64_t i = 4'001; i <= 12'000; ++i) expected.push_back(i);
  EXPECT_EQ(drain(), expected);
}

TEST_F(Pressure, PublishesAreRefusedWhileMemoryCannotBeWritten) {
  disk.finish_on_poll = false;
  EXPECT_FALSE(fill(12'000));
  EXPECT_LT(peak_, options.memory_limit * 8 / 10);
  const auto refused = publish({"x"}, {1});
  ASSERT_NE(confirm_of(refused), nullptr);
  EXPECT_EQ(confirm_of(refused)->error().code(), static_cast<std::uint32_t>(Code::kShardBlocked));
  EXPECT_NE(host->state().blocked_reason().find("memory"), std::string::npos);
  const std::uint64_t had = status(1).ready();
  disk.finish_on_poll = true;
  for (int i = 0; i < 20; ++i) tick();
  EXPECT_EQ(host->state().blocked_reason(), "");
  EXPECT_EQ(drain(), up_to(had));
}

TEST_F(Pressure, AFullDiskRefusesPublishesKeepsDrainingAndHeals) {
  fill(100);
  disk.wal_full = true;
  const auto refused = publish({"x"}, {1});
  ASSERT_NE(confirm_of(refused), nullptr);
  EXPECT_EQ(confirm_of(refused)->error().code(), static_cast<std::uint32_t>(Code::kShardBlocked));
  EXPECT_NE(host->state().blocked_reason().find("disk"), std::string::npos);
  subscribe(1, 1);
  settle_down();
  EXPECT_EQ(take(1).size(), 100u);
  settle(1, 1, 100, v1::OUTCOME_ACK, 5);
  settle_down();
  ASSERT_NE(settle_ok(5), nullptr);
  disk.wal_full = false;
  tick(std::chrono::seconds(2));
  EXPECT_EQ(host->state().blocked_reason(), "");
  const auto taken = publish({"x"}, {1});
  turn();
  EXPECT_FALSE(confirm_of(taken)->has_error());
  settle_down();
  EXPECT_EQ(take(1).size(), 1u);
  open();
  EXPECT_EQ(status(1).ready(), 1u);
}

TEST_F(Pressure, TooLittleFreeDiskBlocksWithAMargin) {
  options.free_disk_limit = 1000;
  open();
  disk.free_bytes = 999;
  tick();
  EXPECT_NE(host->state().blocked_reason().find("free_disk_limit"), std::string::npos);
  disk.free_bytes = 1001;
  tick();
  EXPECT_NE(host->state().blocked_reason(), "");
  disk.free_bytes = 1200;
  tick();
  EXPECT_EQ(host->state().blocked_reason(), "");
}

TEST_F(Pressure, AFailedStoreIsRepeatedInOrder) {
  disk.store_result = Status(Code::kNoSpace, "no space left");
  fill(5'000);
  EXPECT_NE(host->state().blocked_reason().find("disk"), std::string::npos);
  EXPECT_TRUE(disk.stored_sequences(QueueId{1}).empty());
  disk.store_result = {};
  for (int i = 0; i < 30; ++i) tick(std::chrono::milliseconds(200));
  EXPECT_EQ(host->state().blocked_reason(), "");
  const std::uint64_t had = status(1).ready();
  EXPECT_EQ(drain(), up_to(had));
}

TEST_F(Pressure, AFailedLoadIsRepeated) {
  fill(16'000);
  disk.load_result = Status(Code::kIoError, "cannot read");
  subscribe(1, 1, {.prefetch = 100});
  for (int i = 0; i < 10; ++i) turn();
  disk.load_result = {};
  for (int i = 0; i < 5; ++i) tick();
  unsubscribe(1, true);
  EXPECT_EQ(drain(), up_to(16'000));
}

TEST_F(Pressure, CorruptMessagesAreLeftOutAndTheOthersCome) {
  fill(16'000);
  const auto stored = disk.stored_sequences(QueueId{1});
  const Sequence bad = stored[stored.size() / 2];
  disk.corrupt.insert({QueueId{1}, bad});
  const auto numbers = drain();
  EXPECT_EQ(numbers.size(), 15'999u);
  EXPECT_TRUE(std::find(numbers.begin(), numbers.end(), bad.value) == numbers.end());
  EXPECT_EQ(status(1).ready(), 0u);
  EXPECT_TRUE(logger.contains("event=messages_lost queue=q1 queue_id=1 messages=1"));
  // It is set aside: it keeps no file, and does not come back.
  unsubscribe(1, true);
  settle_down();
  EXPECT_TRUE(disk.stored_sequences(QueueId{1}).empty());
  open();
  EXPECT_EQ(status(1).ready(), 0u);
}

TEST_F(Pressure, ACorruptMessageThatCouldNotBeSetAsideStaysOnTheDisk) {
  fill(16'000);
  const auto stored = disk.stored_sequences(QueueId{1});
  const Sequence bad = stored[stored.size() / 2];
  disk.corrupt.insert({QueueId{1}, bad});
  disk.not_set_aside = disk.corrupt;
  EXPECT_EQ(drain().size(), 15'999u);
  EXPECT_EQ(status(1).ready(), 0u);
  unsubscribe(1, true);
  settle_down();
  EXPECT_EQ(disk.stored_sequences(QueueId{1}), std::vector<Sequence>{bad});
  open();
  EXPECT_EQ(status(1).ready(), 1u);
}

TEST_F(Pressure, ACorruptMessageThatCameBackIsSettledToo) {
  fill(8'000);
  subscribe(1, 1);
  for (int i = 0; i < 300; ++i) {
    turn();
    clock.advance(std::chrono::milliseconds(6));
  }
  EXPECT_EQ(take(1).size(), 8'000u);
  fill(8'000, 8'001);  // pushes the unacked out of memory
  const auto stored = disk.stored_sequences(QueueId{1});
  ASSERT_FALSE(stored.empty());
  disk.corrupt.insert({QueueId{1}, stored.front()});
  unsubscribe(1, true);
  turn();
  EXPECT_EQ(drain().size(), 15'999u);
  EXPECT_EQ(status(1).ready(), 0u);
  unsubscribe(1, true);
  settle_down();
  EXPECT_TRUE(disk.stored_sequences(QueueId{1}).empty());
}

TEST_F(Pressure, PurgingALongQueueLoadsNothing) {
  fill(32'000);
  const std::uint64_t loads = disk.loads();
  EXPECT_EQ(purge(1).reply.purged(), 32'000u);
  EXPECT_EQ(disk.loads(), loads);
  EXPECT_EQ(disk.stored(QueueId{1}).messages, 0u);
  fill(10);
  EXPECT_EQ(drain().size(), 10u);
}

TEST_F(Pressure, ATransientQueueSpillsToo) {
  declare(2, false);
  fill(32'000, 1, 2);
  EXPECT_LT(host->state().memory_bytes(), options.memory_limit / 2);
  EXPECT_EQ(drain(2), up_to(32'000));
  fill(32'000, 1, 2);
  open();
  EXPECT_EQ(status(2).ready(), 0u);
  EXPECT_EQ(disk.stored(QueueId{2}).messages, 0u);
}

TEST_F(Pressure, ManyQueuesShareTheMemory) {
  for (std::uint64_t queue = 2; queue <= 200; ++queue) declare(queue);
  for (std::size_t round = 0; round < 5; ++round) {
    for (std::uint64_t queue = 1; queue <= 200; ++queue) {
      EXPECT_TRUE(fill(40, 1 + round * 40, queue));
    }
  }
  EXPECT_LT(peak_, options.memory_limit * 7 / 10);
  for (const std::uint64_t queue : {1u, 77u, 200u}) {
    EXPECT_EQ(drain(queue), up_to(200));
    unsubscribe(1, true);
    settle_down();
  }
}

// ---- checkpoints

class Checkpoints : public QueueHostTest {
 protected:
  Checkpoints() {
    options.checkpoint_wal_bytes = 20'000;
    open();
    declare(1);
    declare(2, true, false, 7);
  }
};

TEST_F(Checkpoints, AGrownLogIsCheckpointedAndRecycled) {
  for (int i = 0; i < 60; ++i) publish({std::string(500, 'x')}, {1});
  turn();
  EXPECT_GT(disk.stats().wal_bytes, 20'000u);
  for (int i = 0; i < 3; ++i) tick();
  EXPECT_EQ(disk.stats().wal_bytes, 0u);
  EXPECT_GT(disk.checkpointed(ShardId{kShard}), LogIndex{0});
  EXPECT_EQ(disk.checkpointed(ShardId{7}), LogIndex{0});  // nothing to checkpoint
  open();
  EXPECT_EQ(status(1).ready(), 60u);
}

TEST_F(Checkpoints, AQuietShardIsCheckpointedWhenTheLogHasGrownThroughOthers) {
  publish({"a"}, {2}, 7);
  turn();
  for (int i = 0; i < 60; ++i) publish({std::string(500, 'x')}, {1});
  turn();
  for (int i = 0; i < 5; ++i) tick();
  EXPECT_GT(disk.checkpointed(ShardId{7}), LogIndex{0});
}

TEST_F(Checkpoints, AnOldChangeIsCheckpointedByItsAge) {
  publish({"a"}, {1});
  turn();
  tick(std::chrono::seconds(1));
  EXPECT_EQ(disk.checkpointed(ShardId{kShard}), LogIndex{0});
  tick(std::chrono::minutes(6));
  tick();
  EXPECT_GT(disk.checkpointed(ShardId{kShard}), LogIndex{0});
}

TEST_F(Checkpoints, WhatHappensMeanwhileIsReplayedOverTheCheckpoint) {
  publish(numbered(10), {1});
  turn();
  subscribe(1, 1);
  settle_down();
  disk.finish_on_poll = false;
  host->begin_shutdown([] {});
  turn();
  settle(1, 1, 3);
  publish({"late"}, {1});
  turn();
  turn();
  disk.finish_on_poll = true;
  settle_down();
  EXPECT_GT(disk.checkpointed(ShardId{kShard}), LogIndex{0});
  EXPECT_FALSE(disk.log().empty());
  open();
  EXPECT_EQ(status(1).ready(), 8u);
  subscribe(1, 1);
  settle_down();
  const auto seen = take(1);
  ASSERT_EQ(seen.size(), 8u);
  EXPECT_EQ(seen[0].body, "m4");
  EXPECT_EQ(seen[7].body, "late");
  EXPECT_FALSE(seen[7].redelivered && !seen[6].redelivered);
}

TEST_F(Checkpoints, ShutdownEndsAlsoWhenTheDiskIsFull) {
  publish(numbered(10), {1});
  turn();
  disk.checkpoint_result = Status(Code::kNoSpace, "no space left");
  bool done = false;
  host->begin_shutdown([&] { done = true; });
  settle_down();
  EXPECT_TRUE(done);
  open();
  EXPECT_EQ(status(1).ready(), 10u);
  disk.checkpoint_result = {};
  disk.store_result = Status(Code::kNoSpace, "no space left");
  done = false;
  host->begin_shutdown([&] { done = true; });
  settle_down();
  EXPECT_TRUE(done);
  disk.store_result = {};
  open();
  EXPECT_EQ(status(1).ready(), 10u);
}

TEST_F(Checkpoints, AFailedCheckpointIsTriedAgain) {
  disk.checkpoint_result = Status(Code::kNoSpace, "no space left");
  for (int i = 0; i < 60; ++i) publish({std::string(500, 'x')}, {1});
  turn();
  for (int i = 0; i < 3; ++i) tick();
  EXPECT_NE(host->state().blocked_reason(), "");
  disk.checkpoint_result = {};
  for (int i = 0; i < 5; ++i) tick(std::chrono::seconds(1));
  EXPECT_GT(disk.checkpointed(ShardId{kShard}), LogIndex{0});
  EXPECT_EQ(host->state().blocked_reason(), "");
}

TEST_F(Checkpoints, AStateOfANewerVersionOrBrokenOneIsRefused) {
  v1::ShardState state;
  state.set_version(99);
  storage::RecoveredShard shard{ShardId{1}, LogIndex{5}, state.SerializeAsString(), {}};
  QueueHost other(options, *output, logger.logger(), {});
  const Status newer = other.restore(disk, {shard});
  EXPECT_EQ(newer.code(), Code::kCorruption);
  EXPECT_NE(newer.message().find("newer"), std::string::npos);
  shard.state = "\xff\xff\xff";
  EXPECT_EQ(other.restore(disk, {shard}).code(), Code::kCorruption);
  state.set_version(1);
  state.add_queues()->set_queue_id(1);
  shard.state = state.SerializeAsString();
  EXPECT_EQ(other.restore(disk, {shard}).code(), Code::kCorruption);
}

}  // namespace
}  // namespace segue::node
