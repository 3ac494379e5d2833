#include "tests/fakes/fake_disk_data_center.h"

#include <gtest/gtest.h>

namespace segue::storage {
namespace {

const ShardId kShard{3};
const QueueId kQueue{7};

MessageBatchPtr batch_of(std::uint32_t count) {
  MessageBatchBuilder builder;
  std::string bodies;
  for (std::uint32_t i = 0; i < count; ++i) {
    builder.add("header", SharedBytes::from("body"));
    bodies += "body";
  }
  return MessageBatch::parse(SharedBytes::from(builder.take().batch),
                             SharedBytes::from(std::move(bodies)))
      .value();
}

LogRecord record(std::uint64_t index) {
  LogRecord record;
  record.shard = kShard;
  record.index = LogIndex{index};
  record.command = "c" + std::to_string(index);
  return record;
}

TEST(FakeDiskDataCenter, CommitsWhatWasFlushed) {
  FakeDiskDataCenter disk;
  ASSERT_TRUE(disk.append(record(1)).is_ok());
  EXPECT_TRUE(disk.poll().empty());
  disk.flush();
  const auto committed = disk.poll();
  ASSERT_EQ(committed.size(), 1u);
  EXPECT_EQ(committed[0].up_to, LogIndex{1});
  EXPECT_TRUE(disk.poll().empty());
}

TEST(FakeDiskDataCenter, LoadsWhatIsValidWhenTheReadEnds) {
  FakeDiskDataCenter disk;
  Status stored(Code::kInternalError, "not called");
  disk.store(kShard, kQueue, {{Sequence{5}, batch_of(4), 0, 4}}, [&](Status s) { stored = s; });
  disk.poll();
  EXPECT_TRUE(stored.is_ok());
  std::vector<MessageRun> runs;
  disk.load(kQueue, Sequence{1}, Sequence{100}, 1 << 20,
            [&](Result<LoadedMessages> loaded) { runs = loaded->runs; });
  disk.settle(kQueue, Sequence{6}, Sequence{6});
  disk.poll();
  ASSERT_EQ(runs.size(), 2u);
  EXPECT_EQ(runs[0].first, Sequence{5});
  EXPECT_EQ(runs[1].first, Sequence{7});
  EXPECT_EQ(disk.stored(kQueue).messages, 3u);
}

TEST(FakeDiskDataCenter, RestartsFromTheCheckpointAndTheCommittedLog) {
  FakeDiskDataCenter disk;
  disk.store(kShard, kQueue, {{Sequence{1}, batch_of(3), 0, 3}}, [](const Status&) {});
  for (std::uint64_t i = 1; i <= 3; ++i) ASSERT_TRUE(disk.append(record(i)).is_ok());
  disk.flush();
  disk.poll();
  disk.checkpoint(kShard, LogIndex{2}, "state", [](const Status& s) { EXPECT_TRUE(s.is_ok()); });
  disk.poll();
  disk.settle(kQueue, Sequence{1}, Sequence{3});
  ASSERT_TRUE(disk.append(record(4)).is_ok());  // never flushed
  std::vector<RecoveredShard> shards;
  std::vector<LogIndex> replayed;
  std::vector<Committed> ends;
  const Status restarted = disk.restart(
      [&](DiskDataCenter&, const std::vector<RecoveredShard>& recovered) {
        shards = recovered;
        return Status::ok();
      },
      [&](const ReplayedRecord& r) {
        replayed.push_back(r.index);
        return Status::ok();
      },
      &ends);
  ASSERT_TRUE(restarted.is_ok());
  ASSERT_EQ(shards.size(), 1u);
  EXPECT_EQ(shards[0].state, "state");
  EXPECT_EQ(shards[0].queues[0].messages, 3u);
  EXPECT_EQ(replayed, std::vector<LogIndex>{LogIndex{3}});
  ASSERT_EQ(ends.size(), 1u);
  EXPECT_EQ(ends[0].up_to, LogIndex{3});
}

TEST(FakeDiskDataCenter, EndsCallsOnADroppedQueueWithNotFound) {
  FakeDiskDataCenter disk;
  Status status;
  disk.store(kShard, kQueue, {{Sequence{1}, batch_of(1), 0, 1}}, [&](Status s) { status = s; });
  disk.drop_queue(kQueue);
  disk.poll();
  EXPECT_EQ(status.code(), Code::kNotFound);
}

}  // namespace
}  // namespace segue::storage
