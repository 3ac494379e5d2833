// Line 35 of docs/semantics.md: pressure on one node's shards.

#include <mutex>

#include "tests/semantics/semantics_fixture.h"

namespace segue::client {
namespace {

class Pressure : public Semantics {
 protected:
  Pressure()
      : Semantics(
            "storage:\n  data_dir: ${DATA}\n"
            "  free_disk_limit: ${TEST_FREE_DISK_LIMIT:-16MiB}\n") {}

  /// A queue of each node, and its shard.
  struct Place {
    std::string queue;
    std::uint32_t shard = 0;
  };
  std::map<std::string, Place> a_queue_of_each_node() {
    std::map<std::string, Place> places;
    for (int i = 0; places.size() < 2; ++i) {
      const std::string name = "q" + std::to_string(i);
      queue(name);
      const auto status = admin().queue_status(name);
      places[status->node] = {name, status->shard};
    }
    return places;
  }
  /// The node that does not lead the catalog.
  std::string other_node() { return cluster().node_ids()[1]; }
};

TEST_F(Pressure, Line35WithoutDiskSpaceOneNodeRefusesAndTheOthersGoOn) {
  const auto places = a_queue_of_each_node();
  const Place blocked = places.at(other_node());
  const Place free = places.at(cluster().node_ids()[0]);
  publish_routed("", blocked.queue, "before");
  cluster().kill(other_node());
  cluster().start(other_node(), {"TEST_FREE_DISK_LIMIT=16TiB"});
  ASSERT_TRUE(cluster().wait_ready()) << cluster().logs();
  const Fate fate = publish("", blocked.queue, "refused");
  EXPECT_FALSE(fate.confirmed);
  EXPECT_EQ(fate.error, ErrorCode::kShardBlocked);
  EXPECT_NE(fate.text.find("shard " + std::to_string(blocked.shard)), std::string::npos)
      << fate.text;
  EXPECT_NE(fate.text.find("disk"), std::string::npos) << fate.text;
  publish_routed("", free.queue, "taken");
  EXPECT_EQ(take(free.queue), (Bodies{"taken"}));
  // What is there can be consumed.
  EXPECT_EQ(take(blocked.queue), (Bodies{"before"}));
  const auto status = admin().cluster_status();
  ASSERT_TRUE(status);
  for (const ShardDescription& shard : status->shards) {
    EXPECT_EQ(shard.blocked_reason.empty(), shard.node != other_node()) << shard.shard;
  }
  // With space it goes on.
  cluster().kill(other_node());
  cluster().start(other_node());
  ASSERT_TRUE(cluster().wait_ready()) << cluster().logs();
  publish_routed("", blocked.queue, "after");
  EXPECT_EQ(take(blocked.queue), (Bodies{"after"}));
}

TEST_F(Pressure, Line35TheClientIsToldWhichShardsWaitAndWhy) {
  const auto places = a_queue_of_each_node();
  const Place waits = places.at(other_node());
  const Place free = places.at(cluster().node_ids()[0]);
  std::mutex mutex;
  std::vector<BlockedState> told;
  ConnectionOptions options = cluster().connection_options("publisher");
  options.on_blocked = [&](const BlockedState& state) {
    const std::lock_guard lock(mutex);
    told.push_back(state);
  };
  const auto was_told = [&](bool blocked) {
    const auto deadline = std::chrono::steady_clock::now() + kLong;
    while (std::chrono::steady_clock::now() < deadline) {
      {
        const std::lock_guard lock(mutex);
        if (!told.empty() && told.back().blocked == blocked) return told.back();
      }
      std::this_thread::yield();
    }
    ADD_FAILURE() << "not told";
    return BlockedState();
  };
  auto publisher = Connection::open(options);
  ASSERT_TRUE(publisher);
  cluster().kill(other_node());
  auto fate = publisher->publisher().publish_confirmed(Message::to_queue(waits.queue, "waits"));
  const BlockedState state = was_told(true);
  EXPECT_EQ(state.shards, (std::vector<std::uint32_t>{waits.shard}));
  EXPECT_NE(state.reason.find(other_node()), std::string::npos) << state.reason;
  // Publishes of the same session to other shards go on.
  EXPECT_TRUE(publisher->publisher().publish_confirmed(Message::to_queue(free.queue, "m")).get());
  cluster().start(other_node());
  EXPECT_TRUE(fate.get());
  was_told(false);
  EXPECT_EQ(take(waits.queue), (Bodies{"waits"}));
}

}  // namespace
}  // namespace segue::client
