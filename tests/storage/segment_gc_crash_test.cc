// Garbage is collected while a node works, checkpoints, loses its power at any call, finds no
// space, and comes back: against a model of what it must hold.
#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <string>

#include "storage/segment_gc_policy.h"
#include "tests/storage/model_workload.h"

namespace segue::storage {
namespace {

constexpr std::uint64_t kSegmentBytes = 4096;
constexpr std::uint64_t kLargeBytes = 16 << 10;

/// So that work in the background is at any point when the node does something.
std::function<int()> some_steps(std::uint64_t seed) {
  auto random = std::make_shared<SeededRandom>(seed);
  return [random] { return static_cast<int>(random->below(5)); };
}

FileDiskDataCenter& disk_of(ModelNode& node) {
  return static_cast<FileDiskDataCenter&>(node.disk());
}

/// Lets it collect what it will.
void collect_all(ModelNode& node) {
  for (int i = 0; i < 3000 && !node.dead(); ++i) {
    node.poll();
    const auto wanted = node.disk().take_wanted_checkpoints();
    for (const ShardId shard : wanted) EXPECT_TRUE(node.checkpoint(shard));
    if (wanted.empty() && disk_of(node).gc_is_idle()) return;
  }
  ADD_FAILURE() << "collects for ever";
}

/// What is wrong with the files of the queues; empty if they are as the tables say and within the
/// bound.
std::string wrong_with_files(ModelNode& node, FaultyFileSystem& files) {
  for (std::uint64_t queue = 1; queue < 200; ++queue) {
    const SegmentTable* const table = disk_of(node).segment_store().table(QueueId{queue});
    const std::string directory = "/data/shards/" + std::to_string(queue % ModelNode::kShards) +
                                  "/queues/-" + std::to_string(queue);
    const auto names = files.list(directory);
    std::set<std::string> there;
    if (names.is_ok()) there.insert(names->begin(), names->end());
    there.erase("queue_stat");
    std::set<std::string> wanted;
    std::uint64_t bytes = 0;
    std::uint64_t valid = 0;
    if (table != nullptr) {
      for (const auto& segment : table->segments()) {
        wanted.insert(segment_file_name(segment->name(), ".data"));
        wanted.insert(segment_file_name(segment->name(), ".index"));
        const SegmentFigures figures = figures_of(*segment);
        bytes += figures.bytes;
        valid += figures.valid_bytes;
        if (figures.state == SegmentState::kSealed && figures.valid > 1 &&
            figures.data_bytes > kSegmentBytes + SegmentFooter::kSize) {
          return directory + " has a segment of " + std::to_string(figures.data_bytes) + " bytes";
        }
      }
    }
    if (there != wanted) {
      std::string text = directory + " has";
      for (const std::string& name : there) text += " " + name;
      text += " and should have";
      for (const std::string& name : wanted) text += " " + name;
      return text;
    }
    const std::uint64_t bound = 2 * valid + ModelNode::gc_options().thresholds.slack_bytes;
    if (bytes > bound) {
      return directory + " has " + std::to_string(bytes) + " bytes, " + std::to_string(valid) +
             " of them valid";
    }
  }
  return {};
}

TEST(SegmentGcCrash, KeepsTheBoundAndTheMessagesThroughRestarts) {
  std::uint64_t copies = 0;
  for (std::uint64_t seed = 1; seed <= seeds(20); ++seed) {
    FaultyFileSystem files;
    Workload workload(seed, Workload::Kind::kGarbage);
    for (int life = 0; life < 3; ++life) {
      ModelNode node(files, kSegmentBytes, some_steps(seed));
      ASSERT_TRUE(node.opened().is_ok()) << node.opened().to_string();
      ASSERT_EQ(workload.difference(node), "") << "seed " << seed << " life " << life;
      workload.run(node, 150);
      ASSERT_FALSE(node.dead());
      if (life == 1) {
        files.kill_process();  // all that was written is there, nothing is finished
        continue;
      }
      for (std::uint16_t shard = 0; shard < ModelNode::kShards; ++shard) {
        ASSERT_TRUE(node.checkpoint(ShardId{shard}));
      }
      collect_all(node);
      ASSERT_EQ(workload.difference(node), "") << "seed " << seed << " life " << life;
      copies += node.disk().stats().gc.copies;
      const GcStats gc = node.disk().stats().gc;
      ASSERT_LE(gc.copied_bytes, 2 * gc.reclaimed_bytes) << "seed " << seed;
      node.stop();
      ASSERT_EQ(wrong_with_files(node, files), "") << "seed " << seed << " life " << life;
    }
  }
  EXPECT_TRUE(kSanitized || copies > seeds(20)) << copies;
}

/// What a life leaves that ended well.
struct Left {
  MemoryDisk::Image disk;
  Workload workload;
};

/// A life whose segments are larger than those of the next ones, which have to cut them.
void leave_large_segments(FaultyFileSystem& files, Workload& workload, std::uint64_t seed) {
  ModelNode node(files, kLargeBytes, some_steps(seed));
  workload.run(node, 120);
  for (std::uint16_t shard = 0; shard < ModelNode::kShards; ++shard) {
    EXPECT_TRUE(node.checkpoint(ShardId{shard}));
  }
  node.stop();
}

/// Runs until the power goes at the nth call, recovers (perhaps with another loss of power on the
/// way), checks, and goes on. False when the run was over before. `before`: an earlier life.
bool crash_at(std::uint64_t seed, std::uint64_t nth, int steps, std::uint64_t& copies,
              std::uint64_t& states, const Left* before = nullptr) {
  FaultyFileSystem files;
  SeededRandom random(seed * 1'000'003 + nth);
  Workload workload =
      before == nullptr ? Workload(seed, Workload::Kind::kGarbage) : before->workload;
  if (before != nullptr) files.restore(before->disk);
  bool crashed = false;
  {
    files.halt_at(nth);
    ModelNode node(files, kSegmentBytes, some_steps(seed));
    if (node.opened().is_ok()) workload.run(node, steps);
    crashed = files.halted();
  }
  copies += workload.copies();
  if (!crashed) return false;
  states += check_outcomes(
      files, workload, random, "seed " + std::to_string(seed) + " call " + std::to_string(nth),
      [&] { return std::make_unique<ModelNode>(files, kSegmentBytes, some_steps(nth)); });
  files.crash(random);
  for (std::uint64_t again = random.below(3); again > 0; --again) {
    files.halt_at(1 + random.below(60));
    { const ModelNode node(files, kSegmentBytes, some_steps(nth)); }
    files.crash(random);
  }
  ModelNode node(files, kSegmentBytes, some_steps(nth));
  EXPECT_TRUE(node.opened().is_ok())
      << "seed " << seed << " call " << nth << ": " << node.opened().to_string();
  if (!node.opened().is_ok()) return false;
  std::string difference = workload.difference(node);
  EXPECT_EQ(difference, "") << "seed " << seed << " call " << nth;
  if (!difference.empty()) return false;
  workload.run(node, 15);
  for (std::uint16_t shard = 0; shard < ModelNode::kShards; ++shard) {
    EXPECT_TRUE(node.checkpoint(ShardId{shard}));
  }
  collect_all(node);
  difference = workload.difference(node);
  node.stop();
  difference += wrong_with_files(node, files);
  EXPECT_EQ(difference, "") << "seed " << seed << " call " << nth << " later";
  return difference.empty();
}

/// The nth seed whose first steps make copies, so that the power goes in the middle of them.
std::uint64_t seed_with_copies(std::uint64_t nth, int steps) {
  std::uint64_t seed = 0;
  while (nth > 0) {
    ++seed;
    FaultyFileSystem files;
    ModelNode node(files, kSegmentBytes, some_steps(seed));
    Workload workload(seed, Workload::Kind::kGarbage);
    workload.run(node, steps);
    if (workload.copies() >= 3) --nth;
  }
  return seed;
}

/// Seeds are shared out, so that they can be run side by side.
constexpr std::uint64_t kShares = 3;
class SegmentGcCrashAnywhere : public ::testing::TestWithParam<std::uint64_t> {};

TEST_P(SegmentGcCrashAnywhere, LosesNothing) {
  std::uint64_t points = 0;
  std::uint64_t copies = 0;
  std::uint64_t states = 0;
  for (std::uint64_t share = GetParam(); share <= seeds(kShares); share += kShares) {
    const std::uint64_t seed = seed_with_copies(share, 60);
    std::uint64_t nth = 1;
    while (crash_at(seed, nth, 60, copies, states)) ++nth;
    points += nth - 1;
    ASSERT_FALSE(HasFailure()) << "seed " << seed << " call " << nth;
  }
  if (GetParam() > seeds(kShares)) GTEST_SKIP() << "fewer seeds under a sanitizer";
  RecordProperty("crash_points", static_cast<int>(points));
  RecordProperty("crash_states", static_cast<int>(states));
  EXPECT_GT(points, 100u);
  EXPECT_TRUE(kSanitized || copies > points / 8) << copies;
}
INSTANTIATE_TEST_SUITE_P(Share, SegmentGcCrashAnywhere,
                         ::testing::Range<std::uint64_t>(1, kShares + 1));

/// Calls are shared out: each share has every fourth one, together all.
constexpr std::uint64_t kCutShares = 4;
class SegmentGcCrashInACut : public ::testing::TestWithParam<std::uint64_t> {};

TEST_P(SegmentGcCrashInACut, LosesNothing) {
  std::uint64_t points = 0;
  std::uint64_t copies = 0;
  std::uint64_t states = 0;
  for (std::uint64_t seed = 1; seed <= effort(); ++seed) {
    FaultyFileSystem files;
    Workload workload(seed, Workload::Kind::kGarbage);
    leave_large_segments(files, workload, seed);
    const Left left{files.image(), workload};
    std::uint64_t nth = GetParam();
    for (; crash_at(seed, nth, 20, copies, states, &left); nth += kCutShares) ++points;
    ASSERT_FALSE(HasFailure()) << "seed " << seed << " call " << nth;
  }
  EXPECT_GT(points, 50u);
  EXPECT_TRUE(kSanitized || copies > points / 8) << copies << " of " << points;
}
INSTANTIATE_TEST_SUITE_P(Share, SegmentGcCrashInACut,
                         ::testing::Range<std::uint64_t>(1, kCutShares + 1));

TEST(SegmentGcCrash, CutsLargeSegmentsAndLosesNothingByThat) {
  for (std::uint64_t seed = 1; seed <= seeds(20); ++seed) {
    FaultyFileSystem files;
    Workload workload(seed, Workload::Kind::kGarbage);
    leave_large_segments(files, workload, seed);
    {
      ModelNode node(files, kSegmentBytes, some_steps(seed));
      ASSERT_EQ(workload.difference(node), "") << "seed " << seed;
      workload.run(node, 20);
      for (std::uint16_t shard = 0; shard < ModelNode::kShards; ++shard) {
        ASSERT_TRUE(node.checkpoint(ShardId{shard}));
      }
      collect_all(node);
      ASSERT_EQ(workload.difference(node), "") << "seed " << seed;
      node.stop();
      ASSERT_EQ(wrong_with_files(node, files), "") << "seed " << seed;
    }
    ModelNode again(files, kSegmentBytes, some_steps(seed));
    ASSERT_EQ(workload.difference(again), "") << "seed " << seed;
  }
}

TEST(SegmentGcCrash, LosesNothingWhenThePowerGoesInALongRun) {
  std::uint64_t copies = 0;
  std::uint64_t states = 0;
  for (std::uint64_t seed = 1; seed <= seeds(40); ++seed) {
    SeededRandom random(seed);
    crash_at(1000 + seed, 500 + random.below(4000), 600, copies, states);
    ASSERT_FALSE(HasFailure()) << "seed " << seed;
  }
  EXPECT_TRUE(kSanitized || copies > seeds(40)) << copies;
}

TEST(SegmentGcCrash, SurvivesEverySingleLackOfSpace) {
  for (std::uint64_t seed = 1; seed <= effort(); ++seed) {
    for (std::uint64_t nth = 1;; ++nth) {
      FaultyFileSystem files;
      Workload workload(seed, Workload::Kind::kGarbage);
      {
        ModelNode node(files, kSegmentBytes, some_steps(seed));
        ASSERT_TRUE(node.opened().is_ok());
        const std::uint64_t before = files.calls();
        files.fail_call(nth, Code::kNoSpace);
        workload.run(node, 60);
        if (files.calls() - before < nth) break;
        // A sync that fails for lack of space is a failed sync.
        if (!node.dead()) {
          ASSERT_EQ(workload.difference(node), "") << "seed " << seed << " call " << nth;
          node.stop();
        }
      }
      files.kill_process();
      files.clear_faults();
      ModelNode node(files, kSegmentBytes, some_steps(seed));
      ASSERT_TRUE(node.opened().is_ok())
          << "seed " << seed << " call " << nth << ": " << node.opened().to_string();
      ASSERT_EQ(workload.difference(node), "") << "seed " << seed << " call " << nth;
    }
  }
}

TEST(SegmentGcCrash, GivesSpaceBackOnAFullDisk) {
  for (std::uint64_t seed = 1; seed <= seeds(10); ++seed) {
    FaultyFileSystem files;
    Workload workload(seed, Workload::Kind::kGarbage);
    ModelNode node(files, kSegmentBytes, some_steps(seed));
    ASSERT_TRUE(node.opened().is_ok());
    workload.run(node, 100);
    files.set_capacity(files.used_bytes() + 1000);
    workload.run(node, 200);
    ASSERT_FALSE(node.dead());
    ASSERT_EQ(workload.difference(node), "") << "seed " << seed;
    files.set_capacity(1ull << 40);
    for (std::uint16_t shard = 0; shard < ModelNode::kShards; ++shard) {
      ASSERT_TRUE(node.checkpoint(ShardId{shard}));
    }
    collect_all(node);
    ASSERT_EQ(workload.difference(node), "") << "seed " << seed;
    node.stop();
    ASSERT_EQ(wrong_with_files(node, files), "") << "seed " << seed;
  }
}

}  // namespace
}  // namespace segue::storage
