#include "storage/segment_store.h"

#include <gtest/gtest.h>

#include "tests/storage/segment_fixture.h"

namespace segue::storage {
namespace {

const QueueId kQueue{7};

std::size_t files_with(const FaultyFileSystem& files, std::string_view part) {
  std::size_t count = 0;
  for (const std::string& path : files.paths()) count += path.find(part) != std::string::npos;
  return count;
}

TEST(SegmentStore, GivesBackWhatWasStored) {
  FaultyFileSystem files;
  SegmentLife life(files);
  ASSERT_TRUE(life.put(kQueue, {run_of(1, 10), run_of(11, 12)}).is_ok());
  ASSERT_TRUE(life.put(kQueue, {run_of(13, 40)}).is_ok());
  EXPECT_EQ(life.all(kQueue), expected(1, 40));
  const StoredQueue stored = life.store().stored(kQueue);
  EXPECT_EQ(stored.messages, 40u);
  EXPECT_EQ(stored.first_valid, Sequence{1});
  EXPECT_EQ(stored.last_stored, Sequence{40});
  std::uint64_t bytes = 0;
  for (const auto& [sequence, body] : expected(1, 40)) bytes += body.size();
  EXPECT_EQ(stored.body_bytes, bytes);
}

TEST(SegmentStore, KeepsHeadersAndMakesOneBatchOfNeighbours) {
  FaultyFileSystem files;
  SegmentLife life(files, 1 << 20);
  ASSERT_TRUE(life.put(kQueue, {run_of(1, 30)}).is_ok());
  ASSERT_TRUE(life.put(kQueue, {run_of(31, 60)}).is_ok());
  const auto loaded = life.get(kQueue, 1);
  ASSERT_EQ(loaded->runs.size(), 1u);
  EXPECT_EQ(loaded->runs[0].count, 60u);
  for (std::uint32_t i = 0; i < 60; ++i) {
    const auto& batch = *loaded->runs[0].batch;
    EXPECT_EQ(batch.header(i), "h" + std::to_string(batch.body_size(i) % 3));
  }
}

TEST(SegmentStore, RollsAtTheSegmentSize) {
  FaultyFileSystem files;
  SegmentLife life(files, 4096);
  ASSERT_TRUE(life.put(kQueue, {run_of(1, 200)}).is_ok());
  EXPECT_GT(files_with(files, ".data"), 3u);
  EXPECT_EQ(files_with(files, ".data"), life.store().table(kQueue)->segments().size());
  EXPECT_EQ(life.all(kQueue), expected(1, 200));
  for (const auto& segment : life.store().table(kQueue)->segments()) {
    EXPECT_LE(segment->data_bytes + SegmentFooter::kSize, 4096u);
  }
}

TEST(SegmentStore, TakesAMessageLargerThanASegment) {
  FaultyFileSystem files;
  SegmentLife life(files, 4096);
  ASSERT_TRUE(life.put(kQueue, {run_of(1, 2), run_of(3, 3, 3'000'000), run_of(4, 5)}).is_ok());
  const auto all = life.all(kQueue);
  ASSERT_EQ(all.size(), 5u);
  EXPECT_EQ(all[2].second, body_of(3, 3'000'000));
  EXPECT_EQ(all[4].second, body_of(5));
}

TEST(SegmentStore, SettlesAtOnceAndKeepsHoles) {
  FaultyFileSystem files;
  SegmentLife life(files);
  ASSERT_TRUE(life.put(kQueue, {run_of(5, 6), run_of(9, 9), run_of(100, 103)}).is_ok());
  life.settle(kQueue, 1, 5);
  life.settle(kQueue, 7, 8);  // never stored
  life.settle(kQueue, 101, 102);
  life.settle(kQueue, 101, 101);  // again
  std::vector<std::uint64_t> left;
  for (const auto& [sequence, body] : life.all(kQueue)) left.push_back(sequence);
  EXPECT_EQ(left, (std::vector<std::uint64_t>{6, 9, 100, 103}));
  EXPECT_EQ(life.store().stored(kQueue).messages, 4u);
  EXPECT_EQ(life.store().stored(kQueue).first_valid, Sequence{6});
}

TEST(SegmentStore, LeavesOutWhatIsSettledWhileItIsRead) {
  FaultyFileSystem files;
  SegmentLife life(files, 1 << 20);
  ASSERT_TRUE(life.put(kQueue, {run_of(1, 10)}).is_ok());
  std::optional<LoadedMessages> loaded;
  life.store().load(kQueue, Sequence{1}, Sequence{10}, 1 << 20,
                    [&](Result<LoadedMessages> result) { loaded = *result; });
  ASSERT_TRUE(life.executor().step());  // read, not told yet
  life.settle(kQueue, 4, 5);
  life.poll_until([&] { return loaded.has_value(); });
  ASSERT_EQ(loaded->runs.size(), 2u);
  EXPECT_EQ(loaded->runs[0].last(), Sequence{3});
  EXPECT_EQ(loaded->runs[1].first, Sequence{6});
  EXPECT_EQ(loaded->scanned_through, Sequence{10});
}

TEST(SegmentStore, LoadsOnWhenAllThatWasReadIsSettledMeanwhile) {
  FaultyFileSystem files;
  SegmentLife life(files, 4096);
  ASSERT_TRUE(life.put(kQueue, {run_of(1, 100)}).is_ok());
  std::optional<LoadedMessages> loaded;
  life.store().load(kQueue, Sequence{1}, Sequence{100}, 100,
                    [&](Result<LoadedMessages> result) { loaded = *result; });
  life.settle(kQueue, 1, 90);  // with whole segments, which are removed
  life.poll_until([&] { return loaded.has_value(); });
  ASSERT_FALSE(loaded->runs.empty());
  EXPECT_EQ(loaded->runs[0].first, Sequence{91});
}

TEST(SegmentStore, DoesNotLoadWhatIsNotWrittenYet) {
  FaultyFileSystem files;
  SegmentLife life(files);
  ASSERT_TRUE(life.put(kQueue, {run_of(1, 5)}).is_ok());
  bool stored = false;
  life.store().store(SegmentLife::kShard, kQueue, {run_of(6, 9)},
                     [&](const Status&) { stored = true; });
  std::optional<LoadedMessages> loaded;
  life.store().load(kQueue, Sequence{1}, Sequence{100}, 1 << 20,
                    [&](Result<LoadedMessages> result) { loaded = *result; });
  ASSERT_TRUE(life.executor().step());  // the load goes first
  life.poll_until([&] { return loaded.has_value(); });
  EXPECT_EQ(loaded->runs[0].last(), Sequence{5});
  EXPECT_EQ(loaded->scanned_through, Sequence{5});
  life.poll_until([&] { return stored; });
  EXPECT_EQ(life.get(kQueue, 6)->runs[0].count, 4u);
}

TEST(SegmentStore, RemovesSegmentsWithoutValidMessages) {
  FaultyFileSystem files;
  SegmentLife life(files, 4096);
  ASSERT_TRUE(life.put(kQueue, {run_of(1, 200)}).is_ok());
  const std::size_t before = files_with(files, ".data");
  life.settle(kQueue, 1, 150);
  life.executor().poll();
  EXPECT_LT(files_with(files, ".data"), before);
  EXPECT_EQ(files_with(files, ".data"), files_with(files, ".index"));
  EXPECT_EQ(life.all(kQueue), expected(151, 200));
  life.settle(kQueue, 151, 200);
  ASSERT_TRUE(life.checkpoint().is_ok());
  life.executor().poll();
  EXPECT_EQ(files_with(files, "/queues/"), 0u);
  EXPECT_EQ(life.store().stored(kQueue).messages, 0u);
  // The queue goes on as before.
  ASSERT_TRUE(life.put(kQueue, {run_of(201, 210)}).is_ok());
  EXPECT_EQ(life.all(kQueue), expected(201, 210));
}

TEST(SegmentStore, TakesAFailedStoreBackAndGoesOn) {
  FaultyFileSystem files;
  SegmentLife life(files, 4096);
  ASSERT_TRUE(life.put(kQueue, {run_of(1, 20)}).is_ok());
  const StoredQueue before = life.store().stored(kQueue);
  files.set_capacity(files.used_bytes() + 5000);
  std::vector<Status> results;
  const auto note = [&](const Status& status) { results.push_back(status); };
  life.store().store(SegmentLife::kShard, kQueue, {run_of(21, 200)}, note);
  life.store().store(SegmentLife::kShard, kQueue, {run_of(201, 210)}, note);  // depends on it
  life.settle(kQueue, 15, 25);
  life.poll_until([&] { return results.size() == 2; });
  EXPECT_EQ(results[0].code(), Code::kNoSpace);
  EXPECT_EQ(results[1].code(), Code::kNoSpace);
  EXPECT_EQ(life.store().stored(kQueue).messages, 14u);
  EXPECT_EQ(life.store().stored(kQueue).last_stored, before.last_stored);
  EXPECT_EQ(life.store().stored(kQueue).disk_bytes, before.disk_bytes);
  EXPECT_EQ(life.all(kQueue), expected(1, 14));
  files.set_capacity(1ull << 40);
  ASSERT_TRUE(life.put(kQueue, {run_of(26, 210)}).is_ok());
  auto all = expected(1, 14);
  for (const auto& message : expected(26, 210)) all.push_back(message);
  EXPECT_EQ(life.all(kQueue), all);
}

TEST(SegmentStore, EndsPendingCallsOfADeletedQueueWithNotFound) {
  FaultyFileSystem files;
  SegmentLife life(files);
  ASSERT_TRUE(life.put(kQueue, {run_of(1, 20)}).is_ok());
  std::vector<Code> results;
  life.store().store(SegmentLife::kShard, kQueue, {run_of(21, 30)},
                     [&](const Status& status) { results.push_back(status.code()); });
  life.store().load(
      kQueue, Sequence{1}, Sequence{20}, 100,
      [&](const Result<LoadedMessages>& result) { results.push_back(result.status().code()); });
  life.store().drop_queue(kQueue);
  life.poll_until([&] { return results.size() == 2; });
  EXPECT_EQ(results, (std::vector<Code>{Code::kNotFound, Code::kNotFound}));
  EXPECT_EQ(files_with(files, "/queues/"), 0u);
  EXPECT_EQ(life.store().stored(kQueue).messages, 0u);
}

TEST(SegmentStore, ReportsACorruptRecordAndGivesTheOthers) {
  FaultyFileSystem files;
  SegmentLife life(files, 1 << 20);
  ASSERT_TRUE(life.put(kQueue, {run_of(1, 10)}).is_ok());
  const std::string path = "/data/shards/3/queues/a%2Fb-7/00000000000000000001.data";
  const std::size_t at = files.content(path).find(body_of(4));
  ASSERT_NE(at, std::string::npos);
  files.flip_bit(path, at * 8);
  const auto loaded = life.get(kQueue, 1);
  EXPECT_EQ(loaded->corrupt, std::vector<Sequence>{Sequence{4}});
  EXPECT_EQ(loaded->scanned_through, Sequence{1'000'000});
  EXPECT_TRUE(life.log().contains("event=message_corrupt queue=a/b queue_id=7 sequence=4"));
  auto all = expected(1, 10);
  all[3].second = "CORRUPT";
  EXPECT_EQ(life.all(kQueue), all);
}

TEST(SegmentStore, RepairsADamagedIndexWhenItIsRead) {
  FaultyFileSystem files;
  SegmentLife life(files, 1 << 20);
  ASSERT_TRUE(life.put(kQueue, {run_of(1, 10)}).is_ok());
  const std::string path = "/data/shards/3/queues/a%2Fb-7/00000000000000000001.index";
  const std::string before = files.content(path);
  files.flip_bit(path, (IndexEntry::place(4) + 5) * 8);
  EXPECT_EQ(life.all(kQueue), expected(1, 10));
  EXPECT_EQ(files.content(path), before);
}

TEST(SegmentStore, IdleQueuesCostNoOpenFiles) {
  FaultyFileSystem files;
  SegmentLife life(files);
  for (std::uint64_t queue = 1; queue <= 1000; ++queue) {
    ASSERT_TRUE(life.put(QueueId{queue}, {run_of(1, 2)}).is_ok());
  }
  EXPECT_LE(life.store().worker().files.open_count(), 128u);
  EXPECT_EQ(life.all(QueueId{1}), expected(1, 2));
}

}  // namespace
}  // namespace segue::storage
