#include "storage/file_disk_data_center.h"

#include <gtest/gtest.h>

#include "tests/storage/model_workload.h"

namespace segue::storage {
namespace {

TEST(FileDiskDataCenter, HoldsTheSameAfterCleanRestarts) {
  for (std::uint64_t seed = 1; seed <= 10 * effort(); ++seed) {
    FaultyFileSystem files;
    Workload workload(seed);
    for (int life = 0; life < 4; ++life) {
      ModelNode node(files);
      ASSERT_TRUE(node.opened().is_ok()) << node.opened().to_string();
      ASSERT_EQ(workload.difference(node), "") << "seed " << seed << " life " << life;
      workload.run(node, 60);
      ASSERT_FALSE(node.dead());
      ASSERT_EQ(workload.difference(node), "") << "seed " << seed << " life " << life;
      node.stop();
    }
  }
}

TEST(FileDiskDataCenter, HoldsTheSameAfterBeingKilled) {
  for (std::uint64_t seed = 1; seed <= 10 * effort(); ++seed) {
    FaultyFileSystem files;
    Workload workload(seed);
    for (int life = 0; life < 4; ++life) {
      ModelNode node(files);
      ASSERT_TRUE(node.opened().is_ok()) << node.opened().to_string();
      ASSERT_EQ(workload.difference(node), "") << "seed " << seed << " life " << life;
      workload.run(node, 60);
      files.kill_process();
    }
  }
}

/// Runs the workload until the power goes at the nth call, recovers (perhaps with another loss of
/// power on the way), checks, and goes on. False when the run was over before.
bool crash_at(std::uint64_t seed, std::uint64_t nth, int steps, std::uint64_t& states) {
  FaultyFileSystem files;
  SeededRandom random(seed * 1'000'003 + nth);
  Workload workload(seed);
  bool crashed = false;
  {
    files.halt_at(nth);
    ModelNode node(files);
    if (node.opened().is_ok()) workload.run(node, steps);
    crashed = files.halted();
  }
  if (!crashed) return false;
  states += check_outcomes(files, workload, random,
                           "seed " + std::to_string(seed) + " call " + std::to_string(nth),
                           [&] { return std::make_unique<ModelNode>(files); });
  files.crash(random);
  if (random.below(3) == 0) {
    files.halt_at(1 + random.below(30));
    { const ModelNode node(files); }
    files.crash(random);
  }
  ModelNode node(files);
  EXPECT_TRUE(node.opened().is_ok())
      << "seed " << seed << " call " << nth << ": " << node.opened().to_string();
  if (!node.opened().is_ok()) return false;
  const std::string difference = workload.difference(node);
  EXPECT_EQ(difference, "") << "seed " << seed << " call " << nth;
  if (!difference.empty()) return false;
  workload.run(node, 15);
  EXPECT_EQ(workload.difference(node), "") << "seed " << seed << " call " << nth << " later";
  node.stop();
  return true;
}

/// Seeds are shared out, so that they can be run side by side.
constexpr std::uint64_t kShares = 4;
class FileDiskDataCenterCrash : public ::testing::TestWithParam<std::uint64_t> {};

TEST_P(FileDiskDataCenterCrash, LosesNothingConfirmedWhenThePowerGoesAtAnyCall) {
  std::uint64_t points = 0;
  std::uint64_t states = 0;
  for (std::uint64_t seed = GetParam(); seed <= kShares * effort(); seed += kShares) {
    std::uint64_t nth = 1;
    while (crash_at(seed, nth, 40, states)) ++nth;
    points += nth - 1;
    ASSERT_FALSE(HasFailure()) << "seed " << seed << " call " << nth;
  }
  RecordProperty("crash_points", static_cast<int>(points));
  RecordProperty("crash_states", static_cast<int>(states));
  EXPECT_GT(points, 50u);
}
INSTANTIATE_TEST_SUITE_P(Share, FileDiskDataCenterCrash,
                         ::testing::Range<std::uint64_t>(1, kShares + 1));

TEST(FileDiskDataCenter, SurvivesEverySingleLackOfSpace) {
  for (std::uint64_t seed = 1; seed <= 2 * effort(); ++seed) {
    for (std::uint64_t nth = 1;; ++nth) {
      FaultyFileSystem files;
      Workload workload(seed);
      {
        ModelNode node(files);
        ASSERT_TRUE(node.opened().is_ok());
        const std::uint64_t before = files.calls();
        files.fail_call(nth, Code::kNoSpace);
        workload.run(node, 40);
        if (files.calls() - before < nth) break;
        // A sync that fails for lack of space is a failed sync.
        if (!node.dead()) {
          ASSERT_EQ(workload.difference(node), "") << "seed " << seed << " call " << nth;
          node.stop();
        }
      }
      files.kill_process();
      files.clear_faults();
      ModelNode node(files);
      ASSERT_TRUE(node.opened().is_ok())
          << "seed " << seed << " call " << nth << ": " << node.opened().to_string();
      ASSERT_EQ(workload.difference(node), "") << "seed " << seed << " call " << nth;
    }
  }
}

TEST(FileDiskDataCenter, GoesOnWhenAFullDiskHasSpaceAgain) {
  for (std::uint64_t seed = 1; seed <= 10 * effort(); ++seed) {
    FaultyFileSystem files;
    Workload workload(seed);
    {
      ModelNode node(files);
      ASSERT_TRUE(node.opened().is_ok());
      workload.run(node, 20);
      files.set_capacity(files.used_bytes() + 2000);
      workload.run(node, 60);
      ASSERT_FALSE(node.dead());
      ASSERT_EQ(workload.difference(node), "") << "seed " << seed;
      files.set_capacity(1ull << 40);
      workload.run(node, 30);
      for (std::uint16_t shard = 0; shard < ModelNode::kShards; ++shard) {
        EXPECT_TRUE(node.checkpoint(ShardId{shard}));
      }
      ASSERT_EQ(workload.difference(node), "") << "seed " << seed;
    }
    files.kill_process();
    ModelNode node(files);
    ASSERT_TRUE(node.opened().is_ok()) << node.opened().to_string();
    ASSERT_EQ(workload.difference(node), "") << "seed " << seed;
  }
}

TEST(FileDiskDataCenter, RecyclesTheLogAfterCheckpoints) {
  FaultyFileSystem files;
  ModelNode node(files);
  for (std::uint64_t round = 0; round < 50; ++round) {
    const std::uint64_t first = node.next_sequence(1);
    for (std::uint64_t i = 0; i < 20; ++i) {
      const std::string sequence = std::to_string(first + i);
      ASSERT_TRUE(node.run(1, "E 1 " + sequence + " " + sequence));
    }
    ASSERT_TRUE(node.checkpoint(ModelNode::shard_of(1)));
    for (int i = 0; i < 5; ++i) node.poll();
  }
  EXPECT_LT(node.disk().stats().wal_bytes, 200'000u);
  EXPECT_TRUE(node.held().has_value());
}

TEST(FileDiskDataCenter, KnowsTheFreeSpaceFromTheStart) {
  FaultyFileSystem files;
  ModelNode node(files);
  ASSERT_TRUE(node.opened().is_ok());
  EXPECT_GT(node.disk().stats().free_bytes, 0u);
}

}  // namespace
}  // namespace segue::storage
