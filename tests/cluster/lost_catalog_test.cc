// A node whose catalog.db was lost says so, and keeps what its queues hold.

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "tests/fakes/filled_queue.h"
#include "tests/fakes/test_cluster.h"

namespace segue::client {
namespace {

namespace fs = std::filesystem;
constexpr std::chrono::milliseconds kLong{60'000};
constexpr int kMessages = 8'000;

TEST(LostCatalog, IsRefusedAndNothingIsDeleted) {
  TestCluster::Options options{.routers = 1, .nodes = 1, .shards = 2};
  // Small, so that the log does not have the catalog's entries any more.
  options.yaml = kSmallFiles;
  TestCluster cluster(options);
  cluster.start_all();
  ASSERT_TRUE(cluster.wait_ready()) << cluster.logs();
  ConnectionOptions wanted = cluster.connection_options();
  wanted.full_timeout = kLong;
  Connection connection = Connection::open(wanted).value();
  ASSERT_TRUE(connection.admin().declare_queue("q"));
  ASSERT_TRUE(fill(connection, "q", kMessages));
  ASSERT_EQ(cluster.process("n1").terminate(), 0);

  const fs::path catalog = cluster.data_dir("n1") + "/catalog.db";
  const fs::path kept = cluster.directory() + "/kept.db";
  fs::rename(catalog, kept);
  cluster.start("n1");
  EXPECT_EQ(cluster.process("n1").wait(), 71);
  EXPECT_NE(cluster.process("n1").stderr_text().find("catalog.db"), std::string::npos)
      << cluster.process("n1").stderr_text();

  fs::remove(catalog);
  fs::remove(catalog.string() + "-wal");
  fs::remove(catalog.string() + "-shm");
  fs::rename(kept, catalog);
  cluster.start("n1");
  ASSERT_TRUE(cluster.wait_ready()) << cluster.logs();
  const auto status = connection.admin().queue_status("q");
  ASSERT_TRUE(status) << status.error().to_string();
  EXPECT_EQ(status->ready, static_cast<std::uint64_t>(kMessages));
}

TEST(LostCatalog, ALeaderWithAnOldCopyTakesNoDeclares) {
  TestCluster cluster({.routers = 1, .nodes = 2, .shards = 4});
  cluster.start_all();
  ASSERT_TRUE(cluster.wait_ready()) << cluster.logs();
  const auto stop_nodes = [&] {
    for (const std::string& node : cluster.node_ids()) {
      ASSERT_EQ(cluster.process(node).terminate(), 0) << cluster.logs();
    }
  };
  const fs::path data = cluster.data_dir("n1");
  const fs::path copy = cluster.directory() + "/copy";
  stop_nodes();
  fs::copy(data, copy, fs::copy_options::recursive);
  for (const std::string& node : cluster.node_ids()) cluster.start(node);
  ASSERT_TRUE(cluster.wait_ready()) << cluster.logs();
  {
    Connection connection = cluster.connect();
    ASSERT_TRUE(connection.admin().declare_queue("newer"));
    ASSERT_TRUE(connection.admin().declare_queue("newest"));
  }
  ASSERT_TRUE(cluster.wait_ready()) << cluster.logs();
  stop_nodes();
  const fs::path newest = cluster.directory() + "/newest.db";
  fs::copy(cluster.data_dir("n2") + "/catalog.db", newest);
  fs::remove_all(data);
  fs::rename(copy, data);

  for (const std::string& node : cluster.node_ids()) cluster.start(node);
  ASSERT_TRUE(cluster.process("n2").wait_for_stderr("catalog_leader_is_behind"));
  Connection connection = cluster.connect();
  const auto declared = connection.admin().declare_queue("other");
  ASSERT_FALSE(declared);
  EXPECT_EQ(declared.error().code, ErrorCode::kCatalogUnavailable) << declared.error().to_string();
  EXPECT_NE(declared.error().to_string().find("old copy"), std::string::npos)
      << declared.error().to_string();

  ASSERT_EQ(cluster.process("n1").terminate(), 0) << cluster.logs();
  for (const char* const file : {"/catalog.db", "/catalog.db-wal", "/catalog.db-shm"}) {
    fs::remove(data.string() + file);
  }
  fs::copy(newest, data / "catalog.db");
  cluster.start("n1");
  ASSERT_TRUE(cluster.wait_ready()) << cluster.logs();
  EXPECT_TRUE(connection.admin().declare_queue("other"));
  EXPECT_TRUE(connection.admin().queue_status("newest"));
}

// A router that has seen more keeps it: publishes go on, nothing is dropped as unroutable.
TEST(LostCatalog, RoutersDoNotFollowALeaderWithLess) {
  TestCluster cluster({.routers = 1, .nodes = 2, .shards = 4});
  cluster.start_all();
  ASSERT_TRUE(cluster.wait_ready()) << cluster.logs();
  Connection connection = cluster.connect();
  std::string on_n2;
  for (int i = 0; on_n2.empty(); ++i) {
    const auto declared = connection.admin().declare_queue("q" + std::to_string(i));
    ASSERT_TRUE(declared);
    if (declared->node == "n2") on_n2 = declared->name;
  }
  ASSERT_EQ(cluster.process("n1").terminate(), 0) << cluster.logs();
  const fs::path newest = cluster.directory() + "/newest.db";
  fs::copy(cluster.data_dir("n1") + "/catalog.db", newest);
  fs::remove_all(cluster.data_dir("n1"));

  cluster.start("n1");
  ASSERT_TRUE(cluster.process("r1").wait_for_stderr("catalog_leader_is_behind")) << cluster.logs();
  const auto published =
      connection.publisher().publish_confirmed(Message::to_queue(on_n2, "kept")).get();
  ASSERT_TRUE(published) << published.error().to_string();
  EXPECT_FALSE(published->unroutable);
  const auto status = connection.admin().cluster_status();
  ASSERT_TRUE(status);
  EXPECT_FALSE(status->catalog_available);
  const auto declared = connection.admin().declare_queue("other");
  ASSERT_FALSE(declared);
  EXPECT_EQ(declared.error().code, ErrorCode::kCatalogUnavailable);
  EXPECT_NE(declared.error().text.find("old copy"), std::string::npos) << declared.error().text;

  ASSERT_EQ(cluster.process("n1").terminate(), 0) << cluster.logs();
  for (const char* const file : {"/catalog.db", "/catalog.db-wal", "/catalog.db-shm"}) {
    fs::remove(cluster.data_dir("n1") + file);
  }
  fs::remove_all(cluster.data_dir("n1") + "/wal");
  fs::copy(newest, cluster.data_dir("n1") + "/catalog.db");
  cluster.start("n1");
  ASSERT_TRUE(cluster.wait_ready()) << cluster.logs();
  EXPECT_TRUE(connection.admin().declare_queue("other"));
  EXPECT_EQ(connection.admin().queue_status(on_n2)->ready, 1u);
}

// While the leader is away a router may start with nodes that do not know everything: what it
// cannot be sure of it does not confirm, and it takes what the node knows that has more.
TEST(AwayLeader, NothingIsConfirmedThatGoesNowhereForLackOfTheCatalog) {
  TestCluster cluster({.routers = 1, .nodes = 3, .shards = 12});
  cluster.start_all();
  ASSERT_TRUE(cluster.wait_ready()) << cluster.logs();
  std::string on_n2;
  {
    Connection connection = cluster.connect();
    ASSERT_TRUE(connection.admin().declare_queue("first"));
    ASSERT_EQ(cluster.process("n3").terminate(), 0) << cluster.logs();
    for (int i = 0; on_n2.empty(); ++i) {
      ASSERT_LT(i, 200);
      const auto queue = connection.admin().declare_queue("q" + std::to_string(i));
      ASSERT_TRUE(queue) << queue.error().to_string();
      if (queue->node == "n2") on_n2 = queue->name;
    }
    ASSERT_TRUE(connection.admin().bind({"amq.fanout", on_n2, ""}));
  }
  for (const char* const id : {"r1", "n1", "n2"}) {
    ASSERT_EQ(cluster.process(id).terminate(), 0) << cluster.logs();
  }

  cluster.start("n3");
  cluster.start("r1");
  Connection connection = cluster.connect();
  const auto fate = [&](const std::string& exchange, const std::string& key) {
    Message message;
    message.header.exchange = exchange;
    message.header.routing_key = key;
    return connection.publisher().publish_confirmed(std::move(message)).get();
  };
  for (const auto& [exchange, key] : {std::pair{"amq.fanout", ""}, std::pair{"", on_n2.c_str()}}) {
    const auto refused = fate(exchange, key);
    ASSERT_FALSE(refused) << exchange;
    EXPECT_EQ(refused.error().code, ErrorCode::kCatalogUnavailable) << refused.error().to_string();
  }
  const auto status = connection.admin().queue_status(on_n2);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, ErrorCode::kCatalogUnavailable) << status.error().to_string();

  cluster.start("n2");
  const auto deadline = std::chrono::steady_clock::now() + kLong;
  while (!connection.admin().queue_status(on_n2)) {
    ASSERT_LT(std::chrono::steady_clock::now(), deadline) << cluster.logs();
  }
  const auto straight = fate("", on_n2);
  ASSERT_TRUE(straight) << straight.error().to_string();
  EXPECT_FALSE(straight->unroutable);
  EXPECT_FALSE(fate("amq.fanout", ""));

  cluster.start("n1");
  ASSERT_TRUE(cluster.wait_ready()) << cluster.logs();
  const auto through = fate("amq.fanout", "");
  ASSERT_TRUE(through) << through.error().to_string();
  EXPECT_FALSE(through->unroutable);
  EXPECT_EQ(connection.admin().queue_status(on_n2)->ready, 2u);
}

}  // namespace
}  // namespace segue::client
