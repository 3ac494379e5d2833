#include "storage/online_backup.h"

#include <gtest/gtest.h>

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "storage/offline_backup.h"
#include "storage/wal_format.h"
#include "tests/storage/check_fixture.h"
#include "tests/storage/model_workload.h"

namespace segue::storage {
namespace {

BackupOptions fast(const std::string& target = "/backup") {
  return {target, 0, 1ull << 40};
}

/// The background gets no, one or two steps between two looks.
std::function<int()> few_steps(std::uint64_t seed) {
  return [random = std::make_shared<SeededRandom>(seed)] {
    return static_cast<int>(random->below(3));
  };
}

/// Runs until the backup has ended; every state that the node was in meanwhile.
std::vector<Model> run_until_made(Workload& workload, ModelNode& node) {
  std::vector<Model> states{workload.model()};
  for (int i = 0; i < 3000 && !node.dead(); ++i) {
    if (node.disk().backup().stage != BackupState::Stage::kRunning) break;
    workload.run(node, 1);
    states.push_back(workload.model());
  }
  return states;
}

void expect_backup_is_one_of_its_moments(std::uint64_t seed, Workload::Kind kind) {
  FaultyFileSystem files;
  Workload workload(seed, kind);
  ModelNode node(files, 4096, few_steps(seed));
  ASSERT_TRUE(node.opened().is_ok());
  workload.run(node, 60);
  ASSERT_TRUE(node.disk().begin_backup(fast()));
  const std::vector<Model> states = run_until_made(workload, node);
  ASSERT_FALSE(node.dead());
  const BackupState made = node.disk().backup();
  ASSERT_EQ(made.stage, BackupState::Stage::kDone) << seed << ": " << made.failure.to_string();
  EXPECT_EQ(made.copied_bytes, read_backup_manifest(files, "/backup")->bytes());
  EXPECT_FALSE(files.exists("/data/" + std::string(kBackupLinksName)));
  workload.run(node, 40);
  ASSERT_EQ(workload.difference(node), "") << "seed " << seed;

  const Checked checked = check(files, "/backup");
  EXPECT_EQ(checked.totals.problems, 0u) << "seed " << seed << checked.text();
  const auto restored = restore(files, "/backup", "/restored", {});
  ASSERT_TRUE(restored.is_ok()) << restored.status().to_string();
  ModelNode copy(files, 4096, {}, "/restored");
  ASSERT_TRUE(copy.opened().is_ok()) << "seed " << seed << ": " << copy.opened().to_string();
  const auto held = copy.held();
  ASSERT_TRUE(held) << "seed " << seed;
  EXPECT_TRUE(std::find(states.begin(), states.end(), *held) != states.end())
      << "seed " << seed << ": the backup is none of " << states.size() << " states";
  EXPECT_TRUE(copy.losses().empty()) << "seed " << seed;
}

TEST(OnlineBackup, IsTheNodeAtOneMomentWhileItWasMade) {
  for (std::uint64_t seed = 1; seed <= seeds(60); ++seed) {
    expect_backup_is_one_of_its_moments(seed, Workload::Kind::kMixed);
    ASSERT_FALSE(HasFailure());
  }
}

TEST(OnlineBackup, IsTheNodeAtOneMomentWhileGarbageIsCollected) {
  for (std::uint64_t seed = 1; seed <= seeds(60); ++seed) {
    expect_backup_is_one_of_its_moments(seed, Workload::Kind::kGarbage);
    ASSERT_FALSE(HasFailure());
  }
}

/// What is stored after the backup's moment may stand in a block that belongs to it.
TEST(OnlineBackup, HasNothingThatWasStoredAfterItsMoment) {
  FaultyFileSystem files;
  ModelNode node(files, 1 << 20, [] { return 1; });
  ASSERT_TRUE(node.run(1, "E 1 1 5"));
  node.store(1, 5);
  for (int i = 0; i < 20; ++i) node.poll();
  ASSERT_TRUE(node.disk().begin_backup(fast()));
  const std::string data = "shards/1/queues/-1/00000000000000000001.data";
  const auto log_is_copied = [&] { return files.exists("/backup/wal/" + wal_file_name(1)); };
  for (int i = 0; i < 100 && !log_is_copied(); ++i) node.poll();
  ASSERT_TRUE(log_is_copied());
  ASSERT_FALSE(files.exists("/backup/" + data));
  ASSERT_TRUE(node.run(1, "E 1 6 9"));
  node.store(1, 4);
  for (int i = 0; i < 100 && node.disk().backup().stage == BackupState::Stage::kRunning; ++i) {
    node.poll();
  }
  ASSERT_EQ(node.disk().backup().stage, BackupState::Stage::kDone);
  EXPECT_EQ(files.content("/backup/" + data).size(), files.content("/data/" + data).size());
  EXPECT_NE(files.content("/data/" + data).find(ModelNode::body(1, 9)), std::string::npos);
  EXPECT_EQ(files.content("/backup/" + data).find(ModelNode::body(1, 6)), std::string::npos);
  EXPECT_NE(files.content("/backup/" + data).find(ModelNode::body(1, 5)), std::string::npos);
  const Checked checked = check(files, "/backup");
  EXPECT_EQ(checked.totals.problems, 0u) << checked.text();
}

TEST(OnlineBackup, LosesNothingAndLeavesNoStrayFilesWhenThePowerGoesAtAnyCall) {
  for (std::uint64_t seed = 1; seed <= seeds(2); ++seed) {
    for (std::uint64_t nth = 1;; nth += 1 + seed % 2) {
      FaultyFileSystem files;
      SeededRandom random(seed * 1'000'003 + nth);
      Workload workload(seed, Workload::Kind::kGarbage);
      {
        ModelNode node(files, 4096, few_steps(seed));
        workload.run(node, 30);
        files.halt_at(nth);
        ASSERT_TRUE(node.disk().begin_backup(fast()));
        // A disk that is gone may not be stored to any more, as the model does not keep the order
        // then.
        while (node.disk().backup().stage == BackupState::Stage::kRunning && !node.dead() &&
               !files.halted()) {
          workload.run(node, 1);
        }
        if (!files.halted()) break;
      }
      files.crash(random);
      ModelNode node(files);
      ASSERT_TRUE(node.opened().is_ok()) << node.opened().to_string();
      ASSERT_EQ(workload.difference(node), "") << "seed " << seed << " call " << nth;
      EXPECT_FALSE(files.exists("/data/" + std::string(kBackupLinksName)));
      // What is there is a backup, or does not look like one.
      const auto restored = restore(files, "/backup", "/restored", {});
      if (!files.exists("/backup/manifest")) {
        EXPECT_FALSE(restored.is_ok());
      } else {
        EXPECT_TRUE(restored.is_ok()) << restored.status().to_string();
      }
    }
  }
}

TEST(OnlineBackup, LeavesNothingOfItselfWhenACallFailsAndTheNodeUnharmed) {
  for (const Code code : {Code::kIoError, Code::kNoSpace}) {
    for (std::uint64_t times = 1;; ++times) {
      FaultyFileSystem files;
      Workload workload(times);
      ModelNode node(files, 4096, few_steps(times));
      workload.run(node, 40);
      ASSERT_TRUE(files.make_directories("/backup"));
      const unsigned kinds = FaultyFileSystem::kOpen | FaultyFileSystem::kWrite |
                             FaultyFileSystem::kRename | FaultyFileSystem::kMakeDirectory;
      files.fail_path(times == 1   ? "/backup/wal"
                      : times == 2 ? "/backup/shards"
                                   : "/backup/iden",
                      kinds, code, 1);
      ASSERT_TRUE(node.disk().begin_backup(fast()));
      run_until_made(workload, node);
      ASSERT_FALSE(node.dead());
      EXPECT_EQ(node.disk().backup().stage, BackupState::Stage::kFailed) << times;
      EXPECT_EQ(node.disk().backup().failure.code(), code);
      EXPECT_TRUE(files.list("/backup")->empty()) << (*files.list("/backup"))[0];
      EXPECT_FALSE(files.exists("/data/" + std::string(kBackupLinksName)));
      workload.run(node, 40);
      ASSERT_EQ(workload.difference(node), "");
      // And the next one is made.
      ASSERT_TRUE(node.disk().begin_backup(fast()));
      run_until_made(workload, node);
      EXPECT_EQ(node.disk().backup().stage, BackupState::Stage::kDone);
      if (times == 3) break;
    }
  }
}

TEST(OnlineBackup, RefusesWhatCannotBe) {
  FaultyFileSystem files;
  Workload workload(1);
  ModelNode node(files);
  workload.run(node, 60);
  EXPECT_EQ(node.disk().begin_backup(fast("relative")).code(), Code::kPreconditionFailed);
  EXPECT_EQ(node.disk().begin_backup(fast("/data/in/it")).code(), Code::kPreconditionFailed);

  ASSERT_TRUE(files.make_directories("/full"));
  ASSERT_TRUE(files.open("/full/mine", OpenMode::kReadWrite).is_ok());
  ASSERT_TRUE(node.disk().begin_backup(fast("/full/")));
  EXPECT_EQ(node.disk().begin_backup(fast()).code(), Code::kPreconditionFailed);
  run_until_made(workload, node);
  EXPECT_EQ(node.disk().backup().failure.code(), Code::kInvalidConfig);
  EXPECT_TRUE(files.exists("/full/mine"));

  // Another node's directory, and what is in it.
  ASSERT_TRUE(files.make_directories("/other"));
  ASSERT_TRUE(files.open("/other/identity", OpenMode::kReadWrite).is_ok());
  ASSERT_TRUE(node.disk().begin_backup(fast("/other/shards/backup")));
  run_until_made(workload, node);
  EXPECT_EQ(node.disk().backup().failure.code(), Code::kInvalidConfig);
  EXPECT_FALSE(files.exists("/other/shards"));

  BackupOptions below = fast("/backups/../elsewhere");
  below.allowed_below = "/backups/";
  for (const char* const target : {"/backups/../elsewhere", "/backups/..", "/backups", "/backups/",
                                   "/backups2/x", "/elsewhere"}) {
    below.target = target;
    EXPECT_EQ(node.disk().begin_backup(below).code(), Code::kPreconditionFailed) << target;
  }
  below.target = "/backups/monday";
  ASSERT_TRUE(node.disk().begin_backup(below));
  run_until_made(workload, node);
  EXPECT_EQ(node.disk().backup().stage, BackupState::Stage::kDone);

  // Directories above it that were made for it go with it; not those that somebody else needs.
  ASSERT_TRUE(files.make_directories("/there"));
  for (const char* const target : {"/there/new/all/n1", "/there/n1"}) {
    ASSERT_TRUE(node.disk().begin_backup(fast(target)));
    node.disk().cancel_backup();
    run_until_made(workload, node);
    EXPECT_EQ(node.disk().backup().stage, BackupState::Stage::kFailed);
    EXPECT_TRUE(files.exists("/there"));
    EXPECT_TRUE(files.list("/there")->empty()) << target;
  }

  BackupOptions much = fast();
  much.keep_free = *files.free_bytes("/") - 1000;
  ASSERT_TRUE(node.disk().begin_backup(much));
  run_until_made(workload, node);
  EXPECT_EQ(node.disk().backup().failure.code(), Code::kNoSpace);
  EXPECT_NE(node.disk().backup().failure.message().find("are to stay free"), std::string::npos);
  EXPECT_FALSE(files.exists("/backup"));
  EXPECT_EQ(workload.difference(node), "");
}

TEST(OnlineBackup, MayBeNamedThroughALinkThatLeadsToWhereItMayBe) {
  namespace fs = std::filesystem;
  std::string directory = fs::temp_directory_path() / "segue_links.XXXXXX";
  ASSERT_NE(::mkdtemp(directory.data()), nullptr);
  fs::create_directories(directory + "/real/backups");
  fs::create_directories(directory + "/elsewhere");
  fs::create_directory_symlink(directory + "/real/backups", directory + "/link");
  fs::create_directory_symlink(directory + "/elsewhere", directory + "/other");
  FaultyFileSystem files;  // knows nothing of these: only the paths are looked at
  ModelNode node(files);
  Workload workload(1);
  const auto begun = [&](const std::string& target, const std::string& allowed) {
    BackupOptions options = fast(directory + target);
    options.allowed_below = directory + allowed;
    const bool is_ok = node.disk().begin_backup(options).is_ok();
    run_until_made(workload, node);
    return is_ok;
  };
  EXPECT_TRUE(begun("/link/monday", "/real/backups"));
  EXPECT_TRUE(begun("/real/backups/tuesday", "/link"));
  EXPECT_FALSE(begun("/other/monday", "/real/backups"));
  EXPECT_FALSE(begun("/link", "/real/backups"));
  EXPECT_FALSE(begun("/link/../monday", "/real/backups"));
  fs::remove_all(directory);
}

TEST(OnlineBackup, EndsWhenItIsCancelledOrTheNodeStops) {
  FaultyFileSystem files;
  Workload workload(1);
  ModelNode node(files, 4096, few_steps(1));
  workload.run(node, 60);
  ASSERT_TRUE(node.disk().begin_backup(fast()));
  node.disk().cancel_backup();
  run_until_made(workload, node);
  EXPECT_EQ(node.disk().backup().stage, BackupState::Stage::kFailed);
  EXPECT_FALSE(files.exists("/backup"));
  ASSERT_TRUE(node.disk().begin_backup(fast()));
  workload.run(node, 3);
  node.stop();
  EXPECT_FALSE(files.exists("/backup"));
  EXPECT_FALSE(files.exists("/data/" + std::string(kBackupLinksName)));
}

}  // namespace
}  // namespace segue::storage
