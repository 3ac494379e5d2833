#include "cli/demo/publish_plan.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "cli/demo/queue_plan.h"
#include "common/sharding.h"

namespace segue::cli::demo {
namespace {

TEST(DemoPublishPlan, EveryRecordIsPublishedOnceInEveryPass) {
  for (const std::size_t records : {1u, 2u, 7u, 12u}) {
    for (const std::size_t producers : {1u, 3u, 4u, 20u}) {
      const PublishPlan plan(records, producers, 30);
      std::map<std::pair<std::uint64_t, std::size_t>, int> times;
      std::uint64_t total = 0;
      for (std::size_t producer = 0; producer < plan.producers(); ++producer) {
        total += plan.count(producer);
        for (std::uint64_t seq = 1; seq <= plan.count(producer); ++seq) {
          const PublishPlan::Item item = plan.item(producer, seq);
          ++times[{item.pass, item.record}];
        }
      }
      EXPECT_EQ(total, plan.total());
      EXPECT_EQ(times.size(), plan.total());
      EXPECT_EQ(times.begin()->first, std::make_pair(std::uint64_t{1}, std::size_t{0}));
      EXPECT_EQ(times.rbegin()->first, std::make_pair(plan.passes(), records - 1));
    }
  }
}

TEST(DemoPublishPlan, TakesWholePassesAndNoIdleProducers) {
  EXPECT_EQ(PublishPlan(10, 2, 0).passes(), 1u);
  EXPECT_EQ(PublishPlan(10, 2, 10).passes(), 1u);
  EXPECT_EQ(PublishPlan(10, 2, 11).passes(), 2u);
  EXPECT_EQ(PublishPlan(3, 8, 100).producers(), 3u);
  EXPECT_EQ(PublishPlan(3, 8, 100).total(), 102u);
}

TEST(DemoPublishPlan, AProducerKeepsTheOrderOfTheFile) {
  const PublishPlan plan(7, 3, 14);
  EXPECT_EQ(plan.item(1, 1), (PublishPlan::Item{1, 1}));
  EXPECT_EQ(plan.item(1, 2), (PublishPlan::Item{1, 4}));
  EXPECT_EQ(plan.item(1, 3), (PublishPlan::Item{2, 1}));
  EXPECT_EQ(plan.item(0, 3), (PublishPlan::Item{1, 6}));
}

TEST(DemoQueuePlan, QueuesSpreadOverAllNodes) {
  const std::vector<std::string> places = place_shards(32, {"n1", "n2", "n3"});
  for (const auto kind : {RecordFile::Kind::kPackages, RecordFile::Kind::kLines}) {
    std::set<std::string> nodes;
    std::set<std::string> names;
    for (const QueuePlan& queue : queue_plans(kind)) {
      nodes.insert(places[shard_of("/", queue.name, 32).value]);
      EXPECT_TRUE(names.insert(queue.name).second) << queue.name;
    }
    EXPECT_EQ(nodes.size(), 3u);
  }
}

}  // namespace
}  // namespace segue::cli::demo
