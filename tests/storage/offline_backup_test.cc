#include "storage/offline_backup.h"

#include <gtest/gtest.h>

#include "storage/data_check.h"
#include "storage/data_repair.h"
#include "tests/storage/model_workload.h"

namespace segue::storage {
namespace {

class OfflineBackup : public ::testing::Test {
 protected:
  OfflineBackup() {
    ModelNode node(files_);
    workload_.run(node, 80);
    node.stop();
  }

  Result<BackupManifest> make() { return back_up(files_, clock_, "/data", "/backup", {}); }
  Result<BackupManifest> bring_back() { return restore(files_, "/backup", "/restored", {}); }

  /// What a check finds that a restore would refuse.
  std::uint64_t problems() {
    std::uint64_t found = 0;
    DataCheckOptions options;
    options.found = [&](const CheckFinding& finding) {
      found += finding.what.find("restore refuses") != std::string::npos ? 1 : 0;
    };
    EXPECT_TRUE(check_data(files_, "/backup", options).is_ok());
    return found;
  }

  std::string path_of_damage(std::uint64_t seed) {
    const auto manifest = read_backup_manifest(files_, "/backup");
    return "/backup/" + manifest->files[seed % manifest->files.size()].path;
  }

  FaultyFileSystem files_;
  Workload workload_{1, Workload::Kind::kGarbage};
  SystemClock clock_;
};

TEST_F(OfflineBackup, HoldsWhatTheNodeHeld) {
  const auto made = make();
  ASSERT_TRUE(made.is_ok()) << made.status().to_string();
  EXPECT_EQ(problems(), 0u);
  EXPECT_EQ(made->identity, (Identity{"c", "n", ModelNode::kShards}));
  EXPECT_FALSE(made->online);
  const auto restored = bring_back();
  ASSERT_TRUE(restored.is_ok()) << restored.status().to_string();
  ModelNode node(files_, 4096, {}, "/restored");
  ASSERT_TRUE(node.opened().is_ok()) << node.opened().to_string();
  EXPECT_EQ(workload_.difference(node), "");
  ModelNode original(files_);
  EXPECT_EQ(workload_.difference(original), "");
}

TEST_F(OfflineBackup, RefusesWhileANodeRunsAndSaysWhatToDo) {
  ModelNode node(files_);
  const auto made = make();
  ASSERT_FALSE(made.is_ok());
  EXPECT_EQ(made.status().code(), Code::kInvalidConfig);
  EXPECT_NE(made.status().message().find("--online"), std::string::npos);
  EXPECT_FALSE(files_.exists("/backup"));
}

TEST_F(OfflineBackup, IsNotRepairedInItsPlace) {
  ASSERT_TRUE(make().is_ok());
  const auto repaired = repair_data(files_, "/backup", {});
  EXPECT_EQ(repaired.status().code(), Code::kInvalidConfig);
  EXPECT_NE(repaired.status().message().find("segue restore"), std::string::npos);
  EXPECT_TRUE(bring_back().is_ok());
}

TEST_F(OfflineBackup, RefusesDirectoriesThatAreInUseForSomethingElse) {
  ASSERT_TRUE(files_.make_directories("/backup"));
  ASSERT_TRUE(files_.open("/backup/mine", OpenMode::kReadWrite).is_ok());
  EXPECT_EQ(make().status().code(), Code::kInvalidConfig);
  EXPECT_TRUE(files_.exists("/backup/mine"));
  ASSERT_TRUE(files_.remove("/backup/mine"));
  ASSERT_TRUE(make().is_ok());
  EXPECT_EQ(make().status().code(), Code::kInvalidConfig);
  EXPECT_EQ(restore(files_, "/backup", "/data", {}).status().code(), Code::kInvalidConfig);
  EXPECT_EQ(restore(files_, "/backup", "/backup/x", {}).status().code(), Code::kInvalidConfig);
  EXPECT_EQ(restore(files_, "/backup", "/data/x", {}).status().code(), Code::kInvalidConfig);
  EXPECT_EQ(restore(files_, "/", "/x", {}).status().code(), Code::kInvalidConfig);
  EXPECT_EQ(back_up(files_, clock_, "/", "/x", {}).status().code(), Code::kInvalidConfig);
}

TEST_F(OfflineBackup, RestoresNothingOfADamagedBackup) {
  ASSERT_TRUE(make().is_ok());
  const std::size_t count = read_backup_manifest(files_, "/backup")->files.size();
  const MemoryDisk whole = files_.disk();
  for (std::size_t i = 0; i < count; ++i) {
    files_.put_back(whole);
    const std::string path = path_of_damage(i);
    {
      auto file = files_.open(path, OpenMode::kReadWrite);
      const std::uint64_t size = *(*file)->size();
      if (size == 0) continue;
      char byte = 0;
      ASSERT_TRUE((*file)->read(i % size, &byte, 1).is_ok());
      byte = static_cast<char>(byte ^ 0x10);
      const std::string_view piece(&byte, 1);
      ASSERT_TRUE((*file)->write(i % size, std::span(&piece, 1)));
    }
    const auto restored = bring_back();
    ASSERT_FALSE(restored.is_ok()) << path;
    EXPECT_EQ(restored.status().code(), Code::kCorruption);
    EXPECT_NE(restored.status().message().find(path), std::string::npos);
    EXPECT_FALSE(files_.exists("/restored"));
    EXPECT_GT(problems(), 0u) << path;

    ASSERT_TRUE(files_.remove(path));
    EXPECT_GT(problems(), 0u) << path;
    EXPECT_EQ(bring_back().status().code(), Code::kCorruption);
    EXPECT_FALSE(files_.exists("/restored"));
  }
}

TEST_F(OfflineBackup, LeavesNothingWhenAnyCallFails) {
  const MemoryDisk before = files_.disk();
  for (std::uint64_t nth = 1;; nth += 3) {
    files_.put_back(before);
    files_.clear_faults();
    files_.fail_call(nth, nth % 2 == 0 ? Code::kIoError : Code::kNoSpace);
    if (make().is_ok()) break;
    files_.clear_faults();
    EXPECT_FALSE(files_.exists("/backup/manifest") && bring_back().status().is_ok() == false)
        << nth;
  }
  files_.put_back(before);
  files_.clear_faults();
  ASSERT_TRUE(make().is_ok());
  const MemoryDisk made = files_.disk();
  for (std::uint64_t nth = 1;; nth += 3) {
    files_.put_back(made);
    files_.clear_faults();
    files_.fail_call(nth, nth % 2 == 0 ? Code::kIoError : Code::kNoSpace);
    if (bring_back().is_ok()) break;
    files_.clear_faults();
    EXPECT_FALSE(files_.exists("/restored/identity")) << nth;
  }
}

TEST_F(OfflineBackup, CanBeInterrupted) {
  int calls = 0;
  const auto made = back_up(files_, clock_, "/data", "/backup",
                            [&](std::uint64_t, std::uint64_t) { return ++calls < 3; });
  EXPECT_EQ(made.status().code(), Code::kConnectionForced);
  EXPECT_EQ(calls, 3);
  EXPECT_FALSE(files_.exists("/backup"));
}

}  // namespace
}  // namespace segue::storage
