#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <map>
#include <memory>
#include <set>
#include <string>
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

  Semantics() : cluster_({.routers = 1, .nodes = 2, .shards = 4}) {}

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

  void queue(const std::string& name) {
    const auto declared = admin().declare_queue(name);
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
