#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "client/connection_core.h"
#include "tests/fakes/fake_router.h"

namespace segue::client {

inline constexpr std::chrono::milliseconds kLong{20'000};

/// Two fake routers, "one" and "two", and connections to them.
class ClientTest : public ::testing::Test {
 protected:
  static ConnectionOptions options() {
    ConnectionOptions options;
    options.routers = {"one", "two"};
    options.client_name = "test";
    options.heartbeat = std::chrono::seconds(10);
    options.connect_timeout = kLong;
    options.attempt_timeout = std::chrono::milliseconds(50);
    options.reconnect_min = std::chrono::milliseconds(1);
    options.reconnect_max = std::chrono::milliseconds(5);
    options.request_timeout = kLong;
    options.close_timeout = std::chrono::milliseconds(200);
    options.full_timeout = kLong;
    return options;
  }
  Result<Connection> try_open(ConnectionOptions wanted) {
    return ConnectionCore::open(std::move(wanted), [this](Wakeup& wakeup) {
      return std::make_unique<FakeTransport>(FakeNetwork{{"one", &one_}, {"two", &two_}}, wakeup);
    });
  }
  Connection open(ConnectionOptions wanted = options()) {
    Result<Connection> connection = try_open(std::move(wanted));
    if (!connection) ADD_FAILURE() << connection.error().to_string();
    return *std::move(connection);
  }
  /// Ends the current session and waits for the next one.
  void reconnect(Connection& connection, FakeRouter& router) {
    const std::uint64_t before = connection.reconnects();
    router.close(320, "the test breaks the session");
    EXPECT_TRUE(router.wait_until([&] { return connection.reconnects() > before; }));
  }
  static std::vector<std::uint64_t> seqs(const std::vector<FakeRouter::Published>& published) {
    std::vector<std::uint64_t> numbers;
    for (const auto& message : published) numbers.push_back(message.seq);
    return numbers;
  }

  FakeRouter one_;
  FakeRouter two_;
};

}  // namespace segue::client
