#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <map>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "tests/fakes/test_cluster.h"

namespace segue::client {

/// A router and two nodes, and what tests of messaging semantics do with them. A test's name begins
/// with the number of its line in docs/semantics.md.
class Semantics : public ::testing::Test {
 protected:
  static constexpr std::chrono::milliseconds kLong{60'000};

  /// What became of a publish.
  struct Fate {
    bool confirmed = false;
    bool unroutable = false;
    bool returned = false;  // before it was confirmed
    ErrorCode error = ErrorCode::kInternalError;
    std::string text;
  };

  Semantics() : Semantics("") {}
  /// `yaml`: more of the configuration.
  explicit Semantics(const std::string& yaml)
      : cluster_({.routers = 1, .nodes = 2, .shards = 4, .yaml = yaml}) {}

  void SetUp() override {
    cluster_.start_all();
    ASSERT_TRUE(cluster_.wait_ready()) << cluster_.logs();
    connection_ = std::make_unique<Connection>(cluster_.connect());
    connection_->publisher().on_return(
        [this](const ReturnedMessage& returned) { returned_[returned.seq] = returned.body; });
  }

  Admin& admin() { return connection_->admin(); }
  TestCluster& cluster() { return cluster_; }
  Connection& connection() { return *connection_; }

  void queue(const std::string& name, const Table& arguments = {}, bool durable = true) {
    QueueOptions options;
    options.arguments = arguments;
    options.durable = durable;
    const auto declared = admin().declare_queue(name, options);
    ASSERT_TRUE(declared) << declared.error().to_string();
  }
  /// The queue has these arguments from now on.
  void update(const std::string& name, const Table& arguments) {
    QueueOptions options;
    options.arguments = arguments;
    options.update = true;
    const auto declared = admin().declare_queue(name, options);
    ASSERT_TRUE(declared) << declared.error().to_string();
  }
  void exchange(const std::string& name, const std::string& type, const Table& arguments = {}) {
    ExchangeOptions options;
    options.type = type;
    options.arguments = arguments;
    const Status declared = admin().declare_exchange(name, options);
    ASSERT_TRUE(declared) << declared.error().to_string();
  }
  void bind(const Binding& binding) {
    const Status bound = admin().bind(binding);
    ASSERT_TRUE(bound) << bound.error().to_string();
  }
  /// A binding to an exchange.
  static Binding onward(const std::string& from, const std::string& to, const std::string& key) {
    Binding binding{from, "", key};
    binding.to_exchange = to;
    return binding;
  }

  /// Publishes and waits for the message's fate.
  Fate publish(const std::string& to, const std::string& key, const std::string& body,
               const Table& headers = {}) {
    Message message = Message::to_exchange(to, key, body);
    message.header.mandatory = true;
    message.header.properties.headers = headers;
    return publish(std::move(message));
  }
  Fate publish(Message message) {
    const std::uint64_t seq = connection_->publisher().next_seq();
    const auto settled = connection_->publisher().publish_confirmed(std::move(message)).get();
    Fate fate;
    fate.confirmed = static_cast<bool>(settled);
    if (settled) {
      fate.unroutable = settled->unroutable;
    } else {
      fate.error = settled.error().code;
      fate.text = settled.error().text;
    }
    fate.returned = returned_.contains(seq);
    return fate;
  }
  /// The fate of one that a queue took.
  void publish_routed(const std::string& to, const std::string& key, const std::string& body,
                      const Table& headers = {}) {
    const Fate fate = publish(to, key, body, headers);
    EXPECT_TRUE(fate.confirmed) << body << ": " << fate.text;
    EXPECT_FALSE(fate.unroutable) << body;
    EXPECT_FALSE(fate.returned) << body;
  }
  void publish_unrouted(const std::string& to, const std::string& key, const std::string& body,
                        const Table& headers = {}) {
    const Fate fate = publish(to, key, body, headers);
    EXPECT_TRUE(fate.confirmed) << body << ": " << fate.text;
    EXPECT_TRUE(fate.unroutable) << body;
    EXPECT_TRUE(fate.returned) << body;
  }

  /// Waits until the condition holds for the queue's numbers, and gives these.
  template <typename Condition>
  QueueDescription wait_for(const std::string& queue, Condition condition) {
    const auto deadline = std::chrono::steady_clock::now() + kLong;
    while (std::chrono::steady_clock::now() < deadline) {
      const auto status = admin().queue_status(queue);
      if (status && status->available && condition(*status)) return *status;
      std::this_thread::yield();
    }
    ADD_FAILURE() << queue << " does not come to what was expected\n" << cluster().logs();
    return {};
  }
  void wait_for_ready(const std::string& queue, std::uint64_t count) {
    wait_for(queue, [=](const QueueDescription& status) { return status.ready == count; });
  }
  /// Waits until there is no such queue.
  bool is_gone(const std::string& queue) {
    const auto deadline = std::chrono::steady_clock::now() + kLong;
    while (admin().queue_status(queue) && std::chrono::steady_clock::now() < deadline) {
    }
    return admin().queue_status(queue).error().code == ErrorCode::kNotFound;
  }
  /// Takes the next message of the queue, waiting for it.
  Delivery next_of(const std::string& from) {
    const auto deadline = std::chrono::steady_clock::now() + kLong;
    while (std::chrono::steady_clock::now() < deadline) {
      auto got = connection().get(from, false);
      EXPECT_TRUE(got) << got.error().to_string();
      if (got && *got) return **got;
      std::this_thread::yield();
    }
    throw std::runtime_error("nothing comes to " + from + "\n" + cluster().logs());
  }
  void crash_nodes() {
    for (const std::string& id : cluster().node_ids()) cluster().kill(id);
    for (const std::string& id : cluster().node_ids()) cluster().start(id);
    ASSERT_TRUE(cluster().wait_ready()) << cluster().logs();
  }

  /// Takes everything that is in the queue now.
  std::vector<std::string> take(const std::string& from) {
    std::vector<std::string> bodies;
    while (true) {
      const auto got = connection_->get(from, true);
      EXPECT_TRUE(got) << from << ": " << (got ? "" : got.error().to_string());
      if (!got || !*got) return bodies;
      bodies.emplace_back((*got)->body());
    }
  }

 private:
  TestCluster cluster_;
  std::unique_ptr<Connection> connection_;
  std::map<std::uint64_t, std::string> returned_;  // bodies by seq
};

using Bodies = std::vector<std::string>;

}  // namespace segue::client
