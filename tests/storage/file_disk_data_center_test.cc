#include "storage/file_disk_data_center.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/storage/model_node.h"

namespace segue::storage {
namespace {

/// A random workload on a node, and what the node must hold at any time.
class Workload {
 public:
  explicit Workload(std::uint64_t seed) : random_(seed) {}

  /// Does `steps` random things; stops when the node is dead.
  void run(ModelNode& node, int steps) {
    for (int i = 0; i < steps && !node.dead(); ++i) step(node);
  }

  /// Empty if the node holds what it must; the command whose commit was not heard of may have
  /// happened.
  std::string difference(ModelNode& node) {
    const auto held = node.held();
    if (!held) return "the disk could not be read: " + node.opened().to_string();
    if (*held == model_) {
      pending_.clear();
      return {};
    }
    if (!pending_.empty()) {
      Model with = model_;
      apply(with, pending_);
      if (*held == with) {
        model_ = std::move(with);
        pending_.clear();
        return {};
      }
    }
    return describe(*held);
  }

 private:
  void step(ModelNode& node) {
    const std::uint64_t queue = 1 + random_.below(3) + 10 * generation_;
    switch (random_.below(12)) {
      case 0:
      case 1:
      case 2:
      case 3: {
        const std::uint64_t first = node.next_sequence(queue);
        command(node, queue, "E", first, first + random_.below(20));
        break;
      }
      case 4:
      case 5:
      case 6: {
        const std::uint64_t next = node.next_sequence(queue);
        const std::uint64_t first = 1 + random_.below(next);
        command(node, queue, "S", first, first + random_.below(next));
        break;
      }
      case 7:
      case 8:
        node.store(queue, 1 + random_.below(30));
        break;
      case 9:
        (void)node.checkpoint(ModelNode::shard_of(queue));
        break;
      case 10:
        if (random_.below(4) == 0) {
          command(node, queue, "D", 0, 0);
          ++generation_;  // ids are never used again
        }
        break;
      default:
        node.poll();
    }
  }

  void command(ModelNode& node, std::uint64_t queue, const char* kind, std::uint64_t first,
               std::uint64_t last) {
    const std::string text = std::string(kind) + " " + std::to_string(queue) + " " +
                             std::to_string(first) + " " + std::to_string(last);
    if (node.run(queue, text)) {
      apply(model_, text);
    } else if (node.dead()) {
      pending_ = text;
    }
  }

  static void apply(Model& model, const std::string& command) {
    std::istringstream in(command);
    char kind = 0;
    std::uint64_t queue = 0, first = 0, last = 0;
    in >> kind >> queue >> first >> last;
    if (kind == 'D') {
      model.erase(queue);
      return;
    }
    ModelQueue& messages = model[queue];
    if (kind == 'E') {
      for (std::uint64_t s = first; s <= last; ++s) messages[s] = ModelNode::body(queue, s);
    } else {
      messages.erase(messages.lower_bound(first), messages.upper_bound(last));
    }
    if (messages.empty()) model.erase(queue);
  }

  std::string describe(const Model& held) const {
    std::ostringstream text;
    const auto list = [&](const char* what, const Model& model) {
      for (const auto& [queue, messages] : model) {
        text << what << " queue " << queue << ":";
        for (const auto& [sequence, body] : messages) text << " " << sequence;
        text << "\n";
      }
    };
    list("must hold", model_);
    list("holds", held);
    text << "pending: " << pending_ << "\n";
    return text.str();
  }

  SeededRandom random_;
  Model model_;
  std::string pending_;
  std::uint64_t generation_ = 0;
};

std::uint64_t effort() {
  const char* const text = std::getenv("SEGUE_TEST_EFFORT");
  return text == nullptr ? 1 : std::max(1ull, std::strtoull(text, nullptr, 10));
}

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
bool crash_at(std::uint64_t seed, std::uint64_t nth, int steps) {
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

TEST(FileDiskDataCenter, LosesNothingConfirmedWhenThePowerGoesAtAnyCall) {
  std::uint64_t points = 0;
  for (std::uint64_t seed = 1; seed <= 4 * effort(); ++seed) {
    std::uint64_t nth = 1;
    while (crash_at(seed, nth, 40)) ++nth;
    points += nth - 1;
    ASSERT_FALSE(HasFailure()) << "seed " << seed << " call " << nth;
  }
  RecordProperty("crash_points", static_cast<int>(points));
  EXPECT_GT(points, 200u);
}

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
