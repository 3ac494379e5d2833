// Line 35 of docs/semantics.md: pressure on one node's shards.

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <future>
#include <mutex>

#include "tests/semantics/semantics_fixture.h"

namespace segue::client {
namespace {

/// What a client is told of shards whose publishes wait. Any thread.
class Blockings {
 public:
  void listen(ConnectionOptions& options) {
    options.on_blocked = [this](const BlockedState& state) {
      const std::lock_guard lock(mutex_);
      told_.push_back(state);
    };
  }
  /// Waits until the latest says so.
  BlockedState wait_for(bool blocked, std::chrono::milliseconds timeout) {
    const auto deadline = std::chrono::steady_clock::now() + timeout;
    while (std::chrono::steady_clock::now() < deadline) {
      if (is(blocked)) {
        const std::lock_guard lock(mutex_);
        return told_.back();
      }
      std::this_thread::yield();
    }
    ADD_FAILURE() << "not told";
    return {};
  }
  bool is(bool blocked) {
    const std::lock_guard lock(mutex_);
    return !told_.empty() && told_.back().blocked == blocked;
  }

 private:
  std::mutex mutex_;
  std::vector<BlockedState> told_;
};

class Pressure : public Semantics {
 protected:
  Pressure()
      : Semantics(
            "memory_limit: 64MiB\n"
            "storage:\n  data_dir: ${DATA}\n"
            "  free_disk_limit: ${TEST_FREE_DISK_LIMIT:-16MiB}\n"
            "  wal_file_bytes: 4MiB\n  wal_reserve_bytes: 4MiB\n  checkpoint_wal_bytes: 16MiB\n"
            "  segment_bytes: 1MiB\n"
            "limits:\n  max_message_bytes: 256KiB\n  max_frame_bytes: 1MiB\n") {}

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
  Blockings told;
  ConnectionOptions options = cluster().connection_options("publisher");
  told.listen(options);
  auto publisher = Connection::open(options);
  ASSERT_TRUE(publisher);
  cluster().kill(other_node());
  auto fate = publisher->publisher().publish_confirmed(Message::to_queue(waits.queue, "waits"));
  const BlockedState state = told.wait_for(true, kLong);
  EXPECT_EQ(state.shards, (std::vector<std::uint32_t>{waits.shard}));
  EXPECT_NE(state.reason.find(other_node()), std::string::npos) << state.reason;
  // Publishes of the same session to other shards go on.
  EXPECT_TRUE(publisher->publisher().publish_confirmed(Message::to_queue(free.queue, "m")).get());
  cluster().start(other_node());
  EXPECT_TRUE(fate.get());
  told.wait_for(false, kLong);
  EXPECT_EQ(take(waits.queue), (Bodies{"waits"}));
}

// A node whose disk is stuck keeps what comes in memory, until that is full.
TEST_F(Pressure, Line35AFullMemoryBlocksOneNodesShardsAndConsumingHealsIt) {
  const auto places = a_queue_of_each_node();
  const Place full = places.at(other_node());
  const Place free = places.at(cluster().node_ids()[0]);
  const std::string stuck = cluster().directory() + "/sync-waits";
  const char* asan = std::getenv("ASAN_OPTIONS");
  cluster().kill(other_node());
  cluster().start(
      other_node(),
      {std::string("LD_PRELOAD=") + SEGUE_FAILING_SYNC, "SEGUE_TEST_SYNC_WAITS=" + stuck,
       "ASAN_OPTIONS=" + (asan == nullptr ? "" : std::string(asan) + ":") +
           "verify_asan_link_order=0"});
  ASSERT_TRUE(cluster().wait_ready()) << cluster().logs();
  const int lock = ::open(stuck.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  ASSERT_GE(lock, 0);
  ASSERT_EQ(::flock(lock, LOCK_EX), 0);
  ASSERT_EQ(::write(lock, ".data", 5), 5);
  Blockings told;
  ConnectionOptions options = cluster().connection_options("publisher");
  told.listen(options);
  auto publisher = Connection::open(options);
  ASSERT_TRUE(publisher);
  std::vector<std::future<Result<Confirmation>>> fates;
  const std::string body(16 << 10, 'x');
  constexpr std::size_t kTooMany = 4'000;  // as much as memory_limit
  while (!told.is(true) && fates.size() < kTooMany) {
    fates.push_back(publisher->publisher().publish_confirmed(Message::to_queue(full.queue, body)));
    // Some at a time, so that few are on their way when it is told.
    if (fates.size() % 16 == 0) fates.back().wait_for(std::chrono::milliseconds(200));
  }
  const BlockedState state = told.wait_for(true, kLong);
  EXPECT_EQ(state.shards, (std::vector<std::uint32_t>{full.shard}));
  EXPECT_NE(state.reason.find("memory"), std::string::npos) << state.reason;
  EXPECT_NE(state.reason.find(other_node()), std::string::npos) << state.reason;
  EXPECT_GT(state.timeout.count(), 0);
  const auto status = admin().cluster_status();
  ASSERT_TRUE(status);
  for (const ShardDescription& shard : status->shards) {
    EXPECT_EQ(shard.blocked_reason.find("memory") != std::string::npos, shard.node == other_node())
        << shard.shard << ": " << shard.blocked_reason;
  }
  // The same session publishes to other shards, and what is there can be consumed.
  EXPECT_TRUE(publisher->publisher().publish_confirmed(Message::to_queue(free.queue, "m")).get());
  EXPECT_EQ(take(free.queue), (Bodies{"m"}));
  EXPECT_TRUE(told.is(true));
  auto consumer = connection().subscribe(full.queue, ConsumerOptions{});
  ASSERT_TRUE(consumer);
  std::size_t taken = 0;
  const auto deadline = std::chrono::steady_clock::now() + kLong;
  while (!told.is(false) && std::chrono::steady_clock::now() < deadline) {
    const auto delivery = consumer->next(std::chrono::milliseconds(10));
    if (!delivery) continue;
    delivery->ack();
    ++taken;
  }
  EXPECT_TRUE(told.is(false)) << taken << " of " << fates.size() << " taken";
  for (auto& fate : fates) EXPECT_TRUE(fate.get());
  // What the node had put away already comes when its disk is back.
  ::close(lock);
  for (; taken < fates.size(); ++taken) {
    const auto delivery = consumer->next(kLong);
    ASSERT_TRUE(delivery) << taken << " of " << fates.size();
    delivery->ack();
  }
  EXPECT_TRUE(
      publisher->publisher().publish_confirmed(Message::to_queue(full.queue, "after")).get());
}

}  // namespace
}  // namespace segue::client
