#include "segue/connection.h"

#include <mutex>

#include "tests/client/client_fixture.h"

namespace segue::client {
namespace {

using Connecting = ClientTest;

TEST_F(Connecting, SaysWhoItIsAndKnowsTheRouter) {
  ConnectionOptions wanted = options();
  wanted.vhost = "v";
  wanted.producer_id = "me";
  Connection connection = open(wanted);
  ASSERT_EQ(one_.hellos().size(), 1u);
  const v1::Hello hello = one_.hellos()[0];
  EXPECT_EQ(hello.protocol_version(), 1u);
  EXPECT_EQ(hello.client_name(), "test");
  EXPECT_EQ(hello.producer_id(), "me");
  EXPECT_EQ(hello.vhost(), "v");
  EXPECT_EQ(hello.heartbeat_ms(), 10'000u);
  EXPECT_EQ(connection.state(), ConnectionState::kConnected);
  ASSERT_TRUE(connection.server());
  EXPECT_EQ(connection.server()->router_id, "r1");
  EXPECT_EQ(connection.server()->endpoint, "one");
  EXPECT_TRUE(connection.close());
  EXPECT_TRUE(one_.closed_by_client());
  EXPECT_EQ(connection.state(), ConnectionState::kClosed);
  EXPECT_TRUE(connection.close());
}

TEST_F(Connecting, DrawsAProducerIdOfItsOwn) {
  Connection first = open();
  ConnectionOptions other = options();
  other.routers = {"two"};
  Connection second = open(other);
  EXPECT_EQ(first.publisher().producer_id().size(), 16u);
  EXPECT_NE(first.publisher().producer_id(), second.publisher().producer_id());
}

TEST_F(Connecting, TriesTheNextRouterWhenOneDoesNotAnswer) {
  one_.edit([](auto& behaviour) { behaviour.up = false; });
  Connection connection = open();
  EXPECT_EQ(connection.server()->endpoint, "two");
}

TEST_F(Connecting, GoesOnAtOnceWhereNobodyListens) {
  one_.edit([](auto& behaviour) {
    behaviour.up = false;
    behaviour.refuse = true;
  });
  std::mutex mutex;
  std::vector<std::string> failed;
  ConnectionOptions wanted = options();
  wanted.attempt_timeout = kLong;
  wanted.on_attempt_failed = [&](const std::string& router, const Error& why) {
    const std::lock_guard lock(mutex);
    failed.push_back(router + ": " + why.text);
  };
  {
    Connection connection = open(wanted);
    EXPECT_EQ(connection.server()->endpoint, "two");
  }
  EXPECT_EQ(failed, std::vector<std::string>{"one: nothing listens there"});
}

TEST_F(Connecting, LeavesARouterWhoseConnectionEnded) {
  Connection connection = open();
  ASSERT_EQ(connection.server()->endpoint, "one");
  one_.edit([](auto& behaviour) {
    behaviour.up = false;
    behaviour.refuse = true;
  });
  one_.send_raw({});  // wakes the client
  EXPECT_TRUE(two_.wait_until([&] { return !two_.hellos().empty(); }));
}

TEST_F(Connecting, SaysWhatEachRouterSaidWhenAllRefuse) {
  const auto refuse = [](auto& behaviour) {
    behaviour.refusal.set_code(403);
    behaviour.refusal.set_text("no vhost 'v'");
  };
  one_.edit(refuse);
  two_.edit(refuse);
  const Result<Connection> connection = try_open(options());
  ASSERT_FALSE(connection);
  EXPECT_EQ(connection.error().code, ErrorCode::kDisconnected);
  EXPECT_NE(connection.error().text.find("one: ACCESS_REFUSED: no vhost 'v'"), std::string::npos)
      << connection.error().text;
  EXPECT_NE(connection.error().text.find("two: "), std::string::npos);
}

TEST_F(Connecting, GivesUpAfterTheTimeoutWhenNobodyAnswers) {
  one_.edit([](auto& behaviour) { behaviour.up = false; });
  ConnectionOptions wanted = options();
  wanted.routers = {"one"};
  wanted.connect_timeout = std::chrono::milliseconds(120);
  const Result<Connection> connection = try_open(wanted);
  ASSERT_FALSE(connection);
  EXPECT_EQ(connection.error().code, ErrorCode::kDisconnected);
  EXPECT_NE(connection.error().text.find("did not answer"), std::string::npos);
}

TEST_F(Connecting, RefusesAnUnusableEndpointAtOnce) {
  ConnectionOptions wanted = options();
  wanted.routers = {"nowhere"};
  const Result<Connection> connection = try_open(wanted);
  ASSERT_FALSE(connection);
  EXPECT_NE(connection.error().text.find("no such endpoint"), std::string::npos);
}

TEST_F(Connecting, RefusesOptionsThatMakeNoSense) {
  const auto refused = [&](const std::function<void(ConnectionOptions&)>& change) {
    ConnectionOptions wanted = options();
    change(wanted);
    const Result<Connection> connection = try_open(wanted);
    return connection ? "" : connection.error().entity;
  };
  EXPECT_EQ(refused([](auto& o) { o.routers.clear(); }), "routers");
  EXPECT_EQ(refused([](auto& o) { o.producer_id = std::string(65, 'p'); }), "producer_id");
  EXPECT_EQ(refused([](auto& o) { o.first_seq = 0; }), "first_seq");
  EXPECT_EQ(refused([](auto& o) { o.heartbeat = {}; }), "heartbeat");
  EXPECT_EQ(refused([](auto& o) { o.attempt_timeout = {}; }), "attempt_timeout");
  EXPECT_EQ(refused([](auto& o) { o.reconnect_min = {}; }), "reconnect_min");
  EXPECT_EQ(refused([](auto& o) { o.max_in_flight_messages = 0; }), "max_in_flight_messages");
  EXPECT_EQ(refused([](auto& o) { o.max_batch_messages = 0; }), "max_batch_messages");
  EXPECT_EQ(refused([](auto& o) { o.client_name = "\xff"; }), "client_name");
}

TEST_F(Connecting, ReconnectsAndTellsTheStates) {
  std::mutex mutex;
  std::vector<std::string> seen;
  ConnectionOptions wanted = options();
  wanted.on_state = [&](ConnectionState state, const std::optional<Error>& why) {
    const std::lock_guard lock(mutex);
    seen.push_back(state == ConnectionState::kConnected ? "connected"
                   : state == ConnectionState::kClosed  ? "closed"
                                                        : "lost: " + why->text);
  };
  {
    Connection connection = open(wanted);
    reconnect(connection, one_);
    EXPECT_EQ(connection.reconnects(), 1u);
  }
  EXPECT_EQ(seen, (std::vector<std::string>{"connected", "lost: the test breaks the session",
                                            "connected", "closed"}));
}

TEST_F(Connecting, LeavesARouterThatFellSilent) {
  const auto quick = [](auto& behaviour) { behaviour.hello_ok.set_heartbeat_ms(40); };
  one_.edit(quick);
  Connection connection = open();
  EXPECT_TRUE(one_.wait_until([&] { return connection.reconnects() > 0; }));
}

TEST_F(Connecting, LeavesARouterWhoseFramesWereLost) {
  Connection connection = open();
  v1::RouterFrame frame;
  frame.mutable_link()->set_epoch(1);
  frame.mutable_heartbeat();
  one_.send_raw(frame.SerializeAsString());  // another epoch: ignored
  // The fake counts on, so a frame that skips one is a gap.
  EXPECT_EQ(connection.reconnects(), 0u);
  reconnect(connection, one_);
}

TEST_F(Connecting, ShowsWhetherPublishingIsBlocked) {
  std::atomic<int> told{0};
  ConnectionOptions wanted = options();
  wanted.on_blocked = [&](const BlockedState&) { ++told; };
  Connection connection = open(wanted);
  v1::RouterFrame blocked;
  blocked.mutable_blocked()->add_shards(7);
  blocked.mutable_blocked()->set_reason("disk");
  one_.send(blocked);
  ASSERT_TRUE(one_.wait_until([&] { return told == 1; }));
  EXPECT_TRUE(connection.blocked().blocked);
  EXPECT_EQ(connection.blocked().shards, std::vector<std::uint32_t>{7});
  EXPECT_EQ(connection.blocked().reason, "disk");
  v1::RouterFrame unblocked;
  unblocked.mutable_unblocked()->add_shards(7);
  one_.send(unblocked);
  ASSERT_TRUE(one_.wait_until([&] { return told == 2; }));
  EXPECT_FALSE(connection.blocked().blocked);
}

TEST_F(Connecting, CanBeMovedAndClosedWhileDisconnected) {
  Connection connection = open();
  one_.edit([](auto& behaviour) { behaviour.answer_hello = false; });
  two_.edit([](auto& behaviour) { behaviour.up = false; });
  one_.close(320, "down");
  ASSERT_TRUE(one_.wait_until([&] { return connection.state() == ConnectionState::kConnecting; }));
  EXPECT_FALSE(connection.server());
  Connection moved = std::move(connection);
  EXPECT_TRUE(moved.close());
}

}  // namespace
}  // namespace segue::client
