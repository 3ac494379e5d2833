#include "common/sharding.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>

#include "common/checksum.h"

namespace segue {
namespace {

using std::string_literals::operator""s;

struct PinnedShard {
  std::string vhost;
  std::string name;
  std::uint16_t of_32;
  std::uint16_t of_4096;
};

// Queues on disk lie where these numbers say. If this fails, the code is wrong, not the test.
TEST(Sharding, HashOfKnownNamesNeverChanges) {
  const std::vector<PinnedShard> pinned = {
      {"/", "orders", 15, 1839},
      {"/", "", 9, 1289},
      {"", "orders", 2, 1314},
      {"/", "amq.gen-1", 24, 2904},
      {"tenant", "orders", 2, 1506},
      {"/", "z\xC3\xBCrich \xF0\x9F\x90\xB0", 18, 2162},
      {"/", "a\0b"s, 27, 1467},
      {"/", "../../etc/passwd", 23, 311},
      {"/", std::string(255, 'q'), 24, 2136},
  };
  for (const PinnedShard& queue : pinned) {
    EXPECT_EQ(shard_of(queue.vhost, queue.name, 32).value, queue.of_32) << queue.name;
    EXPECT_EQ(shard_of(queue.vhost, queue.name, 4096).value, queue.of_4096) << queue.name;
  }
}

// The specification's own value, so that the pins above are those of the real XXH3-64.
TEST(Sharding, HashIsXxh3) {
  EXPECT_EQ(xxh3_64(""), 0x2D06800538D394C2u);
}

TEST(Sharding, VhostAndNameDoNotRunTogether) {
  EXPECT_NE(shard_of("a", "bc", 4096), shard_of("ab", "c", 4096));
}

TEST(Sharding, SpreadsQueuesEvenly) {
  std::map<ShardId, int> queues;
  constexpr int kQueues = 32'000;
  for (int i = 0; i < kQueues; ++i) ++queues[shard_of("/", "queue-" + std::to_string(i), 32)];
  EXPECT_EQ(queues.size(), 32u);
  for (const auto& [shard, count] : queues) {
    EXPECT_GT(count, 850) << shard.value;
    EXPECT_LT(count, 1150) << shard.value;
  }
}

TEST(Sharding, ASingleShardTakesAll) {
  EXPECT_EQ(shard_of("/", "orders", 1), ShardId(0));
  EXPECT_EQ(place_shards(1, {"n1"}), std::vector<std::string>{"n1"});
}

std::vector<std::string> nodes(int count) {
  std::vector<std::string> ids;
  for (int i = 1; i <= count; ++i) ids.push_back("n" + std::to_string(i));
  return ids;
}

TEST(Placement, OfAKnownClusterNeverChanges) {
  const std::vector<std::string> owners = place_shards(8, nodes(3));
  EXPECT_EQ(owners, (std::vector<std::string>{"n2", "n2", "n1", "n3", "n3", "n3", "n3", "n1"}));
}

TEST(Placement, GivesEveryNodeItsShare) {
  for (int count : {2, 3, 5, 8}) {
    std::map<std::string, int> shards;
    for (const std::string& owner : place_shards(4096, nodes(count))) ++shards[owner];
    EXPECT_EQ(shards.size(), static_cast<std::size_t>(count));
    for (const auto& [node, own] : shards) {
      EXPECT_GT(own, 4096 / count * 85 / 100) << node << " of " << count;
      EXPECT_LT(own, 4096 / count * 115 / 100) << node << " of " << count;
    }
  }
}

TEST(Placement, LeavesNoNodeOfASmallClusterWithoutAShard) {
  std::map<std::string, int> shards;
  for (const std::string& owner : place_shards(32, nodes(3))) ++shards[owner];
  EXPECT_EQ(shards.size(), 3u);
}

TEST(Placement, ANewNodeOnlyTakesAndTakesItsShare) {
  const std::vector<std::string> before = place_shards(1024, nodes(4));
  const std::vector<std::string> after = place_shards(1024, nodes(5));
  int moved = 0;
  for (std::size_t shard = 0; shard < before.size(); ++shard) {
    if (before[shard] == after[shard]) continue;
    ++moved;
    EXPECT_EQ(after[shard], "n5") << "shard " << shard << " moved between old nodes";
  }
  EXPECT_GT(moved, 1024 / 5 * 80 / 100);
  EXPECT_LT(moved, 1024 / 5 * 120 / 100);
}

TEST(Placement, DoesNotDependOnTheOrderOfTheNodes) {
  std::vector<std::string> reversed = nodes(7);
  std::reverse(reversed.begin(), reversed.end());
  EXPECT_EQ(place_shards(512, nodes(7)), place_shards(512, reversed));
}

}  // namespace
}  // namespace segue
