#include "cli/cluster_report.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "cli/cluster_cpu.h"
#include "common/json_input.h"
#include "common/machine.h"

namespace segue::cli {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

/// One router, and two nodes with the even and the odd ones of eight shards.
client::ClusterDescription cluster() {
  client::ClusterDescription made;
  made.cluster = "c";
  made.version = "1";
  made.shard_count = 8;
  made.catalog_leader = "n1";
  made.catalog_available = true;
  made.link_heartbeat = seconds(1);
  made.routers.push_back({.id = "r1", .endpoint = "ipc://r1", .self = true});
  for (const char* id : {"n1", "n2"}) {
    made.nodes.push_back({.id = id, .endpoint = {}, .connected = true, .shards = 4});
  }
  for (std::uint32_t i = 0; i < 8; ++i) {
    made.shards.push_back({.shard = i, .node = i < 3 || i == 7 ? "n1" : "n2", .available = true});
  }
  return made;
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(ClusterText, GroupsTheShardsOfADeadNodeAndSaysSinceWhen) {
  client::ClusterDescription dead = cluster();
  dead.nodes[0].connected = false;
  dead.nodes[0].silent = seconds(12);
  dead.catalog_available = false;
  for (client::ShardDescription& shard : dead.shards) {
    if (shard.node != "n1") continue;
    shard.available = false;
    shard.blocked_reason = "node n1 is not reachable";
  }
  const std::string text = cluster_text(dead, false);
  EXPECT_TRUE(has(text, "8 shards, 4 of them DOWN")) << text;
  EXPECT_TRUE(has(text, "leader n1 (DOWN: nothing can be declared)")) << text;
  EXPECT_TRUE(has(text, "n1    DOWN for 12s")) << text;
  EXPECT_TRUE(has(text, "\nshards 0-2, 7 of n1 take no publishes: node n1 is not reachable\n"))
      << text;
  EXPECT_FALSE(healthy(dead));
}

TEST(ClusterText, SaysHowOldCountsAreOnceTheyAreOlderThanAHeartbeat) {
  client::ClusterDescription old = cluster();
  old.nodes[0].silent = milliseconds(900);
  old.nodes[1].silent = milliseconds(1900);
  const std::string text = cluster_text(old, false);
  EXPECT_TRUE(has(text, "n1    up                 ")) << text;
  EXPECT_TRUE(has(text, "n2    up, silent for 1s  ")) << text;
}

TEST(ClusterText, SaysANodesReasonOnceAndOneShardInTheSingular) {
  client::ClusterDescription blocked = cluster();
  blocked.shard_count = 1;
  blocked.nodes[0].blocked_reason = "memory";
  blocked.shards[1].blocked_reason = "node n1 takes no publishes: memory";
  blocked.shards[4].blocked_reason = "held";
  const std::string text = cluster_text(blocked, false);
  EXPECT_TRUE(has(text, "1 shard\n")) << text;
  EXPECT_TRUE(
      has(text, "\n\nn1 takes no publishes: memory\nshard 4 of n2 takes no publishes: held\n"))
      << text;
}

TEST(ClusterJson, HasWhatTheTableHas) {
  client::ClusterDescription given = cluster();
  given.nodes[1].silent = milliseconds(1900);
  given.nodes[1].pid = 77;
  const auto json = parse_json(cluster_json(given));
  ASSERT_TRUE(json.is_ok());
  const std::string text = cluster_json(given);
  EXPECT_TRUE(has(text, "\"silent_ms\":1900,\"pid\":77")) << text;
  EXPECT_TRUE(has(text, "\"catalog_leader\":\"n1\"")) << text;
}

TEST(ClusterCpu, CountsOnlyProcessesOfThisMachineAndByTheirOwnWord) {
  client::ClusterDescription given = cluster();
  const auto own = static_cast<std::uint32_t>(::getpid());
  given.nodes[0].pid = own;
  given.nodes[0].machine = machine_name();
  given.nodes[1].pid = own;
  given.nodes[1].machine = "another";
  const auto processes = cluster_processes(given);
  ASSERT_EQ(processes.size(), 1u);
  EXPECT_EQ(processes.at("n1"), ::getpid());
  EXPECT_EQ(cluster_cpu_seconds(processes).count("n1"), 1u);
}

TEST(ClusterText, TellsOfDamagedMessagesThatWereSetAside) {
  client::ClusterDescription cluster;
  cluster.nodes.push_back({"n1", "tcp://b:1"});
  EXPECT_EQ(cluster_text(cluster, false).find("set aside"), std::string::npos);
  cluster.nodes[0].quarantined = 3;
  EXPECT_NE(cluster_text(cluster, false)
                .find("\nn1 has set aside 3 damaged messages in the file `quarantine`"),
            std::string::npos);
  EXPECT_NE(cluster_json(cluster).find("\"quarantined\":3"), std::string::npos);
}

TEST(MemberHealth, TellsOfOneProcessWhateverTheOthersAre) {
  client::ClusterDescription cluster;
  cluster.routers.push_back({"r1", "tcp://a:1"});
  cluster.routers.push_back({"r2", "tcp://a:2"});
  cluster.routers[1].self = true;
  cluster.nodes.push_back({"n1", "tcp://b:1"});
  cluster.nodes.push_back({"n2", "tcp://b:2"});
  cluster.nodes[1].connected = true;
  cluster.nodes[1].blocked_reason = "the disk is full";
  EXPECT_FALSE(member_health(cluster, "r1").up);
  EXPECT_TRUE(member_health(cluster, "r2").up);
  EXPECT_FALSE(member_health(cluster, "n1").up);
  EXPECT_TRUE(member_health(cluster, "n1").text.starts_with("node n1 is DOWN for "));
  EXPECT_TRUE(member_health(cluster, "n2").up);
  EXPECT_TRUE(member_health(cluster, "n2").text.ends_with("the disk is full"));
  EXPECT_FALSE(member_health(cluster, "n3").known);
}

}  // namespace
}  // namespace segue::cli
