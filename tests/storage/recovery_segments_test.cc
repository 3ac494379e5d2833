#include "storage/recovery_segments.h"

#include <gtest/gtest.h>

#include "tests/storage/segment_fixture.h"

namespace segue::storage {
namespace {

const QueueId kQueue{7};
const std::string kDirectory = "/data/shards/3/queues/a%2Fb-7/";

std::string file(std::uint64_t first, const char* extension) {
  return kDirectory + segment_file_name(Sequence{first}, extension);
}

/// A disk with one checkpointed queue of one segment: messages 1..10, 3 and 4 settled.
MemoryDisk::Image small_disk() {
  FaultyFileSystem files;
  SegmentLife life(files, 1 << 20);
  EXPECT_TRUE(life.put(kQueue, {run_of(1, 10)}).is_ok());
  life.settle(kQueue, 3, 4);
  EXPECT_TRUE(life.checkpoint(LogIndex{5}).is_ok());
  return files.image();
}

std::vector<std::pair<std::uint64_t, std::string>> small_content() {
  auto all = expected(1, 10);
  all.erase(all.begin() + 2, all.begin() + 4);
  return all;
}

TEST(SegmentRecovery, FindsNothingInAnEmptyDirectory) {
  FaultyFileSystem files;
  SegmentLife life(files);
  EXPECT_TRUE(life.recovery().is_ok());
  EXPECT_TRUE(life.shards().empty());
}

TEST(SegmentRecovery, GivesBackWhatWasCheckpointed) {
  FaultyFileSystem files;
  files.restore(small_disk());
  SegmentLife life(files);
  ASSERT_TRUE(life.recovery().is_ok());
  ASSERT_EQ(life.shards().size(), 1u);
  const RecoveredShard& shard = life.shards()[0];
  EXPECT_EQ(shard.shard, SegmentLife::kShard);
  EXPECT_EQ(shard.applied, LogIndex{5});
  EXPECT_EQ(shard.state, "state");
  ASSERT_EQ(shard.queues.size(), 1u);
  EXPECT_EQ(shard.queues[0].messages, 8u);
  EXPECT_EQ(shard.queues[0].last_stored, Sequence{10});
  EXPECT_EQ(life.all(kQueue), small_content());
}

TEST(SegmentRecovery, CutsBackWhatTheCheckpointDoesNotName) {
  FaultyFileSystem files;
  {
    SegmentLife life(files, 4096);
    ASSERT_TRUE(life.put(kQueue, {run_of(1, 10)}).is_ok());
    ASSERT_TRUE(life.checkpoint().is_ok());
    ASSERT_TRUE(life.put(kQueue, {run_of(11, 200)}).is_ok());
    ASSERT_TRUE(life.put(QueueId{8}, {run_of(1, 3)}).is_ok());
    life.settle(kQueue, 2, 3);
  }
  files.kill_process();
  SegmentLife life(files, 4096);
  ASSERT_TRUE(life.recovery().is_ok());
  // The settles were in the log only.
  EXPECT_EQ(life.all(kQueue), expected(1, 10));
  EXPECT_EQ(life.store().stored(QueueId{8}).messages, 0u);
  std::size_t data_files = 0;
  for (const std::string& path : files.paths()) data_files += path.ends_with(".data");
  EXPECT_EQ(data_files, 1u);
  EXPECT_TRUE(life.log().contains("event=file_removed"));
  EXPECT_TRUE(life.log().contains("event=directory_removed"));
  // And goes on in the same segment.
  ASSERT_TRUE(life.put(kQueue, {run_of(11, 30)}).is_ok());
  EXPECT_EQ(life.all(kQueue), expected(1, 30));
}

TEST(SegmentRecovery, TakesAMissingSegmentForASettledOne) {
  FaultyFileSystem files;
  {
    SegmentLife life(files, 4096);
    ASSERT_TRUE(life.put(kQueue, {run_of(1, 200)}).is_ok());
    ASSERT_TRUE(life.checkpoint().is_ok());
    life.settle(kQueue, 1, 150);
    life.executor().poll();
  }
  files.kill_process();
  SegmentLife life(files, 4096);
  ASSERT_TRUE(life.recovery().is_ok());
  EXPECT_TRUE(life.log().contains("event=segment_was_removed"));
  life.settle(kQueue, 1, 150);  // as the log would
  EXPECT_EQ(life.all(kQueue), expected(151, 200));
}

TEST(SegmentRecovery, FinishesAnInterruptedRemoval) {
  FaultyFileSystem files;
  files.restore(small_disk());
  ASSERT_TRUE(files.remove(file(1, ".data")).is_ok());
  SegmentLife life(files);
  ASSERT_TRUE(life.recovery().is_ok());
  EXPECT_FALSE(files.exists(file(1, ".index")));
  EXPECT_EQ(life.store().stored(kQueue).messages, 0u);
}

TEST(SegmentRecovery, ARemovalThatPowerLossInterruptsBringsNothingBack) {
  for (std::uint64_t nth = 1; nth <= 60; ++nth) {
    FaultyFileSystem files;
    files.restore(small_disk());
    SeededRandom random(nth);
    {
      SegmentLife life(files);
      ASSERT_TRUE(life.put(kQueue, {run_of(11, 120)}).is_ok());  // fills the segment
      // The log has this settle, but not that of 3 and 4, which the checkpoint has in the index.
      life.settle(kQueue, 1, life.store().table(kQueue)->segments()[0]->last().value);
      files.halt_at(2 + nth % 3);
      life.executor().poll();
    }
    files.crash(random);
    SegmentLife life(files);
    ASSERT_TRUE(life.recovery().is_ok());
    for (const auto& [sequence, body] : life.all(kQueue)) {
      EXPECT_TRUE(sequence != 3 && sequence != 4) << "nth " << nth;
    }
  }
}

TEST(SegmentRecovery, TellsWhatAShortenedSegmentHasLost) {
  for (const bool sealed : {false, true}) {
    FaultyFileSystem files;
    if (sealed) {
      SegmentLife life(files, 4096);
      ASSERT_TRUE(life.put(kQueue, {run_of(1, 10, 1000)}).is_ok());
      ASSERT_TRUE(life.checkpoint().is_ok());
      ASSERT_EQ(life.store().table(kQueue)->segments()[0]->state, SegmentState::kSealed);
    } else {
      files.restore(small_disk());
    }
    const std::string path = file(1, ".data");
    const std::string content = files.content(path);
    files.set_content(path, content.substr(0, content.find(body_of(2, sealed ? 1000 : 0))));
    SegmentLife life(files, 4096);
    ASSERT_TRUE(life.recovery().is_ok());
    EXPECT_TRUE(life.log().contains("event=segment_too_short"));
    const auto all = life.all(kQueue);
    const auto corrupt = std::count_if(
        all.begin(), all.end(), [](const auto& message) { return message.second == "CORRUPT"; });
    EXPECT_GT(corrupt, 0);
    EXPECT_TRUE(life.log().contains("messages_lost=" + std::to_string(corrupt))) << corrupt;
    EXPECT_EQ(all[0].second, body_of(1, sealed ? 1000 : 0));
  }
}

TEST(SegmentRecovery, RebuildsALostIndexOfMessagesThatWereAllUnsettled) {
  FaultyFileSystem files;
  {
    SegmentLife life(files);
    ASSERT_TRUE(life.put(kQueue, {run_of(1, 10)}).is_ok());
    ASSERT_TRUE(life.checkpoint().is_ok());
  }
  const std::string before = files.content(file(1, ".index"));
  ASSERT_TRUE(files.remove(file(1, ".index")).is_ok());
  SegmentLife life(files);
  ASSERT_TRUE(life.recovery().is_ok());
  EXPECT_EQ(life.all(kQueue), expected(1, 10));
  EXPECT_EQ(files.content(file(1, ".index")), before);
  EXPECT_TRUE(life.log().contains("WARN event=index_rebuilt queue=a/b queue_id=7"));
}

TEST(SegmentRecovery, RefusesALostIndexThatWouldBringSettledMessagesBack) {
  FaultyFileSystem files;
  files.restore(small_disk());
  ASSERT_TRUE(files.remove(file(1, ".index")).is_ok());
  SegmentLife life(files);
  EXPECT_EQ(life.recovery().code(), Code::kCorruption);
  EXPECT_NE(life.recovery().message().find(file(1, ".index") + ": is damaged or missing: of 10 "),
            std::string::npos)
      << life.recovery().message();
  EXPECT_FALSE(files.exists(file(1, ".index")));  // as it was
}

TEST(SegmentRecovery, TheCheckpointTellsWhatUnreadableEntriesWere) {
  const MemoryDisk::Image image = small_disk();
  const auto with_lost = [&](FaultyFileSystem& files, std::vector<std::uint32_t> ordinals) {
    files.restore(image);
    std::string index = files.content(file(1, ".index"));
    for (const std::uint32_t ordinal : ordinals) {
      index.replace(IndexEntry::place(ordinal), IndexEntry::kSize, IndexEntry::kSize, '\0');
    }
    files.set_content(file(1, ".index"), index);
  };
  // 3 and 4 are settled. All of the settled ones, or all of the others: it is clear what they were.
  for (const auto& lost : {std::vector<std::uint32_t>{2, 3}, {2}, {0}, {0, 1, 9}}) {
    FaultyFileSystem files;
    with_lost(files, lost);
    SegmentLife life(files);
    ASSERT_TRUE(life.recovery().is_ok()) << life.recovery().message();
    EXPECT_EQ(life.all(kQueue), small_content());
  }
  FaultyFileSystem files;
  with_lost(files, {2, 5});
  SegmentLife life(files);
  EXPECT_EQ(life.recovery().code(), Code::kCorruption);
}

TEST(SegmentRecovery, NoFlippedBitOfAnIndexChangesAnything) {
  const MemoryDisk::Image image = small_disk();
  FaultyFileSystem files;
  files.restore(image);
  const std::string before = files.content(file(1, ".index"));
  ASSERT_EQ(before.size(), IndexEntry::place(10));
  for (std::uint64_t bit = 0; bit < before.size() * 8; ++bit) {
    files.restore(image);
    files.flip_bit(file(1, ".index"), bit);
    SegmentLife life(files);
    ASSERT_TRUE(life.recovery().is_ok()) << "bit " << bit;
    EXPECT_EQ(life.all(kQueue), small_content()) << "bit " << bit;
    EXPECT_EQ(files.content(file(1, ".index")), before) << "bit " << bit;
  }
}

TEST(SegmentRecovery, AFlippedBitOfTheDataCostsAtMostItsMessage) {
  const MemoryDisk::Image image = small_disk();
  FaultyFileSystem files;
  files.restore(image);
  const std::size_t size = files.content(file(1, ".data")).size();
  std::size_t found = 0;
  for (std::uint64_t bit = 0; bit < size * 8; bit += 3) {
    files.restore(image);
    files.flip_bit(file(1, ".data"), bit);
    SegmentLife life(files);
    ASSERT_TRUE(life.recovery().is_ok());
    const auto all = life.all(kQueue);
    ASSERT_EQ(all.size(), small_content().size()) << "bit " << bit;
    std::size_t corrupt = 0;
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (all[i] == small_content()[i]) continue;
      EXPECT_EQ(all[i].second, "CORRUPT") << "bit " << bit;
      ++corrupt;
    }
    EXPECT_LE(corrupt, 1u) << "bit " << bit;
    found += corrupt;
  }
  EXPECT_GT(found, 1000u);
}

TEST(SegmentRecovery, FindsTheOtherMessagesWhenDataAndIndexAreDamaged) {
  FaultyFileSystem files;
  files.restore(small_disk());
  const std::size_t body = files.content(file(1, ".data")).find(body_of(6));
  // The record's own header, in front of the message's header and body.
  files.flip_bit(file(1, ".data"), (body - 2 - MessageRecord::kSize + 16) * 8);
  files.flip_bit(file(1, ".index"), IndexEntry::place(8) * 8);
  SegmentLife life(files);
  ASSERT_TRUE(life.recovery().is_ok());
  auto all = small_content();
  all[3].second = "CORRUPT";
  EXPECT_EQ(life.all(kQueue), all);
}

TEST(SegmentRecovery, RefusesADamagedCheckpoint) {
  FaultyFileSystem files;
  files.restore(small_disk());
  files.flip_bit("/data/shards/3/checkpoint", 1000);
  SegmentLife life(files);
  EXPECT_EQ(life.recovery().code(), Code::kCorruption);
  EXPECT_NE(life.recovery().message().find("/data/shards/3/checkpoint"), std::string::npos);
}

void exchange(FaultyFileSystem& files, const std::string& one, const std::string& other) {
  ASSERT_TRUE(files.rename(one, one + ".kept"));
  ASSERT_TRUE(files.rename(other, one));
  ASSERT_TRUE(files.rename(one + ".kept", other));
}

/// Neither a start nor a first delivery has changed anything.
void expect_refused_until_put_back(bool of_two_queues, bool with_indexes) {
  FaultyFileSystem files;
  const QueueId other_queue{8};
  const std::string other_directory = "/data/shards/3/queues/a%2Fb-8/";
  Sequence other{1};
  {
    SegmentLife life(files, 8192);
    for (const QueueId queue : {kQueue, other_queue}) {
      ASSERT_TRUE(life.put(queue, {run_of(1, 20, 1000)}).is_ok());
    }
    ASSERT_TRUE(life.checkpoint().is_ok());
    const auto& segments = life.store().table(kQueue)->segments();
    ASSERT_GT(segments.size(), 2u);
    if (!of_two_queues) other = segments[1]->first;
  }
  files.kill_process();
  const std::string& directory = of_two_queues ? other_directory : kDirectory;
  const auto exchange_them = [&] {
    exchange(files, file(1, ".data"), directory + segment_file_name(other, ".data"));
    if (!with_indexes) return;
    exchange(files, file(1, ".index"), directory + segment_file_name(other, ".index"));
  };
  exchange_them();
  {
    SegmentLife life(files, 8192);
    ASSERT_EQ(life.recovery().code(), Code::kCorruption);
    const std::string message = life.recovery().message();
    EXPECT_NE(message.find(file(1, ".data") + ": is "), std::string::npos) << message;
    EXPECT_NE(message.find(of_two_queues ? "of queue 8, as offset 16 says"
                                         : "another segment of the same queue"),
              std::string::npos)
        << message;
    EXPECT_NE(message.find("segue check --repair"), std::string::npos) << message;
  }
  files.kill_process();
  exchange_them();
  SegmentLife life(files, 8192);
  ASSERT_TRUE(life.recovery().is_ok());
  EXPECT_EQ(life.all(kQueue), expected(1, 20, 1000));
  EXPECT_EQ(life.all(other_queue), expected(1, 20, 1000));
}

TEST(SegmentRecovery, RefusesFilesOfMessagesThatChangedPlaces) {
  for (const bool of_two_queues : {true, false}) {
    for (const bool with_indexes : {true, false}) {
      SCOPED_TRACE(std::to_string(of_two_queues) + std::to_string(with_indexes));
      expect_refused_until_put_back(of_two_queues, with_indexes);
    }
  }
}

TEST(SegmentRecovery, DoesNotReadMessages) {
  FaultyFileSystem files;
  {
    SegmentLife life(files, 1 << 20);
    ASSERT_TRUE(life.put(kQueue, {run_of(1, 2000, 1000)}).is_ok());  // seals one and more
    ASSERT_TRUE(life.checkpoint().is_ok());
  }
  files.kill_process();
  files.fail_path(".data", FaultyFileSystem::kRead, Code::kIoError);
  SegmentLife life(files, 1 << 20);
  EXPECT_TRUE(life.recovery().is_ok());
  EXPECT_EQ(life.store().stored(kQueue).messages, 2000u);
}

TEST(Checkpoint, FailsAndHealsWhenSpaceReturns) {
  FaultyFileSystem files;
  SegmentLife life(files, 4096);
  ASSERT_TRUE(life.put(kQueue, {run_of(1, 100)}).is_ok());
  life.settle(kQueue, 5, 7);
  files.set_capacity(files.used_bytes());
  EXPECT_EQ(life.checkpoint(LogIndex{1}, std::string(5000, 's')).code(), Code::kNoSpace);
  files.set_capacity(1ull << 40);
  ASSERT_TRUE(life.checkpoint(LogIndex{2}).is_ok());
  files.kill_process();
  SegmentLife next(files, 4096);
  EXPECT_EQ(next.shards()[0].applied, LogIndex{2});
  auto all = expected(1, 100);
  all.erase(all.begin() + 4, all.begin() + 7);
  EXPECT_EQ(next.all(kQueue), all);
}

TEST(Checkpoint, FailsWhenAStoreThatItCountsOnFails) {
  FaultyFileSystem files;
  SegmentLife life(files, 1 << 20);
  ASSERT_TRUE(life.put(kQueue, {run_of(1, 10)}).is_ok());
  ASSERT_TRUE(life.checkpoint(LogIndex{1}).is_ok());
  files.fail_path(".data", FaultyFileSystem::kWrite, Code::kNoSpace, 1);
  Status stored;
  life.store().store(SegmentLife::kShard, kQueue, {run_of(11, 20)},
                     [&](const Status& status) { stored = status; });
  EXPECT_EQ(life.checkpoint(LogIndex{2}).code(), Code::kNoSpace);
  EXPECT_EQ(stored.code(), Code::kNoSpace);
  ASSERT_TRUE(life.put(kQueue, {run_of(11, 20)}).is_ok());
  ASSERT_TRUE(life.checkpoint(LogIndex{3}).is_ok());
  files.kill_process();
  SegmentLife next(files, 1 << 20);
  EXPECT_EQ(next.all(kQueue), expected(1, 20));
}

TEST(Checkpoint, WritesQueueStatForPeople) {
  FaultyFileSystem files;
  files.restore(small_disk());
  EXPECT_EQ(files.content(kDirectory + "queue_stat"), "10\t8\n");
}

TEST(Checkpoint, SealsFullSegments) {
  FaultyFileSystem files;
  SegmentLife life(files, 4096);
  ASSERT_TRUE(life.put(kQueue, {run_of(1, 100)}).is_ok());
  ASSERT_TRUE(life.checkpoint().is_ok());
  const auto& segments = life.store().table(kQueue)->segments();
  ASSERT_GT(segments.size(), 1u);
  for (std::size_t i = 0; i + 1 < segments.size(); ++i) {
    EXPECT_EQ(segments[i]->state, SegmentState::kSealed);
    const std::string data = files.content(file(segments[i]->first.value, ".data"));
    ASSERT_EQ(data.size(), segments[i]->data_bytes);
    const auto footer =
        SegmentFooter::decode(std::string_view(data).substr(data.size() - SegmentFooter::kSize));
    ASSERT_TRUE(footer.is_ok());
    EXPECT_EQ(footer->messages, segments[i]->messages());
    EXPECT_EQ(footer->last, segments[i]->last());
  }
  EXPECT_EQ(segments.back()->state, SegmentState::kActive);
}

TEST(Checkpoint, SyncsManyQueuesAtOnceAndDurably) {
  FaultyFileSystem files;
  SeededRandom random(1);
  {
    SegmentLife life(files, 4096);
    for (std::uint64_t queue = 1; queue <= 300; ++queue) {
      ASSERT_TRUE(life.put(QueueId{queue}, {run_of(1, 2)}).is_ok());
    }
    const std::uint64_t before = files.calls(FaultyFileSystem::kSync);
    ASSERT_TRUE(life.checkpoint().is_ok());
    EXPECT_LT(files.calls(FaultyFileSystem::kSync) - before, 10u);
  }
  files.crash(random);
  SegmentLife life(files, 4096);
  for (std::uint64_t queue = 1; queue <= 300; ++queue) {
    EXPECT_EQ(life.all(QueueId{queue}), expected(1, 2));
  }
}

TEST(Checkpoint, SyncsSegmentsThatWereClosedMeanwhile) {
  FaultyFileSystem files;
  files.set_content("/data/identity", "");  // the directory itself is durable
  SeededRandom random(1);
  {
    SegmentLife life(files, 4096);
    ASSERT_TRUE(life.put(kQueue, {run_of(1, 2)}).is_ok());
    for (std::uint64_t queue = 1001; queue <= 1200; ++queue) {  // of another shard
      life.store().store(ShardId{4}, QueueId{queue}, {run_of(1, 2)}, [](const Status&) {});
    }
    life.executor().poll();
    ASSERT_TRUE(life.checkpoint().is_ok());
  }
  files.crash(random);
  SegmentLife life(files, 4096);
  EXPECT_EQ(life.all(kQueue), expected(1, 2));
}

TEST(Checkpoint, AFailedSyncOfASegmentIsFatal) {
  for (const char* path : {".data", ".index", "/queues"}) {
    FaultyFileSystem files;
    SegmentLife life(files, 4096);
    ASSERT_TRUE(life.put(kQueue, {run_of(1, 10)}).is_ok());
    files.fail_path(path, FaultyFileSystem::kSync | FaultyFileSystem::kSyncDirectory,
                    Code::kIoError);
    EXPECT_FALSE(life.checkpoint().is_ok());
    EXPECT_EQ(life.fatal().size(), 1u) << path;
  }
}

}  // namespace
}  // namespace segue::storage
