// A node whose directory lost files, while it was stopped, says so and deletes nothing.

#include <gtest/gtest.h>

#include <filesystem>
#include <optional>
#include <string>

#include "tests/fakes/test_cluster.h"

namespace segue::client {
namespace {

namespace fs = std::filesystem;
constexpr std::chrono::milliseconds kLong{60'000};
constexpr int kMessages = 4'000;

/// A node that holds some messages, and is stopped.
class LostFiles : public ::testing::Test {
 protected:
  LostFiles() : cluster_(options()) {}

  static TestCluster::Options options() {
    TestCluster::Options options{.routers = 1, .nodes = 1, .shards = 2};
    // Small, so that the log lets go of its beginning, and a queue has several segments.
    options.yaml = kSmallFiles;
    return options;
  }
  void SetUp() override {
    cluster_.start_all();
    ASSERT_TRUE(cluster_.wait_ready()) << cluster_.logs();
    ConnectionOptions wanted = cluster_.connection_options();
    wanted.full_timeout = kLong;
    connection_.emplace(Connection::open(wanted).value());
    ASSERT_TRUE(connection_->admin().declare_queue("q"));
    MessageHeader header;
    header.routing_key = "q";
    for (int i = 0; i < kMessages; ++i) {
      ASSERT_TRUE(connection_->publisher().publish(header, std::string(1000, 'x')));
    }
    ASSERT_TRUE(connection_->publisher().wait_for_confirms(kLong));
  }

  fs::path data(const std::string& name) const { return cluster_.data_dir("n1") + "/" + name; }
  fs::path kept() const { return cluster_.directory() + "/kept"; }
  void expect_refused(const std::string& reason) {
    cluster_.start("n1");
    EXPECT_EQ(cluster_.process("n1").wait(), 71);
    EXPECT_NE(cluster_.process("n1").stderr_text().find(reason), std::string::npos)
        << cluster_.process("n1").stderr_text();
  }
  std::uint64_t ready_after_start() {
    cluster_.start("n1");
    EXPECT_TRUE(cluster_.wait_ready()) << cluster_.logs();
    const auto status = connection_->admin().queue_status("q");
    EXPECT_TRUE(status) << status.error().to_string();
    return status ? status->ready : 0;
  }

  TestCluster cluster_;
  std::optional<Connection> connection_;
};

TEST_F(LostFiles, ShardsThatAreGoneAreRefusedAndComeBackWhole) {
  ASSERT_EQ(cluster_.process("n1").terminate(), 0);
  fs::rename(data("shards"), kept());
  expect_refused("checkpoint is missing");
  fs::remove_all(data("shards"));
  fs::rename(kept(), data("shards"));
  EXPECT_EQ(ready_after_start(), static_cast<std::uint64_t>(kMessages));
}

TEST_F(LostFiles, ALogThatIsGoneAfterAKillIsRefused) {
  cluster_.process("n1").kill_now();
  fs::rename(data("wal"), kept());
  expect_refused("/log_ends");
  fs::remove_all(data("wal"));
  fs::rename(kept(), data("wal"));
  EXPECT_EQ(ready_after_start(), static_cast<std::uint64_t>(kMessages));
}

TEST_F(LostFiles, ALogThatIsGoneAfterAStopIsNoLoss) {
  ASSERT_EQ(cluster_.process("n1").terminate(), 0);
  fs::remove_all(data("wal"));
  EXPECT_EQ(ready_after_start(), static_cast<std::uint64_t>(kMessages));
}

TEST_F(LostFiles, ASegmentThatIsGoneIsToldAndTheQueueGoesOnWithTheRest) {
  ASSERT_EQ(cluster_.process("n1").terminate(), 0);
  fs::path removed;
  for (const auto& entry : fs::recursive_directory_iterator(data("shards"))) {
    if (entry.path().extension() == ".data") removed = entry.path();
  }
  ASSERT_FALSE(removed.empty());
  fs::remove(removed);
  const std::uint64_t ready = ready_after_start();
  EXPECT_LT(ready, static_cast<std::uint64_t>(kMessages));
  EXPECT_GT(ready, 0u);
  const std::string lost =
      "event=messages_lost queue=q queue_id=1 messages=" + std::to_string(kMessages - ready);
  const std::string text = cluster_.process("n1").stderr_text();
  EXPECT_NE(text.find(lost), std::string::npos) << text;
  EXPECT_NE(text.find(removed.filename().string()), std::string::npos) << text;
}

}  // namespace
}  // namespace segue::client
