#include "common/zmq_socket.h"

#include <gtest/gtest.h>

#include <thread>

namespace segue {
namespace {

using std::chrono::seconds;

// Waits for the next message, for at most ten seconds.
bool wait_for(ZmqSocket& socket, WireMessage& message) {
  Poller poller;
  poller.add(socket);
  const auto deadline = std::chrono::steady_clock::now() + seconds(10);
  while (std::chrono::steady_clock::now() < deadline) {
    if (socket.receive(message)) return true;
    poller.wait(std::chrono::milliseconds(100));
  }
  return false;
}

TEST(ZmqSocket, CarriesHeaderAndBodiesBothWays) {
  ZmqContext context;
  ZmqSocket router(context, ZmqSocket::Kind::kRouter, {});
  ZmqSocket dealer(context, ZmqSocket::Kind::kDealer, {});
  ASSERT_TRUE(router.bind("tcp://127.0.0.1:*").is_ok());
  ASSERT_TRUE(dealer.connect(router.bound_endpoint()).is_ok());

  const std::string large(100'000, 'x');
  ASSERT_TRUE(dealer.send("", "hello", {SharedBytes::from(large)}));
  WireMessage message;
  ASSERT_TRUE(wait_for(router, message));
  EXPECT_EQ(message.header.view(), "hello");
  EXPECT_EQ(message.bodies.view(), large);
  EXPECT_FALSE(message.malformed);

  ASSERT_TRUE(
      router.send(message.peer, "back", {SharedBytes::from("ab"), SharedBytes::from("cd")}));
  WireMessage answer;
  ASSERT_TRUE(wait_for(dealer, answer));
  EXPECT_EQ(answer.header.view(), "back");
  EXPECT_EQ(answer.bodies.view(), "abcd");
}

TEST(ZmqSocket, RefusesAnUnknownPeer) {
  ZmqContext context;
  ZmqSocket router(context, ZmqSocket::Kind::kRouter, {});
  ASSERT_TRUE(router.bind("tcp://127.0.0.1:*").is_ok());
  EXPECT_FALSE(router.send("nobody", "x"));
}

TEST(ZmqSocket, NamesTheEndpointItCannotUse) {
  ZmqContext context;
  ZmqSocket router(context, ZmqSocket::Kind::kRouter, {});
  const Status status = router.bind("tcp://no.such.host.invalid:1");
  EXPECT_EQ(status.code(), Code::kInvalidConfig);
  EXPECT_NE(status.message().find("tcp://no.such.host.invalid:1"), std::string::npos);
}

TEST(Wakeup, WakesAPollerFromAnotherThread) {
  Wakeup wakeup;
  Poller poller;
  poller.add_fd(wakeup.fd());
  std::thread other([&] { wakeup.signal(); });
  poller.wait(seconds(10));
  other.join();
  wakeup.clear();
}

}  // namespace
}  // namespace segue
