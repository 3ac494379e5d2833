// A start that is refused has changed nothing, whatever it is refused for.

#include "tests/storage/refused_start.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "storage/wal_format.h"

namespace segue::storage {
namespace {

using ::testing::HasSubstr;

constexpr std::uint64_t kLastQueue = 5;

/// A disk on which a start has much to do: in both shards queues with segments that go on behind
/// the checkpoint, new ones, settled messages, a checkpoint and a backup that were not finished.
class RefusedStart : public ::testing::Test {
 protected:
  RefusedStart() {
    ModelNode node(files_);
    for (std::uint64_t queue = 1; queue <= kLastQueue; ++queue) enqueue(node, queue, 30);
    checkpoint(node);
    for (std::uint64_t queue = 1; queue <= kLastQueue; ++queue) {
      EXPECT_TRUE(node.run(queue, "S " + std::to_string(queue) + " 5 9"));
    }
    checkpoint(node);
    for (std::uint64_t queue = 1; queue <= kLastQueue; ++queue) {
      enqueue(node, queue, 20);
      node.store(queue, 20);
    }
    for (int i = 0; i < 10; ++i) node.poll();
    enqueue(node, kLastQueue, 400);
    node.store(kLastQueue, 400);
    for (int i = 0; i < 10; ++i) node.poll();
    whole_ = *node.held();
    files_.kill_process();
    files_.set_content("/data/shards/1/checkpoint.new", "half");
    files_.set_content("/data/backup.links/checkpoint", "half");
    files_.set_content("/data/shards/0/queues/-2/00000000000000000001.data.new", "half");
    damaged_from_ = files_.image();
  }

  static void checkpoint(ModelNode& node) {
    for (std::uint16_t shard = 0; shard < ModelNode::kShards; ++shard) {
      EXPECT_TRUE(node.checkpoint(ShardId{shard}));
    }
  }
  static void enqueue(ModelNode& node, std::uint64_t queue, std::uint64_t count) {
    const std::uint64_t first = node.next_sequence(queue);
    for (std::uint64_t at = 0; at < count; at += 10) {
      EXPECT_TRUE(node.run(queue, "E " + std::to_string(queue) + " " + std::to_string(first + at) +
                                      " " + std::to_string(first + at + 9) + " " +
                                      std::string(500, 'x')));
    }
  }
  std::vector<std::string> log_files() const {
    std::vector<std::string> found;
    for (const std::string& path : files_.paths()) {
      if (path.starts_with("/data/wal/") && path.ends_with(".wal")) found.push_back(path);
    }
    return found;
  }
  /// Nothing was lost by what was refused.
  void expect_whole_after_undoing_the_damage() {
    files_.restore(damaged_from_);
    ModelNode node(files_);
    ASSERT_TRUE(node.opened().is_ok()) << node.opened().to_string();
    EXPECT_EQ(node.held(), whole_);
  }

  FaultyFileSystem files_;
  MemoryDisk::Image damaged_from_;
  Model whole_;
};

TEST_F(RefusedStart, WouldHaveMuchToChange) {
  const auto before = directory_bytes(files_);
  expect_whole_after_undoing_the_damage();
  const std::string changed = difference(before, directory_bytes(files_));
  for (const char* what : {".data has ", "checkpoint.new is gone", "backup.links", "log_ends has ",
                           ".data.new is gone", ".wal"}) {
    EXPECT_THAT(changed, HasSubstr(what));
  }
}

TEST_F(RefusedStart, BecauseTheLogIsDamagedInItsMiddle) {
  const auto log = log_files();
  ASSERT_GE(log.size(), 4u);
  for (std::size_t i = 0; i + 3 < log.size(); ++i) {
    for (const std::uint64_t byte : {std::uint64_t{20}, kWalBlock + 20, 2 * kWalBlock + 60}) {
      files_.restore(damaged_from_);
      files_.flip_bit(log[i], byte * 8);
      EXPECT_EQ(refused_start(files_).code(), Code::kCorruption) << log[i] << " byte " << byte;
    }
  }
}

TEST_F(RefusedStart, BecauseAFileOfTheLogIsMissing) {
  const auto log = log_files();
  for (std::size_t i = 1; i + 3 < log.size(); ++i) {
    files_.restore(damaged_from_);
    ASSERT_TRUE(files_.remove(log[i]).is_ok());
    EXPECT_EQ(refused_start(files_).code(), Code::kCorruption) << log[i];
  }
  files_.restore(damaged_from_);
  for (const std::string& path : log) ASSERT_TRUE(files_.remove(path).is_ok());
  EXPECT_THAT(refused_start(files_).message(), HasSubstr("log_ends"));
}

TEST_F(RefusedStart, BecauseAFileOfTheLogIsAnotherNodes) {
  const std::string last = log_files().back();
  std::string content = files_.content(last);
  WalFileHeader{*parse_wal_file_name(last.substr(last.rfind('/') + 1)), 1234, 5}.encode(
      content.data());
  files_.set_content(last, content);
  EXPECT_EQ(refused_start(files_).code(), Code::kInvalidConfig);
}

TEST_F(RefusedStart, BecauseLogEndsIsNewer) {
  files_.set_content("/data/log_ends", "segue-log-ends 9\n");
  EXPECT_EQ(refused_start(files_).code(), Code::kInvalidConfig);
}

TEST_F(RefusedStart, BecauseTheLastShardsCheckpointIsDamagedMissingOrTheOther) {
  const std::string path = "/data/shards/1/checkpoint";
  files_.flip_bit(path, 300);
  EXPECT_EQ(refused_start(files_).code(), Code::kCorruption);
  files_.restore(damaged_from_);
  ASSERT_TRUE(files_.remove(path).is_ok());
  EXPECT_EQ(refused_start(files_).code(), Code::kCorruption);
  files_.set_content(path, files_.content("/data/shards/0/checkpoint"));
  EXPECT_EQ(refused_start(files_).code(), Code::kCorruption);
  expect_whole_after_undoing_the_damage();
}

TEST_F(RefusedStart, BecauseAnIndexOfTheLastQueueCannotBeDecided) {
  const std::string path = "/data/shards/1/queues/-5/00000000000000000001.index";
  ASSERT_TRUE(files_.exists(path));
  ASSERT_TRUE(files_.remove(path).is_ok());
  EXPECT_THAT(refused_start(files_).message(), HasSubstr(path));
  expect_whole_after_undoing_the_damage();
}

TEST_F(RefusedStart, BecauseACopyOfSegmentsIsDamaged) {
  const std::string path = "/data/shards/1/queues/-5/00000000000000000001-1.data";
  files_.set_content(path, std::string(4096, 'x'));
  EXPECT_THAT(refused_start(files_).message(), HasSubstr(path));
}

}  // namespace
}  // namespace segue::storage
