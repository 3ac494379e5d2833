// Nodes that were killed, and whose shards' folders then changed places: a check names them, a
// start is refused, and a repair puts them right.

#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "tests/storage/check_fixture.h"
#include "tests/storage/killed_node.h"
#include "tests/storage/repair_fixture.h"

namespace segue::storage {
namespace {

const std::string kZero = "/data/shards/0";
const std::string kOne = "/data/shards/1";

void exchange(FaultyFileSystem& files, const std::string& one, const std::string& other) {
  EXPECT_TRUE(files.rename(one, "/data/between").is_ok());
  EXPECT_TRUE(files.rename(other, one).is_ok());
  EXPECT_TRUE(files.rename("/data/between", other).is_ok());
}

class RepairShards : public testing::Test {
 protected:
  /// Calls `test` with nodes of which both shards had a checkpoint when they were killed.
  template <typename Test>
  void for_some(Test test) {
    std::size_t some = 0;
    for (std::uint64_t seed = 1; seed <= seeds(12) && !HasFailure(); ++seed) {
      SCOPED_TRACE("seed " + std::to_string(seed));
      KilledNode killed(seed);
      if (!killed.files.exists(kZero + "/checkpoint")) continue;
      if (!killed.files.exists(kOne + "/checkpoint")) continue;
      ++some;
      test(killed);
    }
    EXPECT_GT(some, kSanitized ? 0u : 3u);
  }
  /// Nothing is changed by a start, which is refused; a repair is told, and then a node starts.
  /// What its queues hold.
  Model repaired(KilledNode& killed, Repaired& done) {
    const auto before = contents(killed.files);
    EXPECT_EQ(ModelNode(killed.files, 4096).opened().code(), Code::kCorruption);
    EXPECT_TRUE(contents(killed.files) == before);
    done = repair(killed.files);
    EXPECT_TRUE(done.status.is_ok()) << done.status.message();
    EXPECT_EQ(done.totals.left, 0u) << done.text;
    EXPECT_FALSE(killed.files.exists("/data/shards.named"));
    ModelNode node(killed.files, 4096);
    EXPECT_TRUE(node.opened().is_ok()) << node.opened().message() << "\n" << done.text;
    if (!node.opened().is_ok()) return {};
    return node.held().value_or(Model());
  }
};

TEST_F(RepairShards, ExchangedFoldersGetTheirNamesBackAndNothingIsLost) {
  for_some([&](KilledNode& killed) {
    exchange(killed.files, kZero, kOne);
    const Checked checked = check(killed.files);
    EXPECT_TRUE(checked.told(kZero + "/checkpoint")) << checked.text();
    EXPECT_TRUE(checked.told(kOne + "/checkpoint")) << checked.text();
    EXPECT_NE(checked.text().find("is that of shard 1"), std::string::npos) << checked.text();
    Repaired done;
    EXPECT_EQ(repaired(killed, done), killed.held) << done.text;
    EXPECT_FALSE(done.totals.loss.any()) << done.text;
    EXPECT_NE(done.text.find("is the folder of shard 1"), std::string::npos) << done.text;
    EXPECT_FALSE(check(killed.files).told(kZero + "/checkpoint"));
  });
}

TEST_F(RepairShards, AFolderWhoseCheckpointIsLostTooGoesWhereTheOtherCameFrom) {
  for_some([&](KilledNode& killed) {
    EXPECT_TRUE(killed.files.remove(kOne + "/checkpoint").is_ok());
    const Model wanted = killed.in_files();
    exchange(killed.files, kZero, kOne);
    Repaired done;
    EXPECT_EQ(lacks(repaired(killed, done), wanted), "") << done.text;
    EXPECT_NE(done.text.find("whose place it has left"), std::string::npos) << done.text;
  });
}

TEST_F(RepairShards, CheckpointsAloneInTheWrongFoldersMoveNoFolder) {
  for_some([&](KilledNode& killed) {
    const Model wanted = killed.in_files();
    exchange(killed.files, kZero + "/checkpoint", kOne + "/checkpoint");
    Repaired done;
    EXPECT_EQ(lacks(repaired(killed, done), wanted), "") << done.text;
  });
}

TEST_F(RepairShards, ACopyOfAFolderInTheWrongPlaceIsSetAside) {
  for_some([&](KilledNode& killed) {
    Model wanted = killed.in_files();
    std::erase_if(wanted,
                  [](const auto& queue) { return ModelNode::shard_of(queue.first) != ShardId{0}; });
    for (const std::string& path : killed.paths(kOne + "/", "")) killed.remove(path);
    for (const std::string& path : killed.paths(kZero + "/", "")) {
      killed.files.set_content(kOne + path.substr(kZero.size()), killed.files.content(path));
    }
    Repaired done;
    EXPECT_EQ(lacks(repaired(killed, done), wanted), "") << done.text;
    EXPECT_TRUE(done.totals.loss.more) << done.text;
    EXPECT_NE(done.text.find("is a copy of the folder of shard 0"), std::string::npos) << done.text;
  });
}

TEST(RepairShardsInterrupted, GoesOnWhenItIsRunAgainAndNoNodeStartsInBetween) {
  for (const bool lost : {false, true}) {
    KilledNode killed(4);
    if (lost) killed.remove(kOne + "/checkpoint");
    const Model wanted = lost ? killed.in_files() : killed.held;
    exchange(killed.files, kZero, kOne);
    std::size_t on_their_way = 0;
    interrupt_repairs(killed, [&](std::uint64_t nth) {
      if (killed.files.exists("/data/shards.named")) {
        ++on_their_way;
        EXPECT_EQ(ModelNode(killed.files, 4096).opened().code(), Code::kCorruption) << nth;
        EXPECT_TRUE(check(killed.files).told("/data/shards.named")) << nth;
      }
      const Repaired again = repair(killed.files);
      ASSERT_TRUE(again.status.is_ok()) << nth << " " << again.status.message();
      EXPECT_FALSE(killed.files.exists("/data/shards.named")) << nth;
      ModelNode node(killed.files, 4096);
      ASSERT_TRUE(node.opened().is_ok()) << nth << " " << node.opened().message() << again.text;
      EXPECT_EQ(lacks(node.held().value_or(Model()), wanted), "") << nth << "\n" << again.text;
    });
    EXPECT_GT(on_their_way, 5u);
  }
}

}  // namespace
}  // namespace segue::storage
