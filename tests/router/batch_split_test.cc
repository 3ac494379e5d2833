#include "router/batch_split.h"

#include <gtest/gtest.h>

namespace segue::router {
namespace {

using Places = std::vector<std::uint32_t>;

Route route_to(std::vector<std::pair<int, int>> queues_on_shards, std::uint64_t needs = 1) {
  Route route;
  for (const auto& [queue, shard] : queues_on_shards) {
    route.targets.push_back(
        {QueueId(static_cast<std::uint64_t>(queue)), ShardId(static_cast<std::uint16_t>(shard))});
  }
  route.needs = CatalogIndex(needs);
  return route;
}

Places places_of(const v1::QueueTarget& target) {
  return {target.messages().begin(), target.messages().end()};
}

TEST(BatchSplit, GivesEachShardEveryMessageOfAUniformBatch) {
  const auto parts = split_uniform(route_to({{1, 0}, {2, 0}, {3, 4}}, 9));
  ASSERT_EQ(parts.size(), 2u);
  EXPECT_EQ(parts[0].shard, ShardId(0));
  EXPECT_EQ(parts[0].targets.size(), 2u);
  EXPECT_TRUE(parts[0].places.empty());
  EXPECT_TRUE(parts[0].targets[0].messages().empty());
  EXPECT_EQ(parts[1].shard, ShardId(4));
  EXPECT_EQ(parts[1].needs, CatalogIndex(9));
}

TEST(BatchSplit, SaysWhichMessagesGoWhere) {
  const Route a = route_to({{1, 0}}, 5);
  const Route b = route_to({{2, 0}, {3, 4}}, 7);
  const auto parts = split_by_shard({&a, &b, nullptr, &a, &b}, 0, 5);
  ASSERT_EQ(parts.size(), 2u);
  EXPECT_EQ(parts[0].places, (Places{0, 1, 3, 4}));
  ASSERT_EQ(parts[0].targets.size(), 2u);
  EXPECT_EQ(places_of(parts[0].targets[0]), (Places{0, 2}));
  EXPECT_EQ(places_of(parts[0].targets[1]), (Places{1, 3}));
  EXPECT_EQ(parts[0].needs, CatalogIndex(7));
  EXPECT_EQ(parts[1].places, (Places{1, 4}));
  EXPECT_TRUE(parts[1].targets[0].messages().empty());
}

TEST(BatchSplit, CountsPlacesInTheWholeBatchForALaterChunk) {
  const Route a = route_to({{1, 0}});
  const auto parts = split_by_shard({&a, &a}, 10, 12);
  EXPECT_EQ(parts[0].places, (Places{10, 11}));
}

TEST(BatchSplit, HandsTheWholeBatchThroughAndCopiesAPart) {
  v1::MessageBatch wire;
  wire.add_headers()->set_routing_key("x");
  wire.add_headers()->set_routing_key("y");
  for (const std::uint32_t index : {0u, 1u, 0u, 1u}) wire.add_header_index(index);
  for (const std::uint32_t size : {1u, 2u, 3u, 4u}) wire.add_sizes(size);
  const auto batch = MessageBatch::parse(SharedBytes::from(wire.SerializeAsString()),
                                         SharedBytes::from("abbcccdddd"));
  ASSERT_TRUE(batch.is_ok());
  ShardPart whole;
  const PartBatch through = batch_of(whole, batch.value());
  EXPECT_EQ(through.batch, wire.SerializeAsString());
  EXPECT_EQ(through.bodies.data(), batch.value()->bodies().data());
  ShardPart part;
  part.places = {0, 1, 3};
  const PartBatch copied = batch_of(part, batch.value());
  EXPECT_EQ(copied.bodies.view(), "abbdddd");
  v1::MessageBatch got;
  ASSERT_TRUE(got.ParseFromString(copied.batch));
  EXPECT_EQ(got.sizes_size(), 3);
  EXPECT_EQ(got.headers(static_cast<int>(got.header_index(2))).routing_key(), "y");
}

}  // namespace
}  // namespace segue::router
