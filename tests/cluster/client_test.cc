// The client library against real processes: what its users are promised holds end to end.

#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <future>
#include <map>
#include <mutex>
#include <set>
#include <thread>

#include "tests/fakes/test_cluster.h"

namespace segue::client {
namespace {

constexpr std::chrono::milliseconds kLong{60'000};

class ClientAndCluster : public ::testing::Test {
 protected:
  void start(const TestCluster::Options& options) {
    cluster_ = std::make_unique<TestCluster>(options);
    cluster_->start_all();
    ASSERT_TRUE(cluster_->wait_ready()) << cluster_->logs();
  }
  Connection connect(std::size_t window = 1'000) const {
    ConnectionOptions options = cluster_->connection_options();
    options.max_in_flight_messages = window;
    options.full_timeout = kLong;
    options.reconnect_max = std::chrono::milliseconds(200);
    options.attempt_timeout = std::chrono::milliseconds(500);
    options.heartbeat = std::chrono::milliseconds(500);
    auto connection = Connection::open(options);
    if (!connection) ADD_FAILURE() << connection.error().to_string();
    return *std::move(connection);
  }
  static void declare(Connection& connection, const std::string& queue) {
    const auto declared = connection.admin().declare_queue(queue);
    ASSERT_TRUE(declared) << declared.error().to_string();
  }

  std::unique_ptr<TestCluster> cluster_;
};

TEST_F(ClientAndCluster, EveryMessageComesBackInOrderWithItsProperties) {
  start({.routers = 1, .nodes = 1, .shards = 4});
  Connection connection = connect();
  declare(connection, "orders");
  MessageHeader header;
  header.routing_key = "orders";
  header.properties.content_type = "text/plain";
  header.properties.headers = {{"n", 7}, {"raw", Bytes{std::string("\0\xff", 2)}}};
  constexpr int kMessages = 20'000;
  for (int i = 0; i < kMessages; ++i) {
    ASSERT_TRUE(connection.publisher().publish(header, "message " + std::to_string(i)));
  }
  const Status confirmed = connection.publisher().wait_for_confirms(kLong);
  ASSERT_TRUE(confirmed) << confirmed.error().to_string();
  ConsumerOptions wanted;
  wanted.prefetch = 1'000;
  auto consumer = connection.subscribe("orders", wanted);
  ASSERT_TRUE(consumer) << consumer.error().to_string();
  int next = 0;
  while (next < kMessages) {
    const auto taken = consumer->next_batch(500, kLong);
    ASSERT_TRUE(taken) << next << ": " << taken.error().to_string();
    for (const Delivery& delivery : *taken) {
      ASSERT_EQ(delivery.body(), "message " + std::to_string(next++));
      ASSERT_FALSE(delivery.redelivered());
    }
    EXPECT_EQ((*taken)[0].routing_key(), "orders");
    EXPECT_EQ((*taken)[0].properties(), header.properties);
    if (next == kMessages) {
      const Status durable = taken->ack_confirmed().get();
      EXPECT_TRUE(durable) << durable.error().to_string();
    } else {
      taken->ack();
    }
  }
  consumer->close();
  const auto status = connection.admin().queue_status("orders");
  ASSERT_TRUE(status) << status.error().to_string();
  EXPECT_EQ(status->ready, 0u);
  EXPECT_EQ(status->unacked, 0u);
}

TEST_F(ClientAndCluster, TellsTheFateOfEachMessage) {
  start({.routers = 1, .nodes = 1, .shards = 4});
  Connection connection = connect();
  Admin& admin = connection.admin();
  declare(connection, "q");
  ASSERT_TRUE(admin.declare_exchange("topics", {.type = "topic"}));
  ASSERT_TRUE(admin.bind({.exchange = "topics", .queue = "q", .routing_key = "a.*"}));
  Publisher& publisher = connection.publisher();
  std::atomic<int> returned{0};
  publisher.on_return([&](const ReturnedMessage& message) {
    EXPECT_EQ(message.error.code, ErrorCode::kNoRoute);
    EXPECT_EQ(message.body, "lost");
    ++returned;
  });
  Message lost = Message::to_exchange("topics", "b.c", "lost");
  lost.header.mandatory = true;
  const auto routed = publisher.publish_confirmed(Message::to_exchange("topics", "a.b", "1")).get();
  ASSERT_TRUE(routed) << routed.error().to_string();
  EXPECT_FALSE(routed->unroutable);
  EXPECT_EQ(routed->durability, Durability::kSync);
  const auto unrouted = publisher.publish_confirmed(lost).get();
  ASSERT_TRUE(unrouted) << unrouted.error().to_string();
  EXPECT_TRUE(unrouted->unroutable);
  EXPECT_EQ(returned, 1);
  const auto refused = publisher.publish_confirmed(Message::to_exchange("nowhere", "", "x")).get();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kNotFound) << refused.error().to_string();
  const auto polled = connection.get("q");
  ASSERT_TRUE(polled) << polled.error().to_string();
  ASSERT_TRUE(*polled);
  EXPECT_EQ((*polled)->body(), "1");
  EXPECT_EQ((*polled)->exchange(), "topics");
  EXPECT_TRUE((*polled)->ack_confirmed().get());
  EXPECT_FALSE(*connection.get("q"));
  EXPECT_EQ(admin.find_queue("none").error().code, ErrorCode::kNotFound);
  EXPECT_EQ(connection.subscribe("none").error().code, ErrorCode::kNotFound);
  const auto cluster = admin.cluster_status();
  ASSERT_TRUE(cluster);
  EXPECT_EQ(cluster->shards.size(), 4u);
}

TEST_F(ClientAndCluster, ConfirmsAnyNumberOfSettlementsThatAreAskedForAtOnce) {
  start({.routers = 1, .nodes = 1, .shards = 2});
  Connection connection = connect();
  declare(connection, "many");
  MessageHeader header;
  header.routing_key = "many";
  constexpr int kMessages = 50'000;
  for (int i = 0; i < kMessages; ++i) {
    ASSERT_TRUE(connection.publisher().publish(header, "x"));
  }
  ASSERT_TRUE(connection.publisher().wait_for_confirms(kLong));
  ConsumerOptions wanted;
  wanted.prefetch = kMessages;
  Consumer consumer = connection.subscribe("many", wanted).value();
  std::vector<Delivery> held;
  while (held.size() < kMessages) {
    const auto delivery = consumer.next(kLong);
    ASSERT_TRUE(delivery) << delivery.error().to_string();
    held.push_back(*delivery);
  }
  std::vector<std::future<Status>> settled;
  for (const Delivery& delivery : held) settled.push_back(delivery.ack_confirmed());
  for (std::future<Status>& one : settled) {
    const Status status = one.get();
    ASSERT_TRUE(status) << status.error().to_string();
  }
  EXPECT_EQ(connection.reconnects(), 0u);
  const auto counts = connection.admin().queue_status("many");
  ASSERT_TRUE(counts);
  EXPECT_EQ(counts->ready + counts->unacked, 0u);
}

TEST_F(ClientAndCluster, RequeuesWhatAConsumerLeftBehind) {
  start({.routers = 1, .nodes = 1, .shards = 4});
  Connection connection = connect();
  declare(connection, "q");
  for (int i = 0; i < 10; ++i) {
    ASSERT_TRUE(connection.publisher().publish(Message::to_queue("q", std::to_string(i))));
  }
  ASSERT_TRUE(connection.publisher().wait_for_confirms(kLong));
  {
    auto consumer = connection.subscribe("q");
    ASSERT_TRUE(consumer);
    const auto first = consumer->next(kLong);
    ASSERT_TRUE(first);
    first->ack();
  }
  auto consumer = connection.subscribe("q");
  ASSERT_TRUE(consumer);
  for (int i = 1; i < 10; ++i) {
    const auto delivery = consumer->next(kLong);
    ASSERT_TRUE(delivery) << delivery.error().to_string();
    EXPECT_EQ(delivery->body(), std::to_string(i));
    delivery->ack();
  }
}

TEST_F(ClientAndCluster, LeavesAKilledRouterAtOnceAndWaitsForNoneThatRefuses) {
  start({.routers = 2, .nodes = 1, .shards = 4});
  ConnectionOptions options = cluster_->connection_options();
  options.routers.insert(options.routers.begin(), "tcp://127.0.0.1:1");
  // Times that this test would not live to see.
  options.attempt_timeout = std::chrono::hours(1);
  options.heartbeat = std::chrono::minutes(5);
  std::promise<void> reconnected;
  options.on_state = [&, sessions = 0](ConnectionState state, const auto&) mutable {
    if (state == ConnectionState::kConnected && ++sessions == 2) reconnected.set_value();
  };
  auto connection = Connection::open(options);
  ASSERT_TRUE(connection) << connection.error().to_string();
  ASSERT_EQ(connection->server()->router_id, "r1");
  cluster_->kill("r1");
  ASSERT_EQ(reconnected.get_future().wait_for(kLong), std::future_status::ready);
  EXPECT_EQ(connection->server()->router_id, "r2");
}

TEST_F(ClientAndCluster, NothingIsLostOrDoubledWhenRoutersAndNodesDie) {
  start({.routers = 2, .nodes = 2, .shards = 4});
  Connection publishing = connect(200);
  Connection consuming = connect();
  std::vector<std::string> queues;
  for (int i = 0; i < 6; ++i) queues.push_back("q" + std::to_string(i));
  for (const std::string& queue : queues) declare(publishing, queue);
  constexpr int kMessages = 12'000;
  std::atomic<bool> published{false};
  std::thread publisher([&] {
    for (int i = 0; i < kMessages; ++i) {
      const auto seq = publishing.publisher().publish(
          Message::to_queue(queues[static_cast<std::size_t>(i) % 6], std::to_string(i)));
      if (!seq) {
        ADD_FAILURE() << seq.error().to_string();
        break;
      }
    }
    const Status confirmed = publishing.publisher().wait_for_confirms(kLong);
    if (!confirmed) ADD_FAILURE() << confirmed.error().to_string();
    published = true;
  });
  // What came of each queue. First deliveries keep the order; a redelivery may come after younger
  // messages: the node gives those to the new consumer before it misses the old one's router.
  struct Came {
    std::set<int> numbers;
    int last = -1;  // of the first deliveries
  };
  std::mutex mutex;
  std::condition_variable arrived;
  std::map<std::string, Came> seen;
  std::size_t count = 0;
  std::vector<Consumer> consumers;
  for (const std::string& queue : queues) {
    auto consumer = consuming.subscribe(queue, {}, [&, queue](const Delivery& delivery) {
      const int number = std::stoi(std::string(delivery.body()));
      {
        const std::lock_guard lock(mutex);
        Came& came = seen[queue];
        if (!delivery.redelivered()) {
          EXPECT_GT(number, came.last) << queue;
          came.last = number;
        }
        const bool is_new = came.numbers.insert(number).second;
        EXPECT_TRUE(is_new || delivery.redelivered()) << queue << " " << number;
        if (is_new) ++count;
      }
      arrived.notify_all();
      delivery.ack();
    });
    ASSERT_TRUE(consumer) << consumer.error().to_string();
    consumers.push_back(*std::move(consumer));
  }
  const auto seen_count = [&] {
    const std::lock_guard lock(mutex);
    return count;
  };
  const auto wait_for = [&](std::size_t messages) {
    const auto deadline = std::chrono::steady_clock::now() + kLong;
    while (seen_count() < messages && std::chrono::steady_clock::now() < deadline) {
      std::unique_lock lock(mutex);
      arrived.wait_for(lock, std::chrono::milliseconds(100), [&] { return count >= messages; });
      lock.unlock();
      cluster_->check();
    }
    EXPECT_GE(seen_count(), messages) << cluster_->logs();
  };
  wait_for(1'500);
  cluster_->kill("r1");
  cluster_->start("r1");
  wait_for(4'000);
  cluster_->kill("n1");
  cluster_->start("n1");
  wait_for(7'000);
  cluster_->kill("r1");
  cluster_->start("r1");
  cluster_->kill("r2");
  cluster_->start("r2");
  wait_for(kMessages);
  publisher.join();
  consumers.clear();
  for (const std::string& queue : queues) {
    EXPECT_EQ(seen[queue].numbers.size(), static_cast<std::size_t>(kMessages / 6)) << queue;
    const auto status = publishing.admin().queue_status(queue);
    ASSERT_TRUE(status) << status.error().to_string();
    EXPECT_EQ(status->ready, 0u) << queue;
  }
  EXPECT_GT(publishing.reconnects() + consuming.reconnects(), 0u);
}

}  // namespace
}  // namespace segue::client
