// A node that refuses to start has not changed its directory: what is repaired, it starts on with
// all that it had.

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "tests/fakes/filled_queue.h"
#include "tests/fakes/test_cluster.h"

namespace segue::client {
namespace {

namespace fs = std::filesystem;
constexpr std::chrono::milliseconds kLong{60'000};
constexpr int kMessages = 6'000;

std::string content(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void put(const fs::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

/// Every file below a directory, without the lock.
std::map<std::string, std::string> bytes_below(const std::string& directory) {
  std::map<std::string, std::string> found;
  for (const auto& entry : fs::recursive_directory_iterator(directory)) {
    if (entry.path().filename() == "node.lock") continue;
    found[entry.path()] = entry.is_regular_file() ? content(entry.path()) : "";
  }
  return found;
}

std::string difference(const std::map<std::string, std::string>& before,
                       const std::map<std::string, std::string>& after) {
  std::string text;
  for (const auto& [path, bytes] : before) {
    const auto found = after.find(path);
    if (found == after.end()) {
      text += path + " is gone\n";
    } else if (found->second != bytes) {
      text += path + " has changed\n";
    }
  }
  for (const auto& [path, bytes] : after) {
    if (!before.contains(path)) text += path + " is new\n";
  }
  return text;
}

TEST(RefusedStart, LeavesEveryByteAsItWas) {
  TestCluster::Options options{.routers = 1, .nodes = 1, .shards = 2};
  options.yaml = kSmallFiles;
  TestCluster cluster(options);
  cluster.start_all();
  ASSERT_TRUE(cluster.wait_ready()) << cluster.logs();
  ConnectionOptions wanted = cluster.connection_options();
  wanted.full_timeout = kLong;
  Connection connection = Connection::open(wanted).value();
  ASSERT_TRUE(connection.admin().declare_queue("q"));
  ASSERT_TRUE(fill(connection, "q", kMessages / 2));
  ASSERT_EQ(cluster.process("n1").terminate(), 0);
  cluster.start("n1");
  ASSERT_TRUE(cluster.wait_ready()) << cluster.logs();
  ASSERT_TRUE(fill(connection, "q", kMessages / 2));
  cluster.kill("n1");

  const std::string data = cluster.data_dir("n1");
  const auto whole = bytes_below(data);
  std::vector<fs::path> log;
  for (const auto& [path, bytes] : whole) {
    if (path.ends_with(".wal")) log.emplace_back(path);
  }
  std::sort(log.begin(), log.end());
  ASSERT_GE(log.size(), 3u);
  const auto refused_with = [&](const fs::path& path, std::size_t at, std::size_t bytes = 1) {
    std::string damaged = content(path);
    ASSERT_GE(damaged.size(), at + bytes) << path;
    for (std::size_t i = at; i < at + bytes; ++i) damaged[i] = static_cast<char>(damaged[i] ^ 0x10);
    put(path, damaged);
    const auto before = bytes_below(data);
    cluster.start("n1");
    EXPECT_EQ(cluster.process("n1").wait(), 71) << path << cluster.process("n1").stderr_text();
    EXPECT_EQ(difference(before, bytes_below(data)), "");
    put(path, whole.at(path));
  };
  refused_with(log.front(), 4096 + 20);
  refused_with(log.front(), 20);
  refused_with(data + "/catalog.db", 4096, 8192);
  // Cut off to nothing, with the log of its changes beside it, which SQLite would remove.
  ASSERT_TRUE(whole.contains(data + "/catalog.db-wal"));
  put(data + "/catalog.db", "");
  const auto cut = bytes_below(data);
  cluster.start("n1");
  EXPECT_EQ(cluster.process("n1").wait(), 71) << cluster.process("n1").stderr_text();
  EXPECT_EQ(difference(cut, bytes_below(data)), "");
  put(data + "/catalog.db", whole.at(data + "/catalog.db"));
  for (const auto& [path, bytes] : whole) {
    if (path.ends_with("/checkpoint")) refused_with(path, 20);
  }
  EXPECT_EQ(difference(whole, bytes_below(data)), "");

  cluster.start("n1");
  ASSERT_TRUE(cluster.wait_ready()) << cluster.logs();
  EXPECT_NE(difference(whole, bytes_below(data)), "");
  const auto status = connection.admin().queue_status("q");
  ASSERT_TRUE(status) << status.error().to_string();
  EXPECT_EQ(status->ready, static_cast<std::uint64_t>(kMessages));
}

// No shard has a directory yet: all is in the log.
TEST(RefusedStart, OfAYoungNodeIsRepaired) {
  TestCluster cluster({.routers = 1, .nodes = 1, .shards = 2});
  cluster.start_all();
  ASSERT_TRUE(cluster.wait_ready()) << cluster.logs();
  Connection connection = cluster.connect();
  MessageHeader header;
  for (const char* const name : {"a", "b", "c"}) {
    ASSERT_TRUE(connection.admin().declare_queue(name));
    header.routing_key = name;
    for (int i = 0; i < 100; ++i) {
      Message message{header, std::to_string(i) + std::string(1000, 'x')};
      ASSERT_TRUE(connection.publisher().publish_confirmed(std::move(message)).get());
    }
  }
  cluster.kill("n1");
  const std::string data = cluster.data_dir("n1");
  EXPECT_FALSE(fs::exists(data + "/shards"));
  const std::string log = data + "/wal/0000000000000001.wal";
  std::string damaged = content(log);
  const std::size_t at = damaged.find("50xxx");
  ASSERT_NE(at, std::string::npos);
  damaged[at] ^= 0x10;
  put(log, damaged);
  cluster.start("n1");
  EXPECT_EQ(cluster.process("n1").wait(), 71) << cluster.process("n1").stderr_text();

  Process repair("segue", {"check", data, "--repair"});
  EXPECT_EQ(repair.wait(kLong), 4) << repair.stdout_text() << repair.stderr_text();
  cluster.start("n1");
  ASSERT_TRUE(cluster.wait_ready()) << cluster.logs();
  std::uint64_t ready = 0;
  for (const char* const name : {"a", "b", "c"}) {
    ready += connection.admin().queue_status(name)->ready;
  }
  EXPECT_EQ(ready, 299u);  // each was a group of its own
}

}  // namespace
}  // namespace segue::client
