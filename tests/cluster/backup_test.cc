// `segue backup` and `segue restore` with real nodes.

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "tests/fakes/test_cluster.h"

namespace segue::client {
namespace {

namespace fs = std::filesystem;
constexpr std::chrono::milliseconds kLong{60'000};
constexpr int kBefore = 3'000;  // messages in each queue when the backup begins
constexpr int kAcked = 500;
constexpr std::array kQueues{"q1", "q2", "q3", "q4"};

TestCluster::Options small_files(int nodes, const std::string& rate = "64MiB") {
  TestCluster::Options options{.routers = 1, .nodes = nodes, .shards = 4};
  options.yaml = "gc: {bytes_per_second: " + rate + "}\n" + kSmallFiles;
  return options;
}

struct Ran {
  std::optional<int> code;
  std::string out;
  std::string err;
};

Ran segue(const std::vector<std::string>& arguments) {
  Process process("segue", arguments);
  const auto code = process.wait(kLong);
  return {code, process.stdout_text(), process.stderr_text()};
}

Connection connect(const TestCluster& cluster) {
  ConnectionOptions options = cluster.connection_options();
  options.full_timeout = kLong;
  options.reconnect_max = std::chrono::milliseconds(100);
  return Connection::open(options).value();
}

std::string body(int number) {
  std::string text = std::to_string(number) + " ";
  text.resize(1000, 'x');
  return text;
}
int number_of(std::string_view text) {
  return std::atoi(std::string(text).c_str());
}

void publish(Connection& connection, int first, int end) {
  for (const char* const queue : kQueues) {
    const PreparedHeader header = PreparedHeader::to_queue(queue);
    for (int i = first; i < end; ++i) {
      ASSERT_TRUE(connection.publisher().publish(header, body(i)));
    }
  }
}

/// Takes everything that the queue has: numbers that rise by one.
std::pair<int, int> drain(Connection& connection, const std::string& queue) {
  const auto count = static_cast<int>(connection.admin().queue_status(queue).value().ready);
  Consumer consumer = connection.subscribe(queue).value();
  int first = -1;
  for (int i = 0; i < count; ++i) {
    const auto delivery = consumer.next(kLong);
    EXPECT_TRUE(delivery) << queue << " " << i;
    if (!delivery) break;
    const int number = number_of(delivery->body());
    if (first < 0) first = number;
    EXPECT_EQ(number, first + i) << queue;
    EXPECT_EQ(delivery->body(), body(number));
    delivery->ack();
  }
  return {first, first + count};
}

template <typename Condition>
bool wait_until(Condition condition) {
  const auto deadline = std::chrono::steady_clock::now() + kLong;
  while (!condition()) {
    if (std::chrono::steady_clock::now() >= deadline) return false;
  }
  return true;
}

/// Of the queues' files.
std::uint64_t stored_bytes(Connection& connection) {
  std::uint64_t bytes = 0;
  for (const char* const queue : kQueues) {
    bytes += connection.admin().queue_status(queue).value().disk_bytes;
  }
  return bytes;
}

bool has_data_files(const std::string& directory) {
  std::error_code error;
  for (auto at = fs::recursive_directory_iterator(directory, error);
       !error && at != fs::recursive_directory_iterator(); at.increment(error)) {
    if (at->path().extension() == ".data") return true;
  }
  return false;
}

void fill(Connection& connection) {
  for (const char* const queue : kQueues) ASSERT_TRUE(connection.admin().declare_queue(queue));
  publish(connection, 0, kBefore);
  ASSERT_TRUE(connection.publisher().wait_for_confirms(kLong));
}

void ack_first(Connection& connection, const std::string& queue, int count) {
  ConsumerOptions options;
  options.prefetch = static_cast<std::uint32_t>(count);
  Consumer consumer = connection.subscribe(queue, options).value();
  for (int i = 0; i < count; ++i) {
    const auto delivery = consumer.next(kLong);
    ASSERT_TRUE(delivery);
    if (i + 1 < count) {
      delivery->ack();
    } else {
      ASSERT_TRUE(delivery->ack_confirmed().get());
    }
  }
  consumer.close();
}

TEST(Backup, OfARunningClusterHasAllThatWasConfirmedAndNoHoles) {
  TestCluster cluster(small_files(2));
  cluster.start_all();
  ASSERT_TRUE(cluster.wait_ready()) << cluster.logs();
  Connection connection = connect(cluster);
  ASSERT_NO_FATAL_FAILURE(fill(connection));
  ASSERT_TRUE(wait_until([&] { return stored_bytes(connection) > (4 << 20); }));
  ASSERT_NO_FATAL_FAILURE(ack_first(connection, "q1", kAcked));

  std::atomic<bool> stop = false;
  std::atomic<int> published = kBefore;
  std::thread busy([&] {
    Connection own = connect(cluster);
    for (int i = kBefore; !stop; i += 20) {
      publish(own, i, i + 20);
      published = i + 20;
    }
    EXPECT_TRUE(own.publisher().wait_for_confirms(kLong));
  });
  const std::string target = cluster.directory() + "/backup";
  const Ran made = segue({"backup", "--online", target, "-r", cluster.endpoint("r1")});
  stop = true;
  busy.join();
  ASSERT_EQ(made.code, 0) << made.out << made.err << cluster.logs();
  EXPECT_NE(made.out.find("backup of node n1: "), std::string::npos) << made.out;
  EXPECT_LT(made.out.find("node n2"), made.out.find("node n1")) << "the leader goes last";
  for (const char* const node : {"n1", "n2"}) {
    EXPECT_FALSE(fs::exists(cluster.data_dir(node) + "/backup.links"));
  }
  const Ran checked = segue({"check", target});
  EXPECT_EQ(checked.code, 0) << checked.out << checked.err;
  // As shells complete directories' names.
  const Ran one = segue({"backup", "--online", cluster.directory() + "/one/", "--node", "n2", "-r",
                         cluster.endpoint("r1")});
  EXPECT_EQ(one.code, 0) << one.out << one.err;
  const Ran again = segue({"backup", "--online", target, "-r", cluster.endpoint("r1")});
  EXPECT_EQ(again.code, 1) << again.out << again.err;
  EXPECT_NE(again.err.find("is not empty"), std::string::npos) << again.err;
  EXPECT_TRUE(fs::exists(target + "/n1/manifest"));

  TestCluster fresh(small_files(2));
  for (const char* const node : {"n1", "n2"}) {
    const Ran restored = segue({"restore", target + "/" + node, fresh.data_dir(node)});
    ASSERT_EQ(restored.code, 0) << restored.out << restored.err;
  }
  fresh.start_all();
  ASSERT_TRUE(fresh.wait_ready()) << fresh.logs();
  Connection other = connect(fresh);
  for (const std::string queue : kQueues) {
    const auto [first, end] = drain(other, queue);
    EXPECT_EQ(first, queue == "q1" ? kAcked : 0) << queue;
    EXPECT_GE(end, kBefore) << queue;
    EXPECT_LE(end, published) << queue;
  }
  // And it takes new ones.
  ASSERT_NO_FATAL_FAILURE(publish(other, 0, 10));
  EXPECT_TRUE(other.publisher().wait_for_confirms(kLong));
}

TEST(Backup, OfANodeThatIsKilledMeanwhileLeavesTheNodeWhole) {
  TestCluster cluster(small_files(1, "64KiB"));  // a megabyte, then it waits for long
  cluster.start_all();
  ASSERT_TRUE(cluster.wait_ready()) << cluster.logs();
  Connection connection = connect(cluster);
  ASSERT_NO_FATAL_FAILURE(fill(connection));
  ASSERT_TRUE(wait_until([&] { return stored_bytes(connection) > (6 << 20); }));
  const std::string target = cluster.directory() + "/backup";
  Process backup("segue",
                 {"backup", "--online", target, "--node", "n1", "-r", cluster.endpoint("r1")});
  // The log is copied, checkpoints go on, and the first of the messages' files is there.
  ASSERT_TRUE(wait_until([&] { return has_data_files(target); })) << backup.stderr_text();
  ASSERT_TRUE(fs::exists(cluster.data_dir("n1") + "/backup.links"));
  cluster.kill("n1");
  EXPECT_EQ(backup.wait(kLong), 1) << backup.stderr_text();
  EXPECT_FALSE(fs::exists(target + "/manifest"));
  EXPECT_FALSE(fs::exists(target + "/identity"));
  EXPECT_EQ(segue({"check", cluster.data_dir("n1")}).code, 0);
  EXPECT_EQ(segue({"restore", target, cluster.directory() + "/restored"}).code, 73);
  EXPECT_FALSE(fs::exists(cluster.directory() + "/restored"));

  cluster.start("n1");
  ASSERT_TRUE(cluster.wait_ready()) << cluster.logs();
  EXPECT_FALSE(fs::exists(cluster.data_dir("n1") + "/backup.links"));
  for (const std::string queue : kQueues) {
    EXPECT_EQ(drain(connection, queue), std::make_pair(0, kBefore)) << queue;
  }
}

TEST(Backup, GoesOnWithoutItsCommandUntilItIsCancelled) {
  TestCluster::Options options = small_files(1, "64KiB");  // a megabyte, then it waits for long
  TestCluster cluster(options);
  cluster.start_all();
  ASSERT_TRUE(cluster.wait_ready()) << cluster.logs();
  Connection connection = connect(cluster);
  ASSERT_NO_FATAL_FAILURE(fill(connection));
  ASSERT_TRUE(wait_until([&] { return stored_bytes(connection) > (6 << 20); }));
  const std::string router = cluster.endpoint("r1");
  const Ran before = segue({"backup", "--status", "-r", router});
  EXPECT_EQ(before.code, 0) << before.err;
  EXPECT_EQ(before.out, "node n1: no backup since its start\n");

  const std::string target = cluster.directory() + "/backup";
  {
    Process backup("segue", {"backup", "--online", target, "-r", router});
    ASSERT_TRUE(wait_until([&] { return has_data_files(target); })) << backup.stderr_text();
    backup.kill_now();
  }
  const Ran now = segue({"backup", "--status", "-r", router, "--json"});
  EXPECT_EQ(now.code, 0) << now.err;
  EXPECT_NE(now.out.find(R"({"node":"n1","state":"running","directory":")" + target + "/n1"),
            std::string::npos)
      << now.out;
  EXPECT_EQ(segue({"backup", "--cancel", "--node", "n1", "-r", router}).code, 0);
  ASSERT_TRUE(wait_until([&] {
    return segue({"backup", "--status", "-r", router}).out.find("did not finish") !=
           std::string::npos;
  }));
  EXPECT_FALSE(fs::exists(target + "/n1"));
  EXPECT_FALSE(fs::exists(cluster.data_dir("n1") + "/backup.links"));

  // One whose command lives is told of it.
  Process other("segue", {"backup", "--online", target, "-r", router});
  ASSERT_TRUE(wait_until([&] { return has_data_files(target); })) << other.stderr_text();
  EXPECT_EQ(segue({"backup", "--cancel", "-r", router}).code, 0);
  EXPECT_EQ(other.wait(kLong), 1) << other.stderr_text();
  EXPECT_NE(other.stderr_text().find("cancelled"), std::string::npos) << other.stderr_text();

  EXPECT_EQ(segue({"backup", "--cancel", "--status"}).code, 64);
  EXPECT_EQ(segue({"backup", "--cancel", target}).code, 64);
  EXPECT_EQ(segue({"backup"}).code, 64);
  EXPECT_EQ(segue({"backup", "--status", "--node", "nosuch", "-r", router}).code, 1);
}

TEST(Backup, IsMadeWhereTheConfigurationAllowsIt) {
  TestCluster::Options options{.routers = 1, .nodes = 1, .shards = 4};
  const TempDir place;
  options.yaml = std::string("storage: {backup_directory: ") + place.path() + "/allowed}\n";
  TestCluster cluster(options);
  cluster.start_all();
  ASSERT_TRUE(cluster.wait_ready()) << cluster.logs();
  const std::string router = cluster.endpoint("r1");
  const Ran refused = segue({"backup", "--online", place.path() + "/elsewhere", "-r", router});
  EXPECT_EQ(refused.code, 1);
  EXPECT_NE(refused.err.find("storage.backup_directory"), std::string::npos) << refused.err;
  EXPECT_FALSE(fs::exists(place.path() + "/elsewhere"));
  fs::create_directories(place.path() + "/allowed");
  fs::create_directory_symlink(place.path() + "/elsewhere", place.path() + "/allowed/link");
  fs::create_directories(place.path() + "/elsewhere");
  EXPECT_EQ(segue({"backup", "--online", place.path() + "/allowed/link/a", "-r", router}).code, 1);
  EXPECT_FALSE(fs::exists(place.path() + "/elsewhere/a"));
  // Where there can be no directory.
  std::ofstream(place.path() + "/allowed/file") << "mine";
  EXPECT_EQ(segue({"backup", "--online", place.path() + "/allowed/file", "-r", router}).code, 1);
  EXPECT_EQ(segue({"backup", "--online", place.path() + "/allowed/file/a", "-r", router}).code, 1);
  const Ran made = segue({"backup", "--online", place.path() + "/allowed/a", "-r", router});
  EXPECT_EQ(made.code, 0) << made.err;
  EXPECT_TRUE(fs::exists(place.path() + "/allowed/a/n1/manifest"));
}

TEST(Backup, OfAStoppedNodeIsRefusedWhileItRunsAndComesBackWhole) {
  TestCluster cluster(small_files(1));
  cluster.start_all();
  ASSERT_TRUE(cluster.wait_ready()) << cluster.logs();
  {
    Connection connection = connect(cluster);
    ASSERT_NO_FATAL_FAILURE(fill(connection));
  }
  const std::string data = cluster.data_dir("n1");
  const std::string target = cluster.directory() + "/backup";
  const Ran running = segue({"backup", data, target});
  EXPECT_EQ(running.code, 73);
  EXPECT_NE(running.err.find("--online"), std::string::npos) << running.err;
  EXPECT_FALSE(fs::exists(target));

  cluster.kill("n1");
  const Ran made = segue({"backup", data, target, "--json"});
  ASSERT_EQ(made.code, 0) << made.err;
  EXPECT_NE(made.out.find("\"node\":\"n1\""), std::string::npos) << made.out;
  EXPECT_EQ(segue({"check", target}).code, 0);
  EXPECT_EQ(segue({"restore", target, data}).code, 73);  // it is not empty

  // A byte of a backup that is wrong: nothing is restored.
  const std::string damaged = target + "/catalog.db";
  {
    std::fstream file(damaged, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(200);
    file.put('?');
  }
  fs::remove_all(data);
  const Ran refused = segue({"restore", target, data});
  EXPECT_EQ(refused.code, 1) << refused.err;
  EXPECT_NE(refused.err.find(damaged), std::string::npos) << refused.err;
  EXPECT_FALSE(fs::exists(data));
  {
    std::fstream file(damaged, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(200);
    file.put('\0');
  }
  ASSERT_EQ(segue({"restore", target, data}).code, 0);
  cluster.start("n1");
  ASSERT_TRUE(cluster.wait_ready()) << cluster.logs();
  Connection connection = connect(cluster);
  for (const std::string queue : kQueues) {
    EXPECT_EQ(drain(connection, queue), std::make_pair(0, kBefore)) << queue;
  }
}

}  // namespace
}  // namespace segue::client
