// Clients that do not keep up: they take nothing off the wire, or settle nothing. Memory of router
// and node stays bounded and the others go on.

#include <gtest/gtest.h>

#include <deque>
#include <optional>
#include <string>

#include "common/status.h"
#include "tests/fakes/process_figures.h"
#include "tests/fakes/steady_traffic.h"
#include "tests/fakes/zmtp_client.h"

namespace segue {
namespace {

constexpr std::uint64_t kMiB = 1024;  // in KiB

class SlowClients : public testing::Test {
 protected:
  static constexpr std::size_t kLarge = 256 << 10;

  void SetUp() override {
    cluster_.start_all();
    ASSERT_TRUE(cluster_.wait_ready()) << cluster_.logs();
    auto options = cluster_.connection_options("filler");
    options.full_timeout = std::chrono::seconds(60);
    options.max_in_flight_messages = 10'000;
    filler_.emplace(client::Connection::open(options).value());
    traffic_.emplace(cluster_);
    ASSERT_TRUE(traffic_->goes_on()) << traffic_->failure();
    router_before_ = figures("r1");
  }
  void TearDown() override {
    EXPECT_TRUE(traffic_->goes_on()) << traffic_->failure();
    EXPECT_EQ(traffic_->reconnects(), 0u);
    EXPECT_TRUE(cluster_.check().empty()) << cluster_.logs();
  }
  ProcessFigures figures(const std::string& id) {
    return ProcessFigures::of(cluster_.process(id).pid());
  }
  void expect_router_grew_at_most(std::uint64_t kib) {
    EXPECT_LE(figures("r1").peak_kib, router_before_.resident_kib + kib);
  }
  void fill(const std::string& queue, std::size_t count, std::size_t size) {
    ASSERT_TRUE(filler_->admin().declare_queue(queue));
    const auto header = client::PreparedHeader::to_queue(queue);
    const std::string body(size, 'x');
    for (std::size_t i = 0; i < count; ++i) {
      ASSERT_TRUE(filler_->publisher().publish(header, body));
    }
    const auto confirmed = filler_->publisher().wait_for_confirms(std::chrono::seconds(60));
    ASSERT_TRUE(confirmed) << confirmed.error().to_string();
  }
  std::uint64_t ready(const std::string& queue) {
    return filler_->admin().queue_status(queue).value().ready;
  }

  // What is on its way to a node takes an eighth of its memory, or a message of the largest size.
  static constexpr const char* kLimits =
      "memory_limit: 64MiB\nlimits: {max_message_bytes: 4MiB, max_frame_bytes: 8MiB}\n";
  explicit SlowClients(const std::string& yaml = kLimits)
      : cluster_({.nodes = 1, .shards = 4, .yaml = yaml}) {}

  TestCluster cluster_;
  std::optional<client::Connection> filler_;
  std::optional<SteadyTraffic> traffic_;
  ProcessFigures router_before_;
};

TEST_F(SlowClients, AConsumerThatNeverReadsGetsNoMoreThanItsWindow) {
  fill("large", 800, kLarge);  // 200 MiB
  ZmtpClient client(cluster_.endpoint("r1"));
  ASSERT_TRUE(client.open(600'000));
  v1::Request request;
  request.mutable_consume()->set_queue("large");
  request.mutable_consume()->set_consumer(1);
  request.mutable_consume()->set_no_ack(true);
  ASSERT_TRUE(client.request(1, request));
  ASSERT_TRUE(traffic_->goes_on(100)) << traffic_->failure();
  // The window is 16 MiB.
  EXPECT_GE(ready("large"), 720u);
  expect_router_grew_at_most(80 * kMiB);
}

TEST_F(SlowClients, ManyConsumersOfASessionThatNeverReadsShareAWindow) {
  fill("large", 1600, kLarge);  // 400 MiB
  ZmtpClient client(cluster_.endpoint("r1"));
  ASSERT_TRUE(client.open(600'000));
  for (std::uint64_t number = 1; number <= 100; ++number) {
    v1::Request request;
    request.mutable_consume()->set_queue("large");
    request.mutable_consume()->set_consumer(number);
    ASSERT_TRUE(client.request(number, request));
  }
  ASSERT_TRUE(traffic_->goes_on(100)) << traffic_->failure();
  expect_router_grew_at_most(200 * kMiB);
}

class SlowClientsOfARouter : public SlowClients {
 protected:
  SlowClientsOfARouter()
      : SlowClients("memory_limit: 64MiB\nlimits:\n  router_delivery_bytes: 64MiB\n") {}
};

TEST_F(SlowClientsOfARouter, ManySessionsThatNeverReadShareABudgetAndOthersGoOn) {
  fill("large", 1600, kLarge);  // 400 MiB
  fill("other", 200, kLarge);   // 50 MiB
  std::deque<ZmtpClient> clients;
  for (int i = 0; i < 60; ++i) {
    ZmtpClient& client = clients.emplace_back(cluster_.endpoint("r1"));
    ASSERT_TRUE(client.open(600'000));
    v1::Request request;
    request.mutable_consume()->set_queue("large");
    request.mutable_consume()->set_consumer(1);
    request.mutable_consume()->set_no_ack(true);
    ASSERT_TRUE(client.request(1, request));
  }
  ASSERT_TRUE(traffic_->goes_on(100)) << traffic_->failure();
  // One that reads gets everything.
  auto consumer = filler_->subscribe("other", {.prefetch = 10});
  ASSERT_TRUE(consumer) << consumer.error().to_string();
  for (std::size_t taken = 0; taken < 200;) {
    auto batch = consumer.value().next_batch(10, std::chrono::seconds(20));
    ASSERT_TRUE(batch) << taken << ": " << batch.error().to_string();
    taken += batch.value().size();
    batch.value().ack();
  }
  EXPECT_GE(ready("large"), 1600u - 64 * 4 - 60);
  // The clients' own buffers and the wire's are beside the budget.
  expect_router_grew_at_most(120 * kMiB);
}

TEST_F(SlowClients, PollingWithoutReadingEndsTheSession) {
  fill("large", 1600, kLarge);  // 400 MiB
  ZmtpClient client(cluster_.endpoint("r1"));
  ASSERT_TRUE(client.open(600'000));
  v1::Request request;
  request.mutable_get()->set_queue("large");
  for (std::uint64_t number = 1; number <= 2000; ++number) {
    if (!client.request(number, request)) break;
  }
  ASSERT_TRUE(traffic_->goes_on(100)) << traffic_->failure();
  expect_router_grew_at_most(160 * kMiB);
  client.vanish();
}

TEST_F(SlowClients, ReturnsThatNobodyReadsEndTheSession) {
  ZmtpClient client(cluster_.endpoint("r1"));
  ASSERT_TRUE(client.open(600'000));
  for (std::uint64_t seq = 1; seq <= 1600; ++seq) {
    v1::ClientFrame frame;
    frame.mutable_publish()->set_first_seq(seq);
    v1::MessageBatch& batch = *frame.mutable_publish()->mutable_batch();
    batch.add_headers()->set_routing_key("nowhere");
    batch.mutable_headers(0)->set_mandatory(true);
    batch.add_sizes(kLarge);
    if (!client.send(frame, std::string(kLarge, 'r'))) break;
  }
  ASSERT_TRUE(traffic_->goes_on(100)) << traffic_->failure();
  expect_router_grew_at_most(160 * kMiB);
}

TEST_F(SlowClients, AConsumerThatNeverAcksCostsTheNodeNoMoreThanItsLimit) {
  const std::uint64_t count = 300'000;
  fill("backlog", count, 1024);
  auto consumer = filler_->subscribe("backlog", {.prefetch = 0});
  ASSERT_TRUE(consumer) << consumer.error().to_string();
  std::uint64_t taken = 0;
  while (taken < count) {
    const auto batch = consumer.value().next_batch(10'000, std::chrono::seconds(20));
    ASSERT_TRUE(batch) << taken << ": " << batch.error().to_string();
    taken += batch.value().size();
  }
  EXPECT_LE(figures("n1").peak_kib, 64 * kMiB);
  expect_router_grew_at_most(80 * kMiB);
  ASSERT_TRUE(traffic_->goes_on()) << traffic_->failure();
  // All of it is still there.
  consumer.value().close();
  EXPECT_TRUE(filler_->close());
  filler_.emplace(cluster_.connect("filler"));
  EXPECT_EQ(ready("backlog"), count);
}

}  // namespace
}  // namespace segue
