// Damaged messages are set aside, and everything else goes on.
#include "storage/quarantine.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "tests/storage/segment_fixture.h"

namespace segue::storage {
namespace {

const QueueId kQueue{7};
constexpr const char* kPath = "/data/quarantine";

std::string data_file(std::uint64_t first) {
  return "shards/3/queues/a%2Fb-7/" + segment_file_name(SegmentName(Sequence{first}), ".data");
}

QuarantineRecord record(std::uint64_t sequence, std::string bytes = "as found") {
  return {ShardId{3}, kQueue, "a/b", Sequence{sequence}, data_file(1), 64, std::move(bytes)};
}

std::vector<QuarantineRecord> content(FileSystem& files, QuarantineScan* scan = nullptr) {
  std::vector<QuarantineRecord> records;
  auto done = scan_quarantine(files, kPath,
                              [&](const QuarantineRecord& found) { records.push_back(found); });
  EXPECT_TRUE(done.is_ok());
  if (scan != nullptr) *scan = *done;
  return records;
}

class QuarantineTest : public ::testing::Test {
 protected:
  QuarantineTest() { files_.set_content("/data/identity", ""); }

  std::size_t lines_with(std::string_view text) const {
    return static_cast<std::size_t>(
        std::count_if(logger_.lines().begin(), logger_.lines().end(),
                      [&](const std::string& line) { return line.find(text) != line.npos; }));
  }

  FaultyFileSystem files_;
  CaptureLogger logger_;
  int fatal_ = 0;
  SegmentContext context_{files_, logger_.logger(), "/data", 4096,
                          [this](const Status&) { ++fatal_; }};
};

TEST_F(QuarantineTest, KeepsEachMessageOnceAlsoAfterARestart) {
  {
    Quarantine quarantine(context_);
    ASSERT_TRUE(quarantine.load().is_ok());
    EXPECT_TRUE(quarantine.set_aside({record(4), record(5, "")}).empty());
    EXPECT_TRUE(quarantine.set_aside({record(4)}).empty());
    EXPECT_EQ(quarantine.count(), 2u);
    EXPECT_EQ(quarantine.found(), 2u);
  }
  SeededRandom random(1);
  files_.crash(random);  // it was synced
  Quarantine quarantine(context_);
  ASSERT_TRUE(quarantine.load().is_ok());
  EXPECT_EQ(quarantine.count(), 2u);
  EXPECT_TRUE(quarantine.set_aside({record(5), record(6)}).empty());
  EXPECT_EQ(quarantine.found(), 1u);
  EXPECT_EQ(content(files_), (std::vector<QuarantineRecord>{record(4), record(5, ""), record(6)}));
  EXPECT_TRUE(
      logger_.contains("event=message_corrupt queue=a/b queue_id=7 sequence=4 "
                       "path=/data/" +
                       data_file(1) + " offset=64 bytes=8 set_aside=/data/quarantine"));
}

TEST_F(QuarantineTest, GrowsToItsCapAndLeavesTheRestWhereItIs) {
  const std::uint64_t room = 2 * record(1).record_bytes();
  Quarantine quarantine(context_, room + 10);
  ASSERT_TRUE(quarantine.load().is_ok());
  EXPECT_EQ(
      quarantine.set_aside({record(1), record(2, std::string(1000, 'x')), record(3), record(4)}),
      (std::vector<Sequence>{Sequence{2}, Sequence{4}}));
  EXPECT_EQ(quarantine.set_aside({record(5)}), std::vector<Sequence>{Sequence{5}});
  EXPECT_EQ(quarantine.set_aside({record(4)}), std::vector<Sequence>{Sequence{4}});
  EXPECT_EQ(quarantine.count(), 2u);
  EXPECT_EQ(quarantine.found(), 5u);  // counting goes on
  EXPECT_EQ(content(files_), (std::vector<QuarantineRecord>{record(1), record(3)}));
  EXPECT_EQ(lines_with("event=quarantine_full"), 1u);
  EXPECT_EQ(lines_with("event=message_corrupt"), 5u);
}

TEST_F(QuarantineTest, WhatCannotBeWrittenIsNotSetAsideAndMayBeLater) {
  Quarantine quarantine(context_);
  ASSERT_TRUE(quarantine.load().is_ok());
  files_.fail_path("quarantine", FaultyFileSystem::kWrite, Code::kNoSpace, 1);
  EXPECT_EQ(quarantine.set_aside({record(1)}), std::vector<Sequence>{Sequence{1}});
  EXPECT_TRUE(quarantine.set_aside({record(1)}).empty());
  EXPECT_EQ(content(files_), std::vector<QuarantineRecord>{record(1)});
  EXPECT_EQ(fatal_, 0);
  files_.fail_path("quarantine", FaultyFileSystem::kSync, Code::kIoError, 1);
  EXPECT_EQ(quarantine.set_aside({record(2)}), std::vector<Sequence>{Sequence{2}});
  EXPECT_EQ(fatal_, 1);
}

TEST_F(QuarantineTest, AnyDamageOfTheFileCostsOneRecordAtMost) {
  Quarantine quarantine(context_);
  ASSERT_TRUE(quarantine.load().is_ok());
  quarantine.set_aside({record(1), record(2, "SGQR in a body"), record(3)});
  const std::string whole = files_.content(kPath);
  for (std::uint64_t bit = 0; bit < whole.size() * 8; ++bit) {
    files_.set_content(kPath, whole);
    files_.flip_bit(kPath, bit);
    QuarantineScan scan;
    ASSERT_EQ(content(files_, &scan).size(), 2u) << "bit " << bit;
    EXPECT_GT(scan.lost_bytes, 0u);
  }
  for (std::size_t size = 0; size < whole.size(); ++size) {
    files_.set_content(kPath, whole.substr(0, size));
    Quarantine next(context_);
    ASSERT_TRUE(next.load().is_ok());
    next.set_aside({record(1), record(2, "SGQR in a body"), record(3)});
    EXPECT_EQ(content(files_).size(), 3u) << "cut at " << size;
  }
}

// ---- with a store

TEST(QuarantineStore, AFlippedBitOfTheDataSetsExactlyItsMessageAsideAndGivesTheOthers) {
  FaultyFileSystem files;
  {
    SegmentLife life(files, 1 << 20);
    ASSERT_TRUE(life.put(kQueue, {run_of(1, 12)}).is_ok());
    ASSERT_TRUE(life.checkpoint().is_ok());
  }
  const MemoryDisk::Image image = files.image();
  const std::string path = "/data/" + data_file(1);
  const std::string before = files.content(path);
  std::size_t damaged = 0;
  for (std::uint64_t bit = 0; bit < before.size() * 8; bit += 7) {
    files.restore(image);
    files.flip_bit(path, bit);
    SegmentLife life(files, 1 << 20);
    ASSERT_TRUE(life.recovery().is_ok());
    auto all = life.all(kQueue);
    const auto aside = content(files);
    ASSERT_LE(aside.size(), 1u) << "bit " << bit;
    auto wanted = expected(1, 12);
    if (!aside.empty()) {
      ++damaged;
      const QuarantineRecord& found = aside.front();
      EXPECT_EQ(found.queue_name, "a/b");
      EXPECT_EQ(found.file, data_file(1));
      EXPECT_EQ(found.bytes, files.content(path).substr(found.offset, found.bytes.size()));
      EXPECT_GE(bit / 8, found.offset);
      EXPECT_LT(bit / 8, found.offset + found.bytes.size());
      wanted[found.sequence.value - 1].second = "CORRUPT";
      // Once it is settled nothing keeps the file.
      life.settle(kQueue, 1, 12);
      EXPECT_EQ(life.store().stored(kQueue).messages, 0u);
    }
    ASSERT_EQ(all, wanted) << "bit " << bit;
  }
  EXPECT_GT(damaged, 100u);
}

TEST(QuarantineStore, TellsWhichMessagesCouldNotBeSetAside) {
  FaultyFileSystem files;
  SegmentLife life(files, 1 << 20);
  ASSERT_TRUE(life.put(kQueue, {run_of(1, 10)}).is_ok());
  const std::string path = "/data/" + data_file(1);
  for (const std::uint64_t sequence : {4u, 8u}) {
    files.flip_bit(path, files.content(path).find(body_of(sequence)) * 8);
  }
  files.fail_path("quarantine", FaultyFileSystem::kOpen, Code::kIoError, 1);
  const auto loaded = life.get(kQueue, 1);
  EXPECT_EQ(loaded->corrupt, (std::vector<Sequence>{Sequence{4}, Sequence{8}}));
  EXPECT_EQ(loaded->not_set_aside, loaded->corrupt);
  EXPECT_TRUE(life.get(kQueue, 1)->not_set_aside.empty());
  EXPECT_EQ(content(files).size(), 2u);
}

}  // namespace
}  // namespace segue::storage
