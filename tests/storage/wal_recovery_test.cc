#include "storage/wal_recovery.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/checksum.h"
#include "tests/storage/wal_harness.h"

namespace segue::storage {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr ShardId kOne{1};

/// A killed writer's directory: records 1 to `records` of shard 1, each in a group of its own.
void write_log(WalHarness& wal, std::uint64_t records, bool sync = true) {
  ASSERT_TRUE(wal.open());
  for (std::uint64_t i = 1; i <= records; ++i) {
    if (wal.wal->wants_files()) wal.wal->prepare_files();
    ASSERT_TRUE(wal.write(WalHarness::record(1, i, "body of " + std::to_string(i), sync)));
  }
  wal.kill();
}

void damage(WalHarness& wal, const std::string& path, std::uint64_t offset) {
  wal.files.flip_bit(path, offset * 8 + 3);
}

TEST(WalRecovery, FindsNothingInAMissingDirectory) {
  WalHarness wal;
  const auto recovered = wal.recover();
  ASSERT_TRUE(recovered);
  EXPECT_EQ(recovered->records, 0u);
  EXPECT_EQ(recovered->next_file, 1u);
}

TEST(WalRecovery, ReplaysThroughFilesInOrderAndSkipsWhatIsApplied) {
  WalHarness wal;
  write_log(wal, 20);
  wal.applied[kOne] = LogIndex(5);
  const auto recovered = wal.recover();
  ASSERT_TRUE(recovered) << recovered.status().to_string();
  EXPECT_EQ(recovered->records, 20u);
  EXPECT_EQ(recovered->files.size(), 3u);
  EXPECT_FALSE(recovered->torn);
  ASSERT_EQ(recovered->ends.size(), 1u);
  EXPECT_EQ(recovered->ends[0].up_to, LogIndex(20));
  ASSERT_EQ(wal.replayed[kOne].size(), 15u);
  for (std::uint64_t i = 0; i < 15; ++i) {
    EXPECT_EQ(wal.replayed[kOne][i].index, LogIndex(i + 6));
    EXPECT_EQ(wal.replayed[kOne][i].bodies.view(), "body of " + std::to_string(i + 6));
  }
}

TEST(WalRecovery, HandsOnTheStatusOfTheCallback) {
  WalHarness wal;
  write_log(wal, 2);
  const auto recovered =
      recover_wal(wal.files, {"/wal", WalHarness::kNode, {}},
                  [](const ReplayedRecord&) { return Status(Code::kInternalError, "no"); });
  EXPECT_EQ(recovered.status().code(), Code::kInternalError);
}

TEST(WalRecovery, ADamagedGroupThatWasSyncedIsCorruptionWithFileAndOffset) {
  WalHarness wal;
  write_log(wal, 20);
  const std::string path = wal.wal_files()[1];
  const std::uint64_t offset = wal.groups_of(path)[2];
  damage(wal, path, offset + 60);
  const auto recovered = wal.recover();
  EXPECT_EQ(recovered.status().code(), Code::kCorruption);
  EXPECT_THAT(recovered.status().message(),
              AllOf(HasSubstr(path), HasSubstr("offset " + std::to_string(offset))));
}

TEST(WalRecovery, ALaterGroupOfAnUnsyncedRunBehindALostOneIsATornTail) {
  WalHarness wal;
  wal.options.sync_interval = std::chrono::hours(1);
  write_log(wal, 5, /*sync=*/false);
  const std::string path = wal.wal_files()[0];
  damage(wal, path, wal.groups_of(path)[3] + 60);  // behind the mark: record 3
  const auto recovered = wal.recover();
  ASSERT_TRUE(recovered) << recovered.status().to_string();
  EXPECT_EQ(wal.replayed[kOne].size(), 2u);
  ASSERT_TRUE(recovered->torn);
  EXPECT_EQ(recovered->torn->path, path);
  EXPECT_EQ(recovered->torn->dropped_groups, 3u);
  // What was dropped stays dropped when the log goes on.
  ASSERT_TRUE(wal.open());
  ASSERT_TRUE(wal.write(WalHarness::record(1, 3, "another")));
  wal.kill();
  ASSERT_TRUE(wal.open());
  ASSERT_EQ(wal.replayed[kOne].size(), 3u);
  EXPECT_EQ(wal.replayed[kOne][2].bodies.view(), "another");
}

TEST(WalRecovery, AMissingFileBeforeTheLastIsCorruption) {
  for (const std::size_t missing : {0u, 1u}) {
    WalHarness wal;
    write_log(wal, 20);
    wal.applied[kOne] = LogIndex(0);
    ASSERT_TRUE(wal.files.remove(wal.wal_files()[missing]));
    EXPECT_EQ(wal.recover().status().code(), Code::kCorruption) << "file " << missing;
  }
}

TEST(WalRecovery, ALogWhoseFirstGroupsAreLostIsCorruption) {
  WalHarness wal;
  write_log(wal, 20);
  const std::string first = wal.wal_files()[0];
  for (const std::uint64_t offset : wal.groups_of(first)) damage(wal, first, offset);
  EXPECT_EQ(wal.recover().status().code(), Code::kCorruption);
}

TEST(WalRecovery, AHoleInAShardsIndexIsCorruptionUnlessACheckpointCoversIt) {
  WalHarness wal;
  write_log(wal, 3);
  ASSERT_TRUE(wal.open());
  ASSERT_TRUE(wal.write(WalHarness::record(1, 7)));
  wal.kill();
  const auto recovered = wal.recover();
  EXPECT_EQ(recovered.status().code(), Code::kCorruption);
  EXPECT_THAT(recovered.status().message(), HasSubstr("index 7 after 3"));
  wal.applied[kOne] = LogIndex(6);
  EXPECT_TRUE(wal.recover());
  EXPECT_EQ(wal.replayed[kOne].size(), 1u);
  wal.applied[kOne] = LogIndex(5);
  EXPECT_EQ(wal.recover().status().code(), Code::kCorruption);
}

TEST(WalRecovery, AnIndexThatGoesBackIsCorruption) {
  WalHarness wal;
  write_log(wal, 3);
  ASSERT_TRUE(wal.open());
  ASSERT_TRUE(wal.write(WalHarness::record(1, 3)));
  wal.kill();
  EXPECT_EQ(wal.recover().status().code(), Code::kCorruption);
}

TEST(WalRecovery, ALogMustReachDownToTheCheckpoint) {
  WalHarness wal;
  ASSERT_TRUE(wal.open());
  ASSERT_TRUE(wal.write(WalHarness::record(1, 40)));
  wal.kill();
  EXPECT_TRUE(wal.recover()) << "a shard that is not named may begin anywhere";
  wal.applied[kOne] = LogIndex(39);
  EXPECT_TRUE(wal.recover());
  wal.applied[kOne] = LogIndex(38);
  EXPECT_EQ(wal.recover().status().code(), Code::kCorruption);
}

TEST(WalRecovery, RefusesFilesOfAnotherNodeAndOfANewerVersion) {
  WalHarness wal;
  write_log(wal, 1);
  const auto other = recover_wal(wal.files, {"/wal", 1234, {}},
                                 [](const ReplayedRecord&) { return Status::ok(); });
  EXPECT_EQ(other.status().code(), Code::kInvalidConfig);
  EXPECT_THAT(other.status().message(), HasSubstr("another node"));

  const std::string path = wal.wal_files()[0];
  std::string content = wal.files.content(path);
  content[8] = 2;
  store_le(content.data() + 40, xxh3_64(std::string_view(content).substr(0, 40)));
  wal.files.set_content(path, content);
  EXPECT_EQ(wal.recover().status().code(), Code::kInvalidConfig);
  EXPECT_THAT(wal.recover().status().message(), HasSubstr("version 2"));
}

TEST(WalRecovery, ABodyThatIsACopyOfTheLogIsNotTakenForTheLog) {
  WalHarness wal;
  wal.options.file_bytes = 64 * kWalBlock;
  ASSERT_TRUE(wal.open());
  ASSERT_TRUE(wal.write(WalHarness::record(1, 1)));
  ASSERT_TRUE(wal.write(WalHarness::record(1, 2)));
  const std::string path = wal.wal_files()[0];
  // Aligned so that its groups stand where groups would be looked for.
  const std::size_t before =
      WalGroupHeader::kBytes + WalRecordHeader::kBytes + std::string("command 1/3").size();
  const std::string copy =
      std::string(kWalBlock - before, 'x') + wal.files.content(path).substr(0, 8 * kWalBlock);
  ASSERT_TRUE(wal.write(WalHarness::record(1, 3, copy)));
  wal.kill();
  ASSERT_TRUE(wal.recover());
  ASSERT_EQ(wal.replayed[kOne].size(), 3u);
  EXPECT_EQ(wal.replayed[kOne][2].bodies.view(), copy);
  damage(wal, path, 4 * kWalBlock);  // the header of the group with record 3
  ASSERT_TRUE(wal.recover());
  EXPECT_EQ(wal.replayed[kOne].size(), 2u);
}

TEST(WalRecovery, ALogThatWasNotWrittenFromAnyByteOfItsTailOnGivesTheGroupsBeforeIt) {
  WalHarness wal;
  write_log(wal, 5);
  const std::string path = wal.wal_files()[0];
  const std::string whole = wal.files.content(path);
  const std::vector<std::uint64_t> groups = wal.groups_of(path);  // the mark, then a record each
  ASSERT_EQ(groups.size(), 6u);
  const auto seed = WalFileHeader::decode(whole.data(), path)->seed();
  for (std::uint64_t cut = groups[3]; cut < groups[5] + 512; ++cut) {
    std::string content = whole.substr(0, cut);
    wal.files.set_content(path, content);
    EXPECT_EQ(wal.recover().status().code(), Code::kCorruption) << "it has its size from the start";
    content.resize(whole.size());
    wal.files.set_content(path, content);
    std::size_t expected = 0;
    for (std::size_t i = 1; i < groups.size(); ++i) {
      const auto header = WalGroupHeader::decode(whole.data() + groups[i], seed);
      if (cut >= groups[i] + header->bytes) expected = i;
    }
    const auto recovered = wal.recover();
    ASSERT_TRUE(recovered) << "cut at " << cut << ": " << recovered.status().to_string();
    ASSERT_EQ(wal.replayed[kOne].size(), expected) << "cut at " << cut;
  }
}

/// Flips every bit of every .wal file: the result is the whole log, or CORRUPTION, or, for a bit in
/// the group written last (which nothing behind it proves to have been synced), the log without
/// that group.
void flip_every_bit(WalHarness& wal, std::uint64_t records, bool closed) {
  const std::vector<std::string> paths = wal.wal_files();
  std::uint64_t lost_last = 0;
  for (const std::string& path : paths) {
    const std::uint64_t bits = wal.files.content(path).size() * 8;
    const std::vector<std::uint64_t> groups = wal.groups_of(path);
    for (std::uint64_t bit = 0; bit < bits; ++bit) {
      wal.files.flip_bit(path, bit);
      const auto recovered = wal.recover();
      wal.files.flip_bit(path, bit);
      if (!recovered) {
        ASSERT_EQ(recovered.status().code(), Code::kCorruption) << path << " bit " << bit;
        continue;
      }
      const std::vector<ReplayedRecord>& got = wal.replayed[kOne];
      for (std::size_t i = 0; i < got.size(); ++i) {
        ASSERT_EQ(WalHarness::text(got[i]),
                  "command 1/" + std::to_string(i + 1) + "body of " + std::to_string(i + 1));
      }
      if (got.size() == records) continue;
      ASSERT_FALSE(closed) << path << " bit " << bit;
      ASSERT_EQ(got.size(), records - 1) << path << " bit " << bit;
      ASSERT_FALSE(groups.empty());
      ASSERT_GE(bit / 8, groups.back());
      ASSERT_TRUE(recovered->torn) << "dropped without a word, bit " << bit;
      ++lost_last;
    }
  }
  EXPECT_EQ(lost_last > 0, !closed);
}

TEST(WalRecovery, NoFlippedBitLosesAnythingSilentlyButTheLastGroupOfAKilledWriter) {
  WalHarness wal;
  wal.options.file_bytes = 4 * kWalBlock;
  write_log(wal, 4);
  flip_every_bit(wal, 4, /*closed=*/false);
}

TEST(WalRecovery, NoFlippedBitLosesAnythingSilentlyAfterACleanStop) {
  WalHarness wal;
  wal.options.file_bytes = 5 * kWalBlock;
  ASSERT_TRUE(wal.open());
  for (std::uint64_t i = 1; i <= 2; ++i)
    ASSERT_TRUE(wal.write(WalHarness::record(1, i, "body of " + std::to_string(i))));
  ASSERT_TRUE(wal.wal->stop());
  flip_every_bit(wal, 2, /*closed=*/true);
}

TEST(WalRecovery, ACleanStopIsMarkedEvenWhenTheFileIsFull) {
  WalHarness wal;
  wal.options.file_bytes = 4 * kWalBlock;
  ASSERT_TRUE(wal.open());
  wal.wal->prepare_files();
  for (std::uint64_t i = 1; i <= 2; ++i) ASSERT_TRUE(wal.write(WalHarness::record(1, i)));
  ASSERT_TRUE(wal.wal->stop());
  const std::string path = wal.wal_files()[0];
  ASSERT_EQ(wal.groups_of(path).size(), 3u) << "the file is not full";
  damage(wal, path, wal.groups_of(path)[2] + 60);
  EXPECT_EQ(wal.recover().status().code(), Code::kCorruption);
}

TEST(WalRecovery, RandomBytesInPlaceOfTheLogNeverCrashIt) {
  WalHarness wal;
  write_log(wal, 6);
  const std::string path = wal.wal_files()[0];
  const std::string whole = wal.files.content(path);
  SeededRandom random(11);
  for (int round = 0; round < 2000; ++round) {
    std::string content = whole;
    for (std::uint64_t i = 0, n = 1 + random.below(30); i < n; ++i) {
      content[kWalBlock + random.below(content.size() - kWalBlock)] =
          static_cast<char>(random.below(256));
    }
    content.resize(random.below(4) == 0 ? random.below(content.size()) : content.size());
    wal.files.set_content(path, content);
    static_cast<void>(wal.recover());
  }
}

}  // namespace
}  // namespace segue::storage
