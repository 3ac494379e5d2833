#include "tests/fakes/faulty_file_system.h"

#include <gtest/gtest.h>

namespace segue::storage {
namespace {

Status write_text(FileSystem& files, const std::string& path, std::string_view text, bool sync) {
  auto file = files.open(path, OpenMode::kReadWrite);
  if (!file) return file.status();
  SEGUE_RETURN_IF_ERROR((*file)->write(0, std::span(&text, 1)));
  return sync ? (*file)->sync() : Status::ok();
}

TEST(FaultyFileSystem, KeepsWhatWasSyncedThroughAnyCrash) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    FaultyFileSystem files;
    SeededRandom random(seed);
    ASSERT_TRUE(files.make_directories("/d/e"));
    ASSERT_TRUE(files.sync_directory("/"));
    ASSERT_TRUE(files.sync_directory("/d"));
    ASSERT_TRUE(write_text(files, "/d/e/a", "kept", true));
    ASSERT_TRUE(files.sync_directory("/d/e"));
    ASSERT_TRUE(write_text(files, "/d/e/a", "lost", false));
    ASSERT_TRUE(write_text(files, "/d/e/b", "no name", true));
    files.crash(random);
    ASSERT_TRUE(files.exists("/d/e/a"));
    const std::string now = files.content("/d/e/a");
    EXPECT_TRUE(now == "kept" || now == "lost") << now;
  }
}

TEST(FaultyFileSystem, ForgetsAnUnsyncedNameInSomeCrashes) {
  int there = 0;
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    FaultyFileSystem files;
    SeededRandom random(seed);
    files.set_content("/d/a", "old");
    ASSERT_TRUE(files.rename("/d/a", "/d/b"));
    files.crash(random);
    EXPECT_NE(files.exists("/d/a"), files.exists("/d/b"));
    there += files.exists("/d/b") ? 1 : 0;
  }
  EXPECT_GT(there, 0);
  EXPECT_LT(there, 50);
}

TEST(FaultyFileSystem, TearsUnsyncedWritesAtSectors) {
  bool torn = false;
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    FaultyFileSystem files;
    SeededRandom random(seed);
    files.set_content("/a", std::string(4096, 'o'));
    ASSERT_TRUE(write_text(files, "/a", std::string(4096, 'n'), false));
    files.crash(random);
    const std::string now = files.content("/a");
    for (std::size_t sector = 0; sector < 8; ++sector) {
      const std::string part = now.substr(sector * 512, 512);
      EXPECT_TRUE(part == std::string(512, 'o') || part == std::string(512, 'n'));
    }
    torn = torn || (now.find('o') != std::string::npos && now.find('n') != std::string::npos);
  }
  EXPECT_TRUE(torn);
}

TEST(FaultyFileSystem, FailsTheCallsItWasToldToAndHealsFromNoSpace) {
  FaultyFileSystem files;
  files.fail_call(2, Code::kIoError);
  EXPECT_EQ(write_text(files, "/a", "x", false).code(), Code::kIoError);
  EXPECT_TRUE(write_text(files, "/a", "x", false));
  files.fail_path("/a", FaultyFileSystem::kSync, Code::kNoSpace, 1);
  EXPECT_EQ(write_text(files, "/a", "x", true).code(), Code::kNoSpace);
  EXPECT_TRUE(write_text(files, "/a", "x", true));
  files.set_capacity(4);
  EXPECT_EQ(write_text(files, "/a", "12345", true).code(), Code::kNoSpace);
  EXPECT_EQ(files.content("/a"), "1234");
  files.set_capacity(5);
  EXPECT_TRUE(write_text(files, "/a", "12345", true));
}

TEST(FaultyFileSystem, KillingTheProcessKeepsWritesAndFreesLocks) {
  FaultyFileSystem files;
  auto lock = files.lock("/lock");
  ASSERT_TRUE(lock);
  EXPECT_EQ(files.lock("/lock").status().code(), Code::kResourceLocked);
  auto file = files.open("/a", OpenMode::kReadWrite);
  const std::string_view text = "text";
  ASSERT_TRUE((*file)->write(0, std::span(&text, 1)));
  files.kill_process();
  EXPECT_EQ(files.content("/a"), "text");
  EXPECT_EQ((*file)->sync().code(), Code::kIoError);
  EXPECT_TRUE(files.lock("/lock"));
}

TEST(FaultyFileSystem, NothingWorksBetweenTheHaltAndTheCrash) {
  FaultyFileSystem files;
  SeededRandom random(1);
  files.halt_at(2);
  EXPECT_EQ(write_text(files, "/a", "x", true).code(), Code::kIoError);
  EXPECT_TRUE(files.halted());
  EXPECT_EQ(write_text(files, "/b", "x", true).code(), Code::kIoError);
  files.crash(random);
  EXPECT_TRUE(write_text(files, "/b", "x", true));
}

}  // namespace
}  // namespace segue::storage
