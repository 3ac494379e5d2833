#include "storage/wal_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "tests/storage/wal_harness.h"

namespace segue::storage {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr ShardId kOne{1};
constexpr ShardId kTwo{2};

TEST(WalWriter, CommitsInlineWithOneWriteAndOneSync) {
  WalHarness wal;
  ASSERT_TRUE(wal.open());
  const auto writes = wal.files.calls(FaultyFileSystem::kWrite);
  const auto syncs = wal.files.calls(FaultyFileSystem::kSync);
  for (std::uint64_t i = 1; i <= 5; ++i) ASSERT_TRUE(wal.wal->append(WalHarness::record(1, i)));
  ASSERT_TRUE(wal.wal->append(WalHarness::record(2, 1)));
  wal.wal->flush();
  const std::vector<Committed> done = wal.wal->poll();
  ASSERT_EQ(done.size(), 2u);
  EXPECT_EQ(done[0].shard, kOne);
  EXPECT_EQ(done[0].up_to, LogIndex(5));
  EXPECT_EQ(done[1].shard, kTwo);
  EXPECT_EQ(wal.files.calls(FaultyFileSystem::kWrite), writes + 1);
  EXPECT_EQ(wal.files.calls(FaultyFileSystem::kSync), syncs + 1);
}

TEST(WalWriter, CommitsOnItsThreadAndSurvivesAPowerLoss) {
  WalHarness wal;
  wal.options.inline_bytes = 0;
  SeededRandom random(3);
  ASSERT_TRUE(wal.open());
  for (std::uint64_t i = 1; i <= 30; ++i) ASSERT_TRUE(wal.write(WalHarness::record(1, i)));
  wal.crash(random);
  ASSERT_TRUE(wal.open());
  ASSERT_EQ(wal.replayed[kOne].size(), 30u);
  EXPECT_EQ(WalHarness::text(wal.replayed[kOne][29]), "command 1/30body");
  EXPECT_EQ(wal.replayed[kOne][29].epoch, Epoch(1));
}

TEST(WalWriter, WritesWhatWasOnlyAppendedWhenItStops) {
  WalHarness wal;
  ASSERT_TRUE(wal.open());
  ASSERT_TRUE(wal.wal->append(WalHarness::record(1, 1)));
  ASSERT_TRUE(wal.wal->stop());
  EXPECT_EQ(wal.wal->poll().size(), 1u);
  ASSERT_TRUE(wal.open());
  EXPECT_EQ(wal.replayed[kOne].size(), 1u);
}

TEST(WalWriter, KeepsGroupsBackWhenTooManyAreInFlightAndLosesNone) {
  WalHarness wal;
  wal.options.inline_bytes = 0;
  ASSERT_TRUE(wal.open());
  for (std::uint64_t i = 1; i <= 1000; ++i) {
    ASSERT_TRUE(wal.wal->append(WalHarness::record(1, i)));
    wal.wal->flush();
  }
  EXPECT_TRUE(wal.wait_for({kOne, LogIndex(1000)}));
}

TEST(WalWriter, AnIntervalRecordIsCommittedBeforeItIsSynced) {
  WalHarness wal;
  wal.options.sync_interval = std::chrono::hours(1);
  for (const std::size_t inline_bytes : {std::size_t{0}, std::size_t{65536}}) {
    wal.options.inline_bytes = inline_bytes;
    ASSERT_TRUE(wal.open());
    const std::uint64_t next = wal.replayed[kOne].size() + 1;
    const auto syncs = wal.files.calls(FaultyFileSystem::kSync);
    EXPECT_TRUE(wal.write(WalHarness::record(1, next, "b", false)));
    EXPECT_EQ(wal.files.calls(FaultyFileSystem::kSync), syncs);
    EXPECT_TRUE(wal.write(WalHarness::record(1, next + 1, "b", true)));
    EXPECT_EQ(wal.files.calls(FaultyFileSystem::kSync), syncs + 1);
    EXPECT_TRUE(wal.write(WalHarness::record(1, next + 2, "b", false)));
    wal.kill();
    ASSERT_TRUE(wal.recover());
    EXPECT_EQ(wal.replayed[kOne].size(), next + 2);
  }
}

TEST(WalWriter, AnIntervalRecordIsSyncedWithinTheInterval) {
  WalHarness wal;
  wal.options.sync_interval = std::chrono::milliseconds(1);
  for (const std::size_t inline_bytes : {std::size_t{0}, std::size_t{65536}}) {
    wal.options.inline_bytes = inline_bytes;
    ASSERT_TRUE(wal.open());
    const auto syncs = wal.files.calls(FaultyFileSystem::kSync);
    EXPECT_TRUE(wal.write(WalHarness::record(1, wal.replayed[kOne].size() + 1, "b", false)));
    while (wal.files.calls(FaultyFileSystem::kSync) == syncs) std::this_thread::yield();
  }
}

TEST(WalWriter, AFailedSyncStopsItForGood) {
  for (const std::size_t inline_bytes : {std::size_t{0}, std::size_t{65536}}) {
    WalHarness wal;
    wal.options.inline_bytes = inline_bytes;
    ASSERT_TRUE(wal.open());
    ASSERT_TRUE(wal.write(WalHarness::record(1, 1)));
    wal.files.fail_path(".wal", FaultyFileSystem::kSync, Code::kIoError, 1);
    EXPECT_FALSE(wal.write(WalHarness::record(1, 2)));
    ASSERT_EQ(wal.fatals().size(), 1u);
    EXPECT_THAT(wal.fatals()[0].message(), HasSubstr(".wal"));
    const auto calls = wal.files.calls();
    EXPECT_EQ(wal.wal->append(WalHarness::record(1, 3)).code(), Code::kIoError);
    wal.wal->flush();
    EXPECT_TRUE(wal.wal->poll().empty());
    EXPECT_EQ(wal.wal->stop().code(), Code::kIoError);
    EXPECT_EQ(wal.files.calls(), calls) << "touched the disk after the failure";
  }
}

TEST(WalWriter, AFailedWriteStopsIt) {
  WalHarness wal;
  ASSERT_TRUE(wal.open());
  wal.files.fail_path(".wal", FaultyFileSystem::kWrite, Code::kIoError, 1);
  EXPECT_FALSE(wal.write(WalHarness::record(1, 1)));
  EXPECT_EQ(wal.fatals().size(), 1u);
}

TEST(WalWriterDeathTest, WithoutAHandlerAFailedSyncEndsTheProcess) {
  EXPECT_EXIT(
      {
        WalHarness wal;
        wal.options.fatal = nullptr;
        static_cast<void>(wal.open());
        wal.files.fail_path(".wal", FaultyFileSystem::kSync, Code::kIoError, 1);
        static_cast<void>(wal.write(WalHarness::record(1, 1)));
      },
      ::testing::ExitedWithCode(71), "end is unknown after a failure");
}

TEST(WalWriter, FallsBackToThePageCacheWhereDirectIoIsRefused) {
  WalHarness wal;
  wal.files.refuse_direct_io(true);
  ASSERT_TRUE(wal.open());
  ASSERT_TRUE(wal.write(WalHarness::record(1, 1)));
  wal.kill();
  ASSERT_TRUE(wal.recover());
  EXPECT_EQ(wal.replayed[kOne].size(), 1u);
}

TEST(WalWriter, ARecordLargerThanAFileGetsAFileThatGrows) {
  for (const std::size_t inline_bytes : {std::size_t{0}, std::size_t{1} << 20}) {
    WalHarness wal;
    wal.options.inline_bytes = inline_bytes;
    wal.options.file_bytes = 4 * kWalBlock;
    ASSERT_TRUE(wal.open());
    ASSERT_TRUE(wal.write(WalHarness::record(1, 1)));
    const std::string large(3u << 20, 'L');
    ASSERT_TRUE(wal.write(WalHarness::record(1, 2, large)));
    ASSERT_TRUE(wal.write(WalHarness::record(1, 3)));
    wal.kill();
    ASSERT_TRUE(wal.open());
    ASSERT_EQ(wal.replayed[kOne].size(), 3u);
    EXPECT_EQ(wal.replayed[kOne][1].bodies.view(), large);
    wal.wal->release(kOne, LogIndex(3));
    wal.wal->prepare_files();
    EXPECT_LT(wal.files.used_bytes(), 1u << 20) << "the grown file was kept";
  }
}

TEST(WalWriter, RefusesARecordThatNoFileCanHold) {
  WalHarness wal;
  ASSERT_TRUE(wal.open());
  LogRecord record = WalHarness::record(1, 1);
  const SharedBytes body = SharedBytes::from(std::string(1u << 20, 'x'));
  record.bodies.assign(1024, body);
  EXPECT_EQ(wal.wal->append(std::move(record)).code(), Code::kContentTooLarge);
}

TEST(WalWriter, RecyclesReleasedFilesAndKeepsTheirNumberBounded) {
  WalHarness wal;
  ASSERT_TRUE(wal.open());
  for (std::uint64_t i = 1; i <= 300; ++i) {
    ASSERT_TRUE(wal.write(WalHarness::record(1, i)));
    if (wal.wal->wants_files()) wal.wal->prepare_files();
    if (i > 10) wal.wal->release(kOne, LogIndex(i - 10));
  }
  // Written, prepared, spare: 300 groups of a block went through 43 files.
  EXPECT_LE(wal.files.paths().size(), 8u);
  EXPECT_LE(wal.wal->usage().file_bytes, 4 * wal.options.file_bytes);
  wal.applied[kOne] = LogIndex(290);
  wal.kill();
  ASSERT_TRUE(wal.open());
  ASSERT_EQ(wal.replayed[kOne].size(), 10u);
  EXPECT_EQ(WalHarness::text(wal.replayed[kOne][0]), "command 1/291body");
}

// A loss of power can leave a spare with a higher number than any file of the log.
TEST(WalWriter, ASpareWithAHighNumberIsNotTakenForTwo) {
  WalHarness wal;
  wal.options.spare_files = 100;
  const std::string zeros(wal.options.file_bytes, '\0');
  ASSERT_TRUE(wal.files.make_directories("/wal"));
  for (std::uint64_t number = 1; number < 20; ++number) {
    wal.files.set_content("/wal/" + wal_spare_name(number), zeros);
  }
  wal.files.set_content("/wal/" + wal_spare_name(2), zeros);
  wal.files.set_content("/wal/" + wal_spare_name(22), zeros);
  std::string prepared = zeros;
  WalFileHeader{19, WalHarness::kNode, 1, 8}.encode(prepared.data());
  wal.files.set_content("/wal/" + wal_file_name(19), prepared);
  ASSERT_TRUE(wal.open());
  for (std::uint64_t index = 1; index <= 200; ++index) {
    ASSERT_TRUE(wal.write(WalHarness::record(1, index, std::string(3 * kWalBlock, 'x'))));
    wal.wal->release(ShardId(1), LogIndex(index));
    for (const std::string& path : wal.wal_files()) {
      ASSERT_EQ(wal.files.content(path).size(), wal.options.file_bytes) << path << " " << index;
    }
  }
}

TEST(WalWriter, WhatIsReleasedOfTheFileBeingWrittenDoesNotCountAsWritten) {
  WalHarness wal;
  wal.options.file_bytes = 64 << 20;
  ASSERT_TRUE(wal.open());
  const std::string body(512 << 10, 'x');
  for (std::uint64_t i = 1; i <= 20; ++i) ASSERT_TRUE(wal.write(WalHarness::record(1, i, body)));
  EXPECT_GT(wal.wal->usage().written_bytes, 10u << 20);
  wal.wal->release(kOne, LogIndex(16));
  EXPECT_GE(wal.wal->usage().written_bytes, 2u << 20);
  EXPECT_LT(wal.wal->usage().written_bytes, 4u << 20);
  wal.wal->release(kOne, LogIndex(20));
  EXPECT_EQ(wal.wal->usage().written_bytes, 0u);
  // After a restart what is not released counts, in whole files.
  wal.kill();
  ASSERT_TRUE(wal.open());
  EXPECT_GT(wal.wal->usage().written_bytes, 10u << 20);
  wal.wal->release(kOne, LogIndex(20));
  EXPECT_EQ(wal.wal->usage().written_bytes, 0u);
}

TEST(WalWriter, WhatEarlierLivesLeftEmptyCountsAsWritten) {
  WalHarness wal;
  wal.options.file_bytes = 1 << 20;
  constexpr std::uint64_t kLives = 5;
  for (std::uint64_t life = 1; life <= kLives; ++life) {
    ASSERT_TRUE(wal.open());
    // All files but the last of these, which has room.
    EXPECT_GE(wal.wal->usage().written_bytes, life < 2 ? 0 : (life - 2) * ((1 << 20) - kWalBlock));
    ASSERT_TRUE(wal.write(WalHarness::record(1, life)));
    wal.kill();
  }
  ASSERT_TRUE(wal.open());
  const std::uint64_t written = wal.wal->usage().written_bytes;
  EXPECT_GE(written, (kLives - 1) * ((1 << 20) - kWalBlock));
  EXPECT_LT(written, kLives * ((1 << 20) - kWalBlock)) << "the last file has room: it is not full";
  wal.wal->release(kOne, LogIndex(kLives - 1));
  EXPECT_LT(wal.wal->usage().written_bytes, 1u << 20);
  wal.wal->release(kOne, LogIndex(kLives));
  EXPECT_EQ(wal.wal->usage().written_bytes, 0u);
}

TEST(WalWriter, AQuietShardThatPinsTheOldestFileIsNamed) {
  WalHarness wal;
  ASSERT_TRUE(wal.open());
  ASSERT_TRUE(wal.write(WalHarness::record(2, 1)));
  EXPECT_TRUE(wal.wal->pinning().empty()) << "the file is still being written";
  for (std::uint64_t i = 1; i <= 20; ++i) ASSERT_TRUE(wal.write(WalHarness::record(1, i)));
  EXPECT_THAT(wal.wal->pinning(), ElementsAre(kOne, kTwo));
  wal.wal->release(kOne, LogIndex(20));
  EXPECT_THAT(wal.wal->pinning(), ElementsAre(kTwo));
  const std::uint64_t pinned = wal.wal->usage().file_bytes;
  wal.wal->release(kTwo, LogIndex(1));
  EXPECT_TRUE(wal.wal->pinning().empty());
  EXPECT_LT(wal.wal->usage().file_bytes, pinned);
}

TEST(WalWriter, StartingAgainAndAgainDoesNotPileUpFiles) {
  WalHarness wal;
  ASSERT_TRUE(wal.open());
  ASSERT_TRUE(wal.write(WalHarness::record(1, 1)));
  for (int i = 0; i < 20; ++i) {
    i % 2 == 0 ? wal.kill() : wal.wal.reset();
    ASSERT_TRUE(wal.open());
    wal.wal->prepare_files();
    ASSERT_EQ(wal.replayed[kOne].size(), 1u);
  }
  EXPECT_LE(wal.files.paths().size(), 5u);
}

// ---- a full disk

class FullWal : public ::testing::Test {
 protected:
  void SetUp() override {
    wal_.options.reserve_bytes = 40 * kWalBlock;
    wal_.files.set_capacity(12 * wal_.options.file_bytes);
    ASSERT_TRUE(wal_.open());
  }
  /// Writes until NO_SPACE; the number of records that went in.
  std::uint64_t fill(bool uses_reserve) {
    while (true) {
      if (wal_.wal->wants_files()) wal_.wal->prepare_files();
      LogRecord record = WalHarness::record(1, next_);
      record.uses_reserve = uses_reserve;
      const Status status = wal_.write(std::move(record));
      if (!status) {
        EXPECT_EQ(status.code(), Code::kNoSpace) << status.to_string();
        EXPECT_THAT(status.message(), HasSubstr("no space left"));
        return next_ - 1;
      }
      ++next_;
    }
  }
  WalHarness wal_;
  std::uint64_t next_ = 1;
};

TEST_F(FullWal, KeepsTheReserveForRecordsThatDrain) {
  const std::uint64_t plain = fill(false);
  EXPECT_GT(plain, 20u);
  EXPECT_TRUE(wal_.wal->usage().space_low);
  EXPECT_THAT(wal_.wal->usage().space_problem, HasSubstr("no space left"));
  const std::uint64_t all = fill(true);
  EXPECT_GE(all - plain, 15u);
  EXPECT_TRUE(wal_.wal->stop());
  ASSERT_TRUE(wal_.recover());
  EXPECT_EQ(wal_.replayed[kOne].size(), all);
}

TEST_F(FullWal, HealsWhenSpaceReturns) {
  const std::uint64_t before = fill(true);
  wal_.files.set_capacity(1u << 30);
  wal_.wal->prepare_files();
  EXPECT_FALSE(wal_.wal->usage().space_low);
  for (int i = 0; i < 50; ++i) ASSERT_TRUE(wal_.write(WalHarness::record(1, next_++)));
  wal_.kill();
  ASSERT_TRUE(wal_.recover());
  EXPECT_EQ(wal_.replayed[kOne].size(), before + 50);
}

TEST_F(FullWal, HealsWhenFilesAreReleased) {
  const std::uint64_t before = fill(true);
  wal_.wal->release(kOne, LogIndex(before));
  wal_.wal->prepare_files();
  EXPECT_FALSE(wal_.wal->usage().space_low);
  EXPECT_TRUE(wal_.write(WalHarness::record(1, next_)));
}

TEST_F(FullWal, StartsAgainOnAFullDiskWithThePreparedFiles) {
  const std::uint64_t before = fill(false);
  wal_.kill();
  wal_.files.set_capacity(0);
  ASSERT_TRUE(wal_.open());
  EXPECT_EQ(wal_.replayed[kOne].size(), before);
  EXPECT_TRUE(wal_.write(WalHarness::record(1, next_)));
}

TEST(WalWriter, StartsOnADiskWithoutRoomForOneMoreFileAndHeals) {
  for (const bool by_releasing : {false, true}) {
    WalHarness wal;
    ASSERT_TRUE(wal.open());
    for (std::uint64_t i = 1; i <= 3; ++i) ASSERT_TRUE(wal.write(WalHarness::record(1, i)));
    wal.kill();
    wal.files.set_capacity(wal.files.used_bytes());
    for (int again = 0; again < 3; ++again) {
      ASSERT_TRUE(wal.open());
      EXPECT_EQ(wal.replayed[kOne].size(), 3u);
      EXPECT_TRUE(wal.wal->usage().space_low);
      EXPECT_THAT(wal.wal->usage().space_problem, HasSubstr("no space left"));
      EXPECT_EQ(wal.wal->append(WalHarness::record(1, 4)).code(), Code::kNoSpace);
      again == 1 ? wal.kill() : wal.wal.reset();
    }
    ASSERT_TRUE(wal.open());
    EXPECT_THAT(wal.wal->pinning(), ElementsAre(kOne));
    if (by_releasing) {
      wal.wal->release(kOne, LogIndex(3));  // the file is written again
    } else {
      wal.files.set_capacity(1u << 30);
    }
    wal.wal->prepare_files();
    EXPECT_FALSE(wal.wal->usage().space_low);
    for (std::uint64_t i = 4; i <= 6; ++i) ASSERT_TRUE(wal.write(WalHarness::record(1, i)));
    wal.kill();
    if (by_releasing) wal.applied[kOne] = LogIndex(3);
    ASSERT_TRUE(wal.open());
    EXPECT_EQ(wal.replayed[kOne].size(), by_releasing ? 3u : 6u);
    EXPECT_TRUE(wal.fatals().empty());
  }
}

TEST(WalWriter, RecordsTakenBeforeTheDiskWasKnownToBeFullWaitForSpace) {
  WalHarness wal;
  wal.options.inline_bytes = 0;
  wal.files.set_capacity(wal.options.file_bytes);
  ASSERT_TRUE(wal.open());  // one file, and nobody has tried to prepare another
  for (std::uint64_t i = 1; i <= 20; ++i)
    ASSERT_TRUE(wal.wal->append(WalHarness::record(1, i, std::string(3000, 'x'))));
  wal.wal->flush();
  while (wal.wal->usage().space_problem.empty()) std::this_thread::yield();
  EXPECT_TRUE(wal.fatals().empty());
  wal.files.set_capacity(1u << 30);
  wal.wal->prepare_files();
  EXPECT_TRUE(wal.wait_for({kOne, LogIndex(20)}));
}

TEST(WalWriter, StopsWhileItWaitsForSpaceAndSaysThatRecordsAreMissing) {
  WalHarness wal;
  wal.options.inline_bytes = 0;
  wal.files.set_capacity(wal.options.file_bytes);
  ASSERT_TRUE(wal.open());
  for (std::uint64_t i = 1; i <= 20; ++i)
    ASSERT_TRUE(wal.wal->append(WalHarness::record(1, i, std::string(3000, 'x'))));
  wal.wal->flush();
  while (wal.wal->usage().space_problem.empty()) std::this_thread::yield();
  EXPECT_EQ(wal.wal->stop().code(), Code::kNoSpace);
  EXPECT_TRUE(wal.wal->poll().empty());
}

TEST(WalWriter, AFailureToMakeAFileIsKeptAndHeals) {
  WalHarness wal;
  ASSERT_TRUE(wal.open());
  for (std::uint64_t nth = 1; nth <= 12; ++nth) {
    WalHarness other;
    ASSERT_TRUE(other.open());
    other.files.fail_call(nth, Code::kIoError);
    other.wal->prepare_files();
    other.files.clear_faults();
    other.wal->prepare_files();
    EXPECT_EQ(other.wal->usage().space_problem, "");
    for (std::uint64_t i = 1; i <= 20; ++i) ASSERT_TRUE(other.write(WalHarness::record(1, i)));
    other.kill();
    ASSERT_TRUE(other.recover());
    EXPECT_EQ(other.replayed[kOne].size(), 20u);
  }
}

TEST(WalWriter, ThreeThreadsWorkOnItAtOnce) {
  WalHarness wal;
  wal.options.file_bytes = 64 * kWalBlock;
  wal.options.inline_bytes = 2048;
  wal.options.sync_interval = std::chrono::milliseconds(1);
  ASSERT_TRUE(wal.open());
  std::atomic<bool> done{false};
  std::thread background([&] {
    while (!done.load()) {
      if (wal.wal->wants_files()) wal.wal->prepare_files();
      std::this_thread::yield();
    }
  });
  SeededRandom random(5);
  std::map<std::uint16_t, std::uint64_t> last;
  for (int i = 0; i < 4000; ++i) {
    const auto shard = static_cast<std::uint16_t>(random.below(4));
    const std::string body(random.below(i % 50 == 0 ? 20000 : 600), 'b');
    EXPECT_TRUE(
        wal.wal->append(WalHarness::record(shard, ++last[shard], body, random.below(3) > 0)));
    if (random.below(4) == 0) wal.wal->flush();
    for (const Committed& committed : wal.wal->poll()) {
      if (committed.up_to.value > 100) {
        wal.applied[committed.shard] = LogIndex(committed.up_to.value - 100);
        wal.wal->release(committed.shard, wal.applied[committed.shard]);
      }
    }
  }
  wal.wal->flush();
  for (const auto& [shard, index] : last)
    EXPECT_TRUE(wal.wait_for({ShardId(shard), LogIndex(index)}));
  done = true;
  background.join();
  ASSERT_TRUE(wal.wal->stop());
  const auto recovered = wal.recover();
  ASSERT_TRUE(recovered) << recovered.status().to_string();
  for (const Committed& end : recovered->ends) EXPECT_EQ(end.up_to.value, last[end.shard.value]);
}

}  // namespace
}  // namespace segue::storage
