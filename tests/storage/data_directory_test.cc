#include "storage/data_directory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/fakes/faulty_file_system.h"

namespace segue::storage {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

const Identity kMine{"orders", "n1", 32};

Status open_status(FaultyFileSystem& files, const Identity& identity) {
  auto directory = DataDirectory::open(files, "/var/segue", identity);
  return directory ? Status::ok() : directory.status();
}

TEST(DataDirectory, IsMadeOnceAndOpenedAgain) {
  FaultyFileSystem files;
  {
    auto first = DataDirectory::open(files, "/var/segue/", kMine);
    ASSERT_TRUE(first) << first.status().to_string();
    EXPECT_TRUE((*first)->is_new());
    EXPECT_EQ((*first)->path_of("wal"), "/var/segue/wal");
  }
  auto second = DataDirectory::open(files, "/var/segue", kMine);
  ASSERT_TRUE(second) << second.status().to_string();
  EXPECT_FALSE((*second)->is_new());
}

TEST(DataDirectory, RefusesASecondProcess) {
  FaultyFileSystem files;
  auto first = DataDirectory::open(files, "/var/segue", kMine);
  ASSERT_TRUE(first);
  const Status second = open_status(files, kMine);
  EXPECT_EQ(second.code(), Code::kInvalidConfig);
  EXPECT_THAT(second.message(),
              AllOf(HasSubstr("/var/segue"), HasSubstr("in use by another process")));
}

TEST(DataDirectory, WaitsForAProcessThatIsAboutToBeGone) {
  FaultyFileSystem files;
  files.fail_path("node.lock", FaultyFileSystem::kLock, Code::kResourceLocked, 3);
  EXPECT_EQ(open_status(files, kMine).code(), Code::kInvalidConfig);
  const auto opened = DataDirectory::open(files, "/var/segue", kMine, std::chrono::minutes(1));
  EXPECT_TRUE(opened) << opened.status().to_string();
}

TEST(DataDirectory, RefusesAnotherClusterNodeOrShardCountNamingBoth) {
  FaultyFileSystem files;
  ASSERT_TRUE(open_status(files, kMine));
  const Status cluster = open_status(files, {"billing", "n1", 32});
  EXPECT_EQ(cluster.code(), Code::kInvalidConfig);
  EXPECT_THAT(cluster.message(), AllOf(HasSubstr("'orders'"), HasSubstr("'billing'")));
  const Status node = open_status(files, {"orders", "n2", 32});
  EXPECT_EQ(node.code(), Code::kInvalidConfig);
  EXPECT_THAT(node.message(), AllOf(HasSubstr("'n1'"), HasSubstr("'n2'")));
  const Status shards = open_status(files, {"orders", "n1", 64});
  EXPECT_EQ(shards.code(), Code::kInvalidConfig);
  EXPECT_THAT(shards.message(), AllOf(HasSubstr("32"), HasSubstr("64"), HasSubstr("fixed")));
  EXPECT_TRUE(open_status(files, kMine));
}

TEST(DataDirectory, RefusesANewerFormat) {
  FaultyFileSystem files;
  files.set_content("/var/segue/identity", "segue-identity 7\nwhatever: new\n");
  const Status status = open_status(files, kMine);
  EXPECT_EQ(status.code(), Code::kInvalidConfig);
  EXPECT_THAT(status.message(), AllOf(HasSubstr("version 7"), HasSubstr("up to version 1")));
}

TEST(DataDirectory, RefusesFilesWithoutAnIdentity) {
  FaultyFileSystem files;
  files.set_content("/var/segue/holiday.jpg", "x");
  const Status status = open_status(files, kMine);
  EXPECT_EQ(status.code(), Code::kInvalidConfig);
  EXPECT_THAT(status.message(), HasSubstr("'holiday.jpg'"));
}

TEST(DataDirectory, RefusesNamesThatDoNotFitALine) {
  FaultyFileSystem files;
  EXPECT_EQ(open_status(files, {"a\nb", "n1", 1}).code(), Code::kInvalidConfig);
  EXPECT_EQ(open_status(files, {"a", "", 1}).code(), Code::kInvalidConfig);
}

TEST(DataDirectory, NoFlippedBitOrCutIsTakenForAnIdentity) {
  FaultyFileSystem files;
  ASSERT_TRUE(open_status(files, kMine));
  const std::string path = "/var/segue/identity";
  const std::string good = files.content(path);
  for (std::uint64_t bit = 0; bit < good.size() * 8; ++bit) {
    files.set_content(path, good);
    files.flip_bit(path, bit);
    EXPECT_FALSE(open_status(files, kMine)) << "bit " << bit;
  }
  for (std::size_t size = 0; size < good.size(); ++size) {
    files.set_content(path, good.substr(0, size));
    EXPECT_EQ(open_status(files, kMine).code(), Code::kCorruption) << "cut at " << size;
  }
}

TEST(DataDirectory, AStartCutShortAnywhereCanBeRepeated) {
  for (std::uint64_t call = 1; call < 40; ++call) {
    for (std::uint64_t seed = 0; seed < 4; ++seed) {
      FaultyFileSystem files;
      SeededRandom random(seed);
      files.halt_at(call);
      const bool opened = static_cast<bool>(open_status(files, kMine));
      files.crash(random);
      ASSERT_TRUE(open_status(files, kMine)) << "call " << call << " seed " << seed;
      if (opened) {
        EXPECT_FALSE(open_status(files, {"other", "n1", 32}));
      }
    }
  }
}

TEST(DataDirectory, AFailedCallIsReportedAndLeavesTheDirectoryUsable) {
  for (std::uint64_t call = 1; call < 12; ++call) {
    FaultyFileSystem files;
    files.fail_call(call, Code::kIoError);
    const Status status = open_status(files, kMine);
    EXPECT_TRUE(status || status.code() == Code::kIoError) << status.to_string();
    files.clear_faults();
    EXPECT_TRUE(open_status(files, kMine)) << "call " << call;
  }
}

}  // namespace
}  // namespace segue::storage
