// Clients that come and go without a word, many of them.

#include <gtest/gtest.h>

#include <deque>
#include <optional>

#include "common/descriptor_limit.h"
#include "tests/fakes/process_figures.h"
#include "tests/fakes/sanitized.h"
#include "tests/fakes/steady_traffic.h"
#include "tests/fakes/zmtp_client.h"

namespace segue {
namespace {

class VanishingSessions : public testing::Test {
 protected:
  static constexpr int kSessions = 1000;
  static constexpr std::size_t kAtATime = 250;
  static constexpr std::uint64_t kKeptKib = 64 * 1024;

  void SetUp() override {
    cluster_.start_all();
    ASSERT_TRUE(cluster_.wait_ready()) << cluster_.logs();
    watcher_.emplace(cluster_.connect("watcher"));
    ASSERT_TRUE(watcher_->admin().declare_queue("left"));
  }

  // What a session leaves behind without saying goodbye differs from one to the next.
  bool visit(ZmtpClient& client, int number) {
    if (!client.greet() || !client.send_hello(100)) return false;
    if (number % 8 == 0) return true;  // HelloOk is not waited for
    if (!client.next().has_hello_ok()) return false;
    v1::Request request;
    switch (number % 4) {
      case 0:
        return client.publish("left", 1, 10, std::string(1000, 'x'));
      case 1:
        request.mutable_consume()->set_queue("left");
        request.mutable_consume()->set_consumer(1);
        return client.request(1, request);
      case 2:
        request.mutable_get()->set_queue("left");
        return client.request(1, request);
      default:
        request.mutable_queue_declare()->set_exclusive(true);
        return client.request(1, request);
    }
  }
  void visit_all() {
    std::deque<ZmtpClient> present;
    for (int i = 0; i < kSessions; ++i) {
      if (present.size() >= kAtATime) present.pop_front();
      ZmtpClient& client =
          present.emplace_back(cluster_.endpoint("r1"), static_cast<std::uint64_t>(i + 1));
      ASSERT_TRUE(visit(client, i)) << i << cluster_.logs();
    }
  }
  // Sessions that vanished are noticed by their silence.
  void wait_until_gone() {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    std::uint32_t sessions = 0;
    do {
      const auto status = watcher_->admin().cluster_status();
      ASSERT_TRUE(status) << status.error().to_string();
      sessions = status.value().routers.at(0).sessions;
    } while (sessions > 2 && std::chrono::steady_clock::now() < deadline);
    EXPECT_EQ(sessions, 2u) << "the watcher's and the traffic's";
  }
  ProcessFigures figures() { return ProcessFigures::of(cluster_.process("r1").pid()); }

  TestCluster cluster_{{.nodes = 1, .shards = 4}};
  std::optional<client::Connection> watcher_;
};

TEST_F(VanishingSessions, AThousandLeaveNothingInTheRouterAndOthersGoOn) {
  SteadyTraffic traffic(cluster_);
  ASSERT_TRUE(traffic.goes_on()) << traffic.failure();
  const ProcessFigures before = figures();
  visit_all();
  ASSERT_TRUE(traffic.goes_on()) << traffic.failure();
  wait_until_gone();
  const ProcessFigures after_one = figures();
  visit_all();
  wait_until_gone();
  const ProcessFigures after_two = figures();
  // Closed connections are taken off by ZeroMQ's thread, not at the very moment.
  EXPECT_LE(after_two.descriptors, before.descriptors + 2);
  // The allocator keeps some of what went through (some hundred megabytes of deliveries).
  EXPECT_LE(after_one.resident_kib, before.resident_kib + kKeptKib);
  EXPECT_LE(after_two.resident_kib, before.resident_kib + kKeptKib);
  EXPECT_TRUE(traffic.goes_on()) << traffic.failure();
  EXPECT_EQ(traffic.reconnects(), 0u);
  // Exclusive queues went with their sessions, what was unsettled is ready again.
  const auto queues = watcher_->admin().list_all_queues();
  ASSERT_TRUE(queues) << queues.error().to_string();
  EXPECT_EQ(queues.value().size(), 2u);
  for (const auto& queue : queues.value()) {
    if (queue.name != "left") continue;
    EXPECT_EQ(queue.unacked, 0u);
    EXPECT_EQ(queue.consumers, 0u);
  }
}

TEST_F(VanishingSessions, WhatManyAtOnceTookIsGivenBackToTheSystem) {
  if (kSanitized) GTEST_SKIP() << "the memory is the sanitizer's";
  constexpr std::uint64_t kAtOnce = 3000;
  constexpr std::uint64_t kLittleKib = 32 * 1024;
  ASSERT_GT(raise_descriptor_limit(), kAtOnce + 100);
  const ProcessFigures before = figures();
  {
    std::deque<ZmtpClient> present;
    for (std::uint64_t i = 1; i <= kAtOnce; ++i) {
      ASSERT_TRUE(present.emplace_back(cluster_.endpoint("r1"), i).open()) << i;
    }
    EXPECT_GT(figures().resident_kib, before.resident_kib + 2 * kLittleKib);
    v1::ClientFrame close;
    close.mutable_close();
    for (ZmtpClient& client : present) client.send(close);
  }
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (figures().resident_kib > before.resident_kib + kLittleKib &&
         std::chrono::steady_clock::now() < deadline) {
    ASSERT_TRUE(watcher_->admin().cluster_status());  // takes its time, and shows that others go on
  }
  EXPECT_LE(figures().resident_kib, before.resident_kib + kLittleKib);
}

TEST_F(VanishingSessions, MoreClientsThanTheShellsSoftLimitOfFilesFindRoom) {
  cluster_.kill("r1");
  Process router("/bin/sh", {"-c", "ulimit -Sn 64 && exec \"$0\" --config \"$1\" --id r1",
                             std::string(SEGUE_BIN_DIR) + "/segue-router", cluster_.config()});
  ASSERT_TRUE(cluster_.wait_ready()) << router.stderr_text();
  std::deque<ZmtpClient> present;
  for (std::uint64_t i = 1; i <= 200; ++i) {
    ASSERT_TRUE(present.emplace_back(cluster_.endpoint("r1"), i).open()) << i;
  }
}

}  // namespace
}  // namespace segue
