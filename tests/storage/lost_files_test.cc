// Files that were removed, cut short or replaced by older ones while the node was stopped: what
// they held is never missing without a word.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "storage/wal_format.h"
#include "tests/storage/model_workload.h"
#include "tests/storage/refused_start.h"
#include "tests/storage/worked_disk.h"

namespace segue::storage {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

using End = WorkedDisk::End;

TEST(LostFiles, ALostCheckpointIsRefusedAndNothingIsDeleted) {
  for (const End end : {End::kStopped, End::kKilled}) {
    WorkedDisk disk(end);
    const std::string path = WorkedDisk::checkpoint(1);
    const std::string kept = disk.files.content(path);
    ASSERT_TRUE(disk.files.remove(path).is_ok());
    const auto before = disk.files.paths();
    const Status refused = disk.start();
    EXPECT_EQ(refused.code(), Code::kCorruption);
    EXPECT_THAT(refused.message(),
                AllOf(HasSubstr("shard 1 "), HasSubstr("missing"), HasSubstr("estore them")));
    EXPECT_EQ(disk.files.paths(), before);
    disk.files.set_content(path, kept);
    EXPECT_EQ(disk.held(), disk.whole);
  }
}

TEST(LostFiles, ALostDirectoryOfShardsIsRefused) {
  for (const End end : {End::kStopped, End::kKilled}) {
    WorkedDisk disk(end);
    disk.remove_all("/data/shards");
    EXPECT_EQ(disk.start().code(), Code::kCorruption);
  }
}

TEST(LostFiles, AnOlderCheckpointIsRefused) {
  for (const End end : {End::kStopped, End::kKilled}) {
    WorkedDisk disk(end);
    disk.files.set_content(WorkedDisk::checkpoint(2), disk.older[2]);
    EXPECT_EQ(disk.start().code(), Code::kCorruption);
  }
}

TEST(LostFiles, ALostLogIsRefusedWhenTheCheckpointsNeedIt) {
  WorkedDisk disk(End::kStopped, /*checkpoint_at_end=*/false);
  disk.remove_all("/data/wal");
  const Status refused = disk.start();
  EXPECT_EQ(refused.code(), Code::kCorruption);
  EXPECT_THAT(refused.message(),
              AllOf(HasSubstr("/data/wal"), HasSubstr("1 other shards"), HasSubstr("log_ends")));
}

TEST(LostFiles, AKilledNodesLogThatLostItsLastFilesIsRefused) {
  WorkedDisk disk(End::kKilled);
  const MemoryDisk::Image image = disk.files.image();
  const auto log = disk.paths_in("/data/wal/");
  for (std::size_t lost = 1; lost <= log.size(); ++lost) {
    disk.files.restore(image);
    for (std::size_t i = log.size() - lost; i < log.size(); ++i) {
      ASSERT_TRUE(disk.files.remove(log[i]).is_ok());
    }
    const auto held = disk.held();
    if (held) {
      EXPECT_EQ(*held, disk.whole) << lost;
    }
    if (lost == log.size()) {
      EXPECT_FALSE(held);
    }
  }
}

TEST(LostFiles, ALostLogThatNobodyNeedsIsNoLoss) {
  WorkedDisk disk(End::kStopped);
  disk.remove_all("/data/wal");
  EXPECT_EQ(disk.held(), disk.whole);
  EXPECT_EQ(disk.held(), disk.whole) << "the new log does not fit the checkpoints";
}

TEST(LostFiles, TheFileThatTellsWhatIsMissingCanBeGivenUp) {
  WorkedDisk disk(End::kStopped, /*checkpoint_at_end=*/false);
  disk.remove_all("/data/wal");
  ASSERT_TRUE(disk.files.remove("/data/log_ends").is_ok());
  ModelNode node(disk.files);
  ASSERT_TRUE(node.opened().is_ok()) << node.opened().to_string();
  const auto held = node.held();
  ASSERT_TRUE(held.has_value());
  EXPECT_EQ(held->at(1).size(), 380u);  // as of the checkpoint
  EXPECT_TRUE(disk.files.exists("/data/log_ends"));
  EXPECT_TRUE(node.log().contains("WARN event=log_ends_missing"));
}

TEST(LostFiles, PreparedFilesDoNotStandForTheOneThatWasWritten) {
  for (std::uint64_t records = 1; records <= 40; ++records) {
    FaultyFileSystem files;
    {
      ModelNode node(files);
      for (std::uint64_t i = 1; i <= records; ++i) {
        const std::string place = std::to_string(i);
        ASSERT_TRUE(node.run(1, "E 1 " + place + " " + place + " " + std::string(3000, 'x')));
      }
      // The file that is written to now is noted.
      for (int i = 0; i < 5; ++i) node.poll();
      files.kill_process();
    }
    const MemoryDisk::Image image = files.image();
    Model whole;
    std::string written;
    {
      const auto log = recover_wal(files, {"/data/wal", wal_node_hash("c", "n"), {}},
                                   [](const ReplayedRecord&) { return Status(); });
      ASSERT_TRUE(log.is_ok());
      ASSERT_FALSE(log->unused.empty()) << "no file is prepared";
      written = "/data/wal/" + wal_file_name(log->files.back().number);
      ModelNode node(files);
      whole = *node.held();
    }
    files.restore(image);
    ASSERT_TRUE(files.remove(written).is_ok());
    const Status refused = refused_start(files);
    EXPECT_EQ(refused.code(), Code::kCorruption);
    EXPECT_THAT(refused.message(), HasSubstr(written.substr(10))) << records;
    files.restore(image);
    ModelNode node(files);
    ASSERT_TRUE(node.opened().is_ok()) << node.opened().to_string();
    EXPECT_EQ(node.held(), whole);
  }
}

TEST(LostFiles, TheNotedFileStaysUntilItsSuccessorIsNoted) {
  // The note cannot be written, nor removed: all files stay from the noted one on, and a start
  // finds it whenever the process ends.
  FaultyFileSystem files;
  {
    ModelNode node(files);
    files.fail_path("log_ends", FaultyFileSystem::kAny, Code::kIoError);
    for (std::uint64_t round = 0; round < 20; ++round) {
      const std::uint64_t first = node.next_sequence(1);
      ASSERT_TRUE(node.run(1, "E 1 " + std::to_string(first) + " " + std::to_string(first) + " " +
                                  std::string(3000, 'x')));
      ASSERT_TRUE(node.checkpoint(ModelNode::shard_of(1)));
      for (int i = 0; i < 5; ++i) node.poll();
    }
    EXPECT_TRUE(node.log().contains("event=log_ends_not_written"));
    files.kill_process();
  }
  files.clear_faults();
  EXPECT_TRUE(files.exists("/data/wal/" + wal_file_name(1)));
  ModelNode node(files);
  ASSERT_TRUE(node.opened().is_ok()) << node.opened().to_string();
  EXPECT_EQ((*node.held())[1].size(), 20u);
}

TEST(LostFiles, ANoteThatCannotBeWrittenIsRemovedSoThatTheLogIsRecycled) {
  FaultyFileSystem files;
  {
    ModelNode node(files);
    files.fail_path("log_ends.new", FaultyFileSystem::kWrite, Code::kNoSpace);
    for (std::uint64_t round = 0; round < 40; ++round) {
      const std::uint64_t first = node.next_sequence(1);
      ASSERT_TRUE(node.run(1, "E 1 " + std::to_string(first) + " " + std::to_string(first) + " " +
                                  std::string(3000, 'x')));
      ASSERT_TRUE(node.checkpoint(ModelNode::shard_of(1)));
      for (int i = 0; i < 5; ++i) node.poll();
    }
    EXPECT_FALSE(files.exists("/data/log_ends"));
    EXPECT_FALSE(files.exists("/data/wal/" + wal_file_name(1)));
    EXPECT_LT(node.disk().stats().wal_bytes, 100'000u);
    files.kill_process();
  }
  files.clear_faults();
  ModelNode node(files);
  ASSERT_TRUE(node.opened().is_ok()) << node.opened().to_string();
  EXPECT_EQ((*node.held())[1].size(), 40u);
  EXPECT_TRUE(files.exists("/data/log_ends"));
}

TEST(LostFiles, FilesOfTheLogThatWereSwappedSayWhichNamesTheyHad) {
  WorkedDisk disk(End::kKilled);
  auto log = disk.paths_in("/data/wal/");
  std::erase_if(log, [](const std::string& path) { return !path.ends_with(".wal"); });
  ASSERT_GE(log.size(), 2u);
  const std::string one = disk.files.content(log[0]);
  disk.files.set_content(log[0], disk.files.content(log[1]));
  disk.files.set_content(log[1], one);
  const Status refused = refused_start(disk.files);
  EXPECT_EQ(refused.code(), Code::kCorruption);
  EXPECT_THAT(refused.message(), AllOf(HasSubstr(log[0] + ": offset 16"),
                                       HasSubstr("it was named " + log[1].substr(10))));
}

TEST(LostFiles, AFileOfTheLogThatIsCutOffIsRefusedWhereverThatIs) {
  for (const End end : {End::kStopped, End::kKilled}) {
    WorkedDisk disk(end, /*checkpoint_at_end=*/false);
    const MemoryDisk::Image image = disk.files.image();
    std::size_t cut = 0;
    for (const std::string& path : disk.paths_in("/data/wal/")) {
      if (!path.ends_with(".wal")) continue;
      const std::string content = disk.files.content(path);
      for (const std::size_t keep : {std::size_t{1}, std::size_t{100}, std::size_t{4096},
                                     std::size_t{8192}, std::size_t{9000}, content.size() - 1}) {
        disk.files.restore(image);
        disk.files.set_content(path, content.substr(0, keep));
        const Status refused = refused_start(disk.files);
        EXPECT_EQ(refused.code(), Code::kCorruption);
        EXPECT_THAT(refused.message(), AllOf(HasSubstr(path), HasSubstr("cut off")));
        ++cut;
      }
    }
    EXPECT_GT(cut, 11u);
  }
}

TEST(LostFiles, NoFileOfTheLogCanBeLostOrCutUnnoticedAfterAStop) {
  WorkedDisk disk(End::kStopped, /*checkpoint_at_end=*/false);
  const MemoryDisk::Image image = disk.files.image();
  std::size_t refused = 0;
  for (const std::string& path : disk.paths_in("/data/wal/")) {
    disk.files.restore(image);
    const std::string content = disk.files.content(path);
    for (std::size_t keep = 0; keep < content.size(); keep += 1000) {
      disk.files.restore(image);
      if (keep == 0) {
        ASSERT_TRUE(disk.files.remove(path).is_ok());
      } else {
        disk.files.set_content(path, content.substr(0, keep));
      }
      const auto held = disk.held();
      refused += !held.has_value();
      if (held) {
        ASSERT_EQ(*held, disk.whole) << path << " cut to " << keep;
      }
    }
  }
  EXPECT_GT(refused, 5u);
}

TEST(LostFiles, ALostOldestFileOfTheLogIsRefusedWhenItHadTheLastOfAShard) {
  FaultyFileSystem files;
  {
    ModelNode node(files);
    ASSERT_TRUE(node.run(2, "E 2 1 5"));
    for (std::uint64_t i = 1; i <= 30; ++i) {
      const std::string place = std::to_string(i);
      ASSERT_TRUE(node.run(1, "E 1 " + place + " " + place + " " + std::string(3000, 'x')));
    }
  }
  files.kill_process();
  ASSERT_TRUE(files.remove("/data/wal/" + wal_file_name(1)).is_ok());
  EXPECT_EQ(ModelNode(files).opened().code(), Code::kCorruption);
}

TEST(LostFiles, AnyLostSegmentIsToldWithItsMessages) {
  for (const End end : {End::kStopped, End::kKilled}) {
    WorkedDisk disk(end, end == End::kStopped);
    const MemoryDisk::Image image = disk.files.image();
    std::size_t told = 0;
    for (const std::string& path : disk.paths_in("/data/shards/1/queues/")) {
      if (!path.ends_with(".data")) continue;
      disk.files.restore(image);
      ASSERT_TRUE(disk.files.remove(path).is_ok());
      ModelNode node(disk.files);
      ASSERT_TRUE(node.opened().is_ok()) << node.opened().to_string();
      const std::size_t held = (*node.held())[1].size();
      const auto losses = node.losses();
      ASSERT_EQ(losses.size(), 1u) << path;
      EXPECT_EQ(losses[0].queue, QueueId{1});
      EXPECT_EQ(losses[0].files, 1u);
      EXPECT_EQ(losses[0].path, path);
      EXPECT_EQ(held + losses[0].messages, 400u) << path;
      ++told;
    }
    EXPECT_GT(told, 3u);
  }
}

TEST(LostFiles, WhatTheLogSaysToBeSettledIsNotLost) {
  WorkedDisk disk(End::kStopped);
  const std::vector<std::string> paths = disk.paths_in("/data/shards/1/queues/");
  {
    ModelNode node(disk.files);
    ASSERT_TRUE(node.run(1, "S 1 1 200"));
    node.poll();
    disk.files.kill_process();
  }
  std::size_t removed = 0;
  for (const std::string& path : paths) removed += !disk.files.exists(path);
  EXPECT_GT(removed, 2u);
  ModelNode node(disk.files);
  ASSERT_TRUE(node.opened().is_ok()) << node.opened().to_string();
  EXPECT_TRUE(node.losses().empty());
  EXPECT_EQ((*node.held())[1].size(), 200u);
}

TEST(LostFiles, ADamagedNoteIsReportedAndMadeAgain) {
  WorkedDisk disk(End::kStopped);
  const std::string path = "/data/log_ends";
  const std::string good = disk.files.content(path);
  for (std::size_t cut = 0; cut < good.size(); ++cut) {
    disk.files.set_content(path, good.substr(0, cut));
    ModelNode node(disk.files);
    ASSERT_TRUE(node.opened().is_ok()) << node.opened().to_string();
    EXPECT_TRUE(node.log().contains("event=log_ends_damaged"));
    node.stop();
    ASSERT_EQ(disk.files.content(path), good);
  }
}

TEST(LostFiles, ANoteOfANewerVersionIsRefused) {
  WorkedDisk disk(End::kStopped);
  disk.files.set_content("/data/log_ends", "segue-log-ends 2\nwhatever\n");
  EXPECT_EQ(disk.start().code(), Code::kInvalidConfig);
}

}  // namespace
}  // namespace segue::storage
