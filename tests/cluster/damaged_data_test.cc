// A node whose disk has damaged something: what is damaged is set aside, everything else is there.

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tests/fakes/test_cluster.h"

namespace segue::client {
namespace {

namespace fs = std::filesystem;
constexpr std::chrono::milliseconds kLong{60'000};
constexpr int kMessages = 3'000;

std::string body(int number) {
  std::string text = "message " + std::to_string(number) + " ";
  text.resize(1000, 'x');
  return text;
}

/// A node that holds some messages, most of them in segments, and is stopped.
class DamagedData : public ::testing::Test {
 protected:
  DamagedData() : cluster_(options()) {}

  static TestCluster::Options options() {
    TestCluster::Options options{.routers = 1, .nodes = 1, .shards = 2};
    options.yaml = std::string(kSmallFiles) + "  scrub_bytes_per_second: 64MiB\n";
    return options;
  }

  void SetUp() override {
    start();
    ConnectionOptions wanted = cluster_.connection_options();
    wanted.full_timeout = kLong;
    connection_.emplace(Connection::open(wanted).value());
    ASSERT_TRUE(connection_->admin().declare_queue("q"));
    MessageHeader header;
    header.routing_key = "q";
    for (int i = 0; i < kMessages; ++i) {
      ASSERT_TRUE(connection_->publisher().publish(header, body(i)));
    }
    ASSERT_TRUE(connection_->publisher().wait_for_confirms(kLong));
  }

  void start() {
    cluster_.start_all();
    ASSERT_TRUE(cluster_.wait_ready()) << cluster_.logs();
  }
  void start_node() {
    cluster_.start("n1");
    ASSERT_TRUE(cluster_.wait_ready()) << cluster_.logs();
  }
  void stop_node() { ASSERT_EQ(cluster_.process("n1").terminate(), 0); }

  std::string data(const std::string& name) const { return cluster_.data_dir("n1") + "/" + name; }

  static std::string content(const fs::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  static void change_byte(const fs::path& path, std::size_t at) {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(static_cast<std::streamoff>(at));
    const auto byte = static_cast<char>(file.get());
    file.seekp(static_cast<std::streamoff>(at));
    file.put(static_cast<char>(byte ^ 0x10));
  }
  /// The file below the data directory with this extension that has the text.
  std::optional<std::pair<fs::path, std::size_t>> find(const std::string& extension,
                                                       const std::string& text) const {
    for (const auto& entry : fs::recursive_directory_iterator(data("shards"))) {
      if (entry.path().extension() != extension) continue;
      const std::size_t at = content(entry.path()).find(text);
      if (at != std::string::npos) return std::pair(entry.path(), at);
    }
    return std::nullopt;
  }
  bool has_segments() const {
    for (const auto& entry : fs::recursive_directory_iterator(data("shards"))) {
      if (entry.path().extension() == ".data") return true;
    }
    return false;
  }

  std::uint64_t ready() {
    const auto status = connection_->admin().queue_status("q");
    EXPECT_TRUE(status) << status.error().to_string();
    return status ? status->ready : 0;
  }
  /// Consumes and acks messages until `wanted` have come, which may be `all` of them; their
  /// numbers.
  std::set<int> consume(std::size_t wanted, bool all = true) {
    std::set<int> numbers;
    Consumer consumer = connection_->subscribe("q").value();
    while (numbers.size() < wanted) {
      const auto delivery = consumer.next(kLong);
      EXPECT_TRUE(delivery) << "after " << numbers.size();
      if (!delivery) break;
      const int number = std::atoi(std::string(delivery->body()).c_str() + 8);
      EXPECT_EQ(delivery->body(), body(number));
      EXPECT_TRUE(numbers.insert(number).second) << number << " came twice";
      if (numbers.size() < wanted) {
        delivery->ack();
      } else {
        EXPECT_TRUE(delivery->ack_confirmed().get());
      }
    }
    if (all) {
      EXPECT_FALSE(consumer.next(std::chrono::milliseconds(50)));
    }
    consumer.close();
    return numbers;
  }
  std::string node_log() { return cluster_.process("n1").stderr_text(); }

  TestCluster cluster_;
  std::optional<Connection> connection_;
};

TEST_F(DamagedData, ADamagedMessageIsSetAsideAndTheRestOfTheQueueGoesOn) {
  stop_node();
  const auto place = find(".data", body(1'234));
  ASSERT_TRUE(place);
  change_byte(place->first, place->second + 500);
  start_node();
  EXPECT_EQ(ready(), static_cast<std::uint64_t>(kMessages));
  const std::set<int> numbers = consume(kMessages - 1);
  EXPECT_FALSE(numbers.contains(1'234));
  EXPECT_EQ(ready(), 0u);
  EXPECT_NE(node_log().find("event=message_corrupt queue=q queue_id=1 sequence=1235"),
            std::string::npos)
      << node_log();
  EXPECT_NE(node_log().find(place->first.filename()), std::string::npos);
  std::string damaged = body(1'234);
  damaged[500] ^= 0x10;
  EXPECT_NE(content(data("quarantine")).find(damaged), std::string::npos);
  // It does not come back, nor keeps it a file.
  stop_node();
  EXPECT_FALSE(has_segments());
  start_node();
  EXPECT_EQ(ready(), 0u);
  const auto cluster = connection_->admin().cluster_status();
  ASSERT_TRUE(cluster) << cluster.error().to_string();
  EXPECT_EQ(cluster->nodes.at(0).quarantined, 1u);
}

TEST_F(DamagedData, TheScrubberFindsADamagedMessageBeforeAnybodyReadsIt) {
  stop_node();
  const auto place = find(".data", body(500));
  ASSERT_TRUE(place);
  change_byte(place->first, place->second + 500);
  start_node();
  std::uint64_t found = 0;
  const auto deadline = std::chrono::steady_clock::now() + kLong;
  while (found == 0 && std::chrono::steady_clock::now() < deadline) {
    const auto nodes = connection_->admin().collect_garbage(GarbageAction::kStatus, "");
    ASSERT_TRUE(nodes) << nodes.error().to_string();
    found = nodes->at(0).scrub_found;
  }
  EXPECT_EQ(found, 1u);
  EXPECT_EQ(ready(), static_cast<std::uint64_t>(kMessages));
  EXPECT_EQ(consume(kMessages - 1).size(), static_cast<std::size_t>(kMessages - 1));
  EXPECT_EQ(ready(), 0u);
}

TEST_F(DamagedData, AnExportThatRemovesSaysWhatItDidNotGet) {
  stop_node();
  const auto place = find(".data", body(500));
  ASSERT_TRUE(place);
  change_byte(place->first, place->second + 500);
  start_node();
  Process process("segue", {"export", "q", "--remove", "-r", cluster_.endpoint("r1")});
  EXPECT_EQ(process.wait(kLong), 1) << process.stderr_text();
  EXPECT_NE(process.stderr_text().find("left out: 1 message"), std::string::npos)
      << process.stderr_text();
  EXPECT_EQ(ready(), 0u);
}

struct Ran {
  std::optional<int> code;
  std::string out;
};

Ran check(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "check");
  Process process("segue", arguments);
  const auto code = process.wait();
  return {code, process.stdout_text() + process.stderr_text()};
}

TEST_F(DamagedData, ADamagedCheckpointIsRefusedAndRepairedWhenAsked) {
  EXPECT_EQ(consume(500, false).size(), 500u);
  stop_node();
  fs::path checkpoint;
  for (const auto& entry : fs::recursive_directory_iterator(data("shards"))) {
    if (entry.path().filename() == "checkpoint" && entry.file_size() > 150) checkpoint = entry;
  }
  ASSERT_FALSE(checkpoint.empty());
  change_byte(checkpoint, 100);
  cluster_.start("n1");
  EXPECT_EQ(cluster_.process("n1").wait(), 71);
  EXPECT_NE(node_log().find(checkpoint.string()), std::string::npos) << node_log();
  EXPECT_NE(node_log().find("segue check --repair"), std::string::npos) << node_log();

  const std::string directory = cluster_.data_dir("n1");
  const Ran rehearsal = check({directory, "--repair", "--dry-run"});
  EXPECT_EQ(rehearsal.code, 2) << rehearsal.out;
  EXPECT_NE(rehearsal.out.find("would repair shards/"), std::string::npos) << rehearsal.out;
  EXPECT_EQ(check({directory}).code, 1);
  const Ran repaired = check({directory, "--repair"});
  EXPECT_EQ(repaired.code, 2) << repaired.out;
  EXPECT_NE(repaired.out.find(" 0 left to you"), std::string::npos) << repaired.out;
  EXPECT_NE(repaired.out.find("\nNo message is lost"), std::string::npos) << repaired.out;
  EXPECT_EQ(check({directory}).code, 0);

  start_node();
  EXPECT_EQ(ready(), static_cast<std::uint64_t>(kMessages - 500));
  EXPECT_EQ(consume(kMessages - 500).size(), static_cast<std::size_t>(kMessages - 500));
}

TEST_F(DamagedData, ARehearsalTellsAndExitsAsTheRepair) {
  stop_node();
  const auto place = find(".data", body(500));
  ASSERT_TRUE(place);
  change_byte(place->first, place->second + 500);
  const std::string directory = cluster_.data_dir("n1");
  Ran rehearsal = check({directory, "--repair", "--dry-run", "--json"});
  const Ran repaired = check({directory, "--repair", "--json"});
  EXPECT_EQ(rehearsal.code, 4) << rehearsal.out;
  EXPECT_EQ(repaired.code, 4) << repaired.out;
  EXPECT_NE(repaired.out.find("\"lost_messages\":1,"), std::string::npos) << repaired.out;
  const std::string mark = "\"rehearsal\":true";
  ASSERT_NE(rehearsal.out.find(mark), std::string::npos) << rehearsal.out;
  rehearsal.out.replace(rehearsal.out.find(mark), mark.size(), "\"rehearsal\":false");
  EXPECT_EQ(rehearsal.out, repaired.out);
}

TEST_F(DamagedData, WithAnOlderCheckpointARepairKeepsEveryMessage) {
  const auto checkpoint = [&] {
    std::string found;
    for (const auto& entry : fs::recursive_directory_iterator(data("shards"))) {
      if (entry.path().filename() == "checkpoint" && entry.file_size() > 150) found = entry.path();
    }
    return found;
  };
  stop_node();
  const std::string path = checkpoint();
  ASSERT_FALSE(path.empty());
  const std::string older = content(path);
  start_node();
  MessageHeader header;
  header.routing_key = "q";
  for (int i = kMessages; i < 4 * kMessages; ++i) {
    ASSERT_TRUE(connection_->publisher().publish(header, body(i)));
  }
  ASSERT_TRUE(connection_->publisher().wait_for_confirms(kLong));
  stop_node();
  std::ofstream(path, std::ios::binary | std::ios::trunc) << older;

  const std::string directory = cluster_.data_dir("n1");
  EXPECT_EQ(check({directory}).code, 1);
  const Ran repaired = check({directory, "--repair"});
  EXPECT_EQ(repaired.code, 4) << repaired.out;
  EXPECT_NE(repaired.out.find("Missing: "), std::string::npos) << repaired.out;
  start_node();
  EXPECT_EQ(ready(), static_cast<std::uint64_t>(4 * kMessages)) << repaired.out;
  EXPECT_EQ(consume(4 * kMessages).size(), static_cast<std::size_t>(4 * kMessages));
}

TEST(DamagedCatalog, OfANodeThatDoesNotLeadItIsGivenToItAgain) {
  TestCluster::Options options{.routers = 1, .nodes = 2, .shards = 4};
  options.yaml = "storage: {data_dir: \"${DATA}\"}\ntimeouts: {reconnect_max: 200ms}\n";
  TestCluster cluster(options);
  cluster.start_all();
  ASSERT_TRUE(cluster.wait_ready()) << cluster.logs();
  ConnectionOptions wanted = cluster.connection_options();
  wanted.full_timeout = kLong;
  Connection connection = Connection::open(wanted).value();
  for (const std::string name : {"q1", "q2", "q3", "q4", "q5", "q6"}) {
    ASSERT_TRUE(connection.admin().declare_queue(name));
    MessageHeader header;
    header.routing_key = name;
    ASSERT_TRUE(connection.publisher().publish(header, name));
  }
  ASSERT_TRUE(connection.publisher().wait_for_confirms(kLong));
  for (const char* const node : {"n1", "n2"}) {
    ASSERT_EQ(cluster.process(node).terminate(), 0);
    std::fstream file(cluster.data_dir(node) + "/catalog.db",
                      std::ios::in | std::ios::out | std::ios::binary);
    if (std::string(node) == "n1") continue;
    file.seekp(30);
    file.write("nonsense", 8);
  }
  cluster.start("n2");
  EXPECT_EQ(cluster.process("n2").wait(), 71);
  const Ran repaired = check({cluster.directory() + "/data", "--repair"});
  EXPECT_EQ(repaired.code, 2) << repaired.out;
  EXPECT_NE(repaired.out.find("repaired n2/catalog.db"), std::string::npos) << repaired.out;
  cluster.start("n1");
  cluster.start("n2");
  ASSERT_TRUE(cluster.wait_ready()) << cluster.logs();
  for (const std::string name : {"q1", "q2", "q3", "q4", "q5", "q6"}) {
    const auto status = connection.admin().queue_status(name);
    ASSERT_TRUE(status) << status.error().to_string();
    EXPECT_EQ(status->ready, 1u) << name;
  }
}

}  // namespace
}  // namespace segue::client
