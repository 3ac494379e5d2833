// A disk that is really full: a small file system of the test's own. Needs the right to mount.

#include <gtest/gtest.h>
#include <sys/mount.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "tests/fakes/test_cluster.h"

namespace segue {
namespace {

using std::chrono::seconds;

/// A tmpfs; unmounted when the object goes.
class SmallDisk {
 public:
  explicit SmallDisk(int mebibytes) {
    const std::string options = "size=" + std::to_string(mebibytes) + "m";
    if (mount("segue-test", directory_.path().c_str(), "tmpfs", 0, options.c_str()) == 0) {
      mounted_ = true;
    } else {
      problem_ = std::strerror(errno);
    }
  }
  ~SmallDisk() {
    if (mounted_) umount2(directory_.path().c_str(), MNT_DETACH);
  }
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;

  bool mounted() const { return mounted_; }
  const std::string& problem() const { return problem_; }
  const std::string& path() const { return directory_.path(); }
  std::uint64_t free_bytes() const { return std::filesystem::space(path()).available; }

 private:
  TempDir directory_;
  bool mounted_ = false;
  std::string problem_;
};

class FullDisk : public testing::Test {
 protected:
  static constexpr int kDiskMiB = 96;
  static constexpr std::size_t kBody = 64 << 10;

  void SetUp() override {
    if (!disk_.mounted()) GTEST_SKIP() << "no right to mount a file system: " << disk_.problem();
  }
  void start(const std::string& free_disk_limit) {
    cluster_ = std::make_unique<TestCluster>(TestCluster::Options{
        .nodes = 1,
        .shards = 2,
        .yaml = "memory_limit: 64MiB\nstorage:\n  data_dir: " + disk_.path() +
                "/data\n  wal_file_bytes: 4MiB\n  wal_reserve_bytes: 4MiB\n"
                "  checkpoint_wal_bytes: 8MiB\n  segment_bytes: 2MiB\n  free_disk_limit: " +
                free_disk_limit +
                "\nlimits:\n  max_message_bytes: 256KiB\n  max_frame_bytes: 1MiB\n"
                "  publish_credit_bytes: 1MiB\n"
                "timeouts:\n  shard_unavailable_timeout: 5s\n",
        .log_level = "error"});
    cluster_->start_all();
    ASSERT_TRUE(cluster_->wait_ready()) << cluster_->logs();
    connection_.emplace(cluster_->connect());
    ASSERT_TRUE(connection_->admin().declare_queue("q"));
  }
  // Publishes one message; false when it was rejected, for lack of space.
  bool publish() {
    std::string body = std::to_string(published_);
    body.resize(kBody, ' ');
    const auto fate =
        connection_->publisher().publish_confirmed(client::Message::to_queue("q", body)).get();
    if (fate) {
      ++published_;
      return true;
    }
    rejection_ = fate.error().to_string();
    EXPECT_EQ(fate.error().code, client::ErrorCode::kShardBlocked) << rejection_;
    return false;
  }
  void fill() {
    // More than there is room for.
    const std::uint64_t most = static_cast<std::uint64_t>(kDiskMiB) * 1024 * 1024 / kBody * 2;
    for (std::uint64_t i = 0; i < most; ++i) {
      if (!publish()) return;
    }
    FAIL() << "the disk never was full";
  }
  // Consumes `count` messages, in order, and waits until that is durable.
  void consume(std::uint64_t count) {
    auto consumer = connection_->subscribe("q", {.prefetch = 32});
    ASSERT_TRUE(consumer) << consumer.error().to_string();
    for (std::uint64_t i = 0; i < count; ++i) {
      const auto delivery = consumer.value().next(seconds(20));
      ASSERT_TRUE(delivery) << consumed_ << ": " << delivery.error().to_string() << "\n"
                            << cluster_->logs();
      ASSERT_EQ(std::stoull(std::string(delivery.value().body().substr(0, 20))), consumed_);
      ++consumed_;
      if (i + 1 < count) {
        delivery.value().ack();
      } else {
        const auto acked = delivery.value().ack_confirmed().get();
        ASSERT_TRUE(acked) << acked.error().to_string();
      }
    }
  }
  // Space comes back by what was consumed, with nothing done from outside.
  void expect_healed() {
    const auto deadline = std::chrono::steady_clock::now() + seconds(60);
    while (!publish()) {
      ASSERT_LT(std::chrono::steady_clock::now(), deadline)
          << rejection_ << "; free: " << disk_.free_bytes() << "\n"
          << cluster_->logs();
    }
    EXPECT_TRUE(cluster_->check().empty()) << cluster_->logs();
  }
  std::uint64_t ready() { return connection_->admin().queue_status("q").value().ready; }

  SmallDisk disk_{kDiskMiB};
  std::unique_ptr<TestCluster> cluster_;
  std::optional<client::Connection> connection_;
  std::uint64_t published_ = 0;
  std::uint64_t consumed_ = 0;
  std::string rejection_;
};

TEST_F(FullDisk, ConsumingAloneHealsANodeThatKeptItsLimit) {
  ASSERT_NO_FATAL_FAILURE(start("16MiB"));
  for (int round = 0; round < 3; ++round) {
    ASSERT_NO_FATAL_FAILURE(fill());
    EXPECT_NE(rejection_.find("disk"), std::string::npos) << rejection_;
    ASSERT_NO_FATAL_FAILURE(consume(ready()));
    ASSERT_NO_FATAL_FAILURE(expect_healed());
  }
}

TEST_F(FullDisk, ConsumingAloneHealsADiskFilledToTheLastByte) {
  ASSERT_NO_FATAL_FAILURE(start("0"));
  for (int round = 0; round < 3; ++round) {
    ASSERT_NO_FATAL_FAILURE(fill());
    ASSERT_NO_FATAL_FAILURE(consume(ready()));
    ASSERT_NO_FATAL_FAILURE(expect_healed());
  }
}

TEST_F(FullDisk, ANodeKilledAtTheFullMomentStartsAgainAndIsDrained) {
  ASSERT_NO_FATAL_FAILURE(start("0"));
  for (int round = 0; round < 3; ++round) {
    ASSERT_NO_FATAL_FAILURE(fill());
    cluster_->kill("n1");
    cluster_->start("n1");
    ASSERT_TRUE(cluster_->wait_ready()) << cluster_->logs();
    // Rejected ones may have been stored, so there can be more than were confirmed, not fewer.
    EXPECT_GE(ready(), published_ - consumed_);
    ASSERT_NO_FATAL_FAILURE(consume(published_ - consumed_));
    ASSERT_TRUE(connection_->admin().purge_queue("q"));
    ASSERT_NO_FATAL_FAILURE(expect_healed());
  }
}

}  // namespace
}  // namespace segue
