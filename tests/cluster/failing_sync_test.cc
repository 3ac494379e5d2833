// Real nodes whose disk fails to sync: what it left of the writes is unknown, so the node stops.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <future>
#include <string>
#include <vector>

#include "tests/fakes/test_cluster.h"

namespace segue::client {
namespace {

using std::chrono::seconds;

struct Failing {
  const char* name;
  const char* of;  // part of the path of the file whose sync fails
};

class FailingSync : public testing::TestWithParam<Failing> {
 protected:
  static constexpr std::size_t kBody = 16 << 10;
  static constexpr std::size_t kWindow = 64;
  static constexpr std::size_t kMost = 20'000;

  static TestCluster::Options options() {
    return {.nodes = 1,
            .shards = 1,
            .yaml =
                "memory_limit: 64MiB\nstorage:\n  data_dir: ${DATA}\n  wal_file_bytes: 4MiB\n"
                "  wal_reserve_bytes: 4MiB\n  checkpoint_wal_bytes: 8MiB\n"
                "  segment_bytes: 1MiB\n  free_disk_limit: 16MiB\n"
                "limits:\n  max_message_bytes: 256KiB\n  max_frame_bytes: 1MiB\n"
                "timeouts:\n  shard_unavailable_timeout: 1s\n",
            .log_level = "error"};
  }
  void SetUp() override {
    const char* options = std::getenv("ASAN_OPTIONS");
    const std::string more = options == nullptr ? "" : std::string(options) + ":";
    cluster_.start(
        "n1", {std::string("LD_PRELOAD=") + SEGUE_FAILING_SYNC, "SEGUE_TEST_SYNC_FAILS=" + order_,
               "ASAN_OPTIONS=" + more + "verify_asan_link_order=0"});
    cluster_.start("r1");
    ASSERT_TRUE(cluster_.wait_ready()) << cluster_.logs();
  }
  static std::string body(std::size_t number) {
    std::string text = std::to_string(number);
    text.resize(kBody, ' ');
    return text;
  }
  /// Publishes a window's worth, and counts what is confirmed: one after the other, without gaps,
  /// until the first that is not. False after that one.
  bool publish(Connection& connection) {
    std::vector<std::future<Result<Confirmation>>> fates;
    for (std::size_t i = 0; i < kWindow; ++i) {
      fates.push_back(
          connection.publisher().publish_confirmed(Message::to_queue("q", body(confirmed_ + i))));
    }
    return std::all_of(fates.begin(), fates.end(), [this](std::future<Result<Confirmation>>& fate) {
      if (!fate.get()) return false;
      ++confirmed_;
      return true;
    });
  }

  TestCluster cluster_{options()};
  const std::string order_ = cluster_.directory() + "/sync-fails";
  std::size_t confirmed_ = 0;
};

TEST_P(FailingSync, StopsTheNodeAndLosesNothingConfirmed) {
  Connection connection = cluster_.connect();
  ASSERT_TRUE(connection.admin().declare_queue("q"));
  ASSERT_TRUE(publish(connection)) << cluster_.logs();
  TempDir aside;
  std::filesystem::rename(aside.write("order", GetParam().of), order_);
  Process& node = cluster_.process("n1");
  const bool catalog = std::string(GetParam().of) == "/catalog.db";
  while (!node.wait(std::chrono::milliseconds(0)) && confirmed_ < kMost) {
    if (catalog) (void)connection.admin().declare_queue("q" + std::to_string(confirmed_));
    if (!publish(connection)) break;
  }
  ASSERT_EQ(node.wait(seconds(30)), 71) << confirmed_ << " confirmed\n" << cluster_.logs();
  EXPECT_NE(node.stderr_text().find(GetParam().of), std::string::npos) << node.stderr_text();

  std::filesystem::remove(order_);
  cluster_.start("n1");
  ASSERT_TRUE(cluster_.wait_ready()) << cluster_.logs();
  auto consumer = connection.subscribe("q", {.prefetch = 256});
  ASSERT_TRUE(consumer) << consumer.error().to_string();
  for (std::size_t i = 0; i < confirmed_; ++i) {
    const auto delivery = consumer.value().next(seconds(20));
    ASSERT_TRUE(delivery) << i << ": " << delivery.error().to_string() << cluster_.logs();
    ASSERT_EQ(delivery.value().body(), body(i));
    delivery.value().ack();
  }
}

INSTANTIATE_TEST_SUITE_P(Of, FailingSync,
                         testing::Values(Failing{"Log", "/wal/"}, Failing{"Data", ".data"},
                                         Failing{"Index", ".index"},
                                         Failing{"Checkpoint", "/checkpoint"},
                                         Failing{"Catalog", "/catalog.db"}),
                         [](const auto& param) { return std::string(param.param.name); });

}  // namespace
}  // namespace segue::client
