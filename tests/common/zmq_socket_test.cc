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

TEST(ZmqSocket, ListensOnTheAddressesOfAName) {
  // A port that was free a moment ago.
  std::string port;
  {
    ZmqContext gone;  // with its sockets, when it ends
    ZmqSocket probe(gone, ZmqSocket::Kind::kRouter, {});
    ASSERT_TRUE(probe.bind("tcp://127.0.0.1:*").is_ok());
    const std::string bound = probe.bound_endpoint();
    port = bound.substr(bound.rfind(':'));
  }
  ZmqContext context;
  ZmqSocket router(context, ZmqSocket::Kind::kRouter, {});
  const Status listens = router.bind("tcp://localhost" + port);
  ASSERT_TRUE(listens.is_ok()) << listens.message();
  ZmqSocket dealer(context, ZmqSocket::Kind::kDealer, {});
  ASSERT_TRUE(dealer.connect("tcp://127.0.0.1" + port).is_ok());
  ASSERT_TRUE(dealer.send("", "hello"));
  WireMessage message;
  ASSERT_TRUE(wait_for(router, message));
  EXPECT_EQ(message.header.view(), "hello");
}

TEST(ZmqSocket, SaysWhyItCannotListenOnAName) {
  ZmqContext context;
  ZmqSocket router(context, ZmqSocket::Kind::kRouter, {});
  const Status unknown = router.bind("tcp://no-such-host.invalid:7000");
  EXPECT_EQ(unknown.code(), Code::kInvalidConfig);
  EXPECT_NE(unknown.message().find("the name 'no-such-host.invalid' was not found"),
            std::string::npos)
      << unknown.message();
}

TEST(ZmqSocket, SendsNoMoreAnswersToAPeerThatDoesNotRead) {
  constexpr std::uint64_t kMost = 4 << 20;
  ZmqContext context;
  ZmqSocket::Options options;
  options.max_unread_bytes = kMost;
  ZmqSocket router(context, ZmqSocket::Kind::kRouter, options);
  ZmqSocket::Options lazy;
  lazy.high_water_mark = 1;
  ZmqSocket dealer(context, ZmqSocket::Kind::kDealer, lazy);
  ASSERT_TRUE(router.bind("tcp://127.0.0.1:*").is_ok());
  ASSERT_TRUE(dealer.connect(router.bound_endpoint()).is_ok());
  ASSERT_TRUE(dealer.send("", "hello"));
  WireMessage message;
  ASSERT_TRUE(wait_for(router, message));
  const std::vector<SharedBytes> body = {SharedBytes::from(std::string(512 << 10, 'x'))};
  int sent = 0;
  while (sent < 1000 &&
         router.send(message.peer, "answer", body, true, ZmqSocket::Bound::kReading)) {
    ++sent;
  }
  // What the system's buffers take is not counted.
  EXPECT_LT(sent, 100);
  EXPECT_FALSE(router.send(message.peer, "small", {}, false, ZmqSocket::Bound::kReading));
  // What has a window of its own goes on.
  EXPECT_TRUE(router.send(message.peer, "delivery", body, true, ZmqSocket::Bound::kWindow));
  WireMessage answer;
  for (int i = 0; i < sent; ++i) ASSERT_TRUE(wait_for(dealer, answer)) << i;
  ASSERT_TRUE(wait_for(dealer, answer));
  EXPECT_EQ(answer.header.view(), "delivery");
  EXPECT_EQ(answer.bodies.size(), body[0].size());
  EXPECT_TRUE(router.send(message.peer, "again", body, true, ZmqSocket::Bound::kReading));
}

TEST(ZmqSocket, RefusesAnUnknownPeer) {
  ZmqContext context;
  ZmqSocket router(context, ZmqSocket::Kind::kRouter, {});
  ASSERT_TRUE(router.bind("tcp://127.0.0.1:*").is_ok());
  EXPECT_FALSE(router.send("nobody", "x"));
}

TEST(ZmqSocket, TellsItsEndpointAsItWasGiven) {
  ZmqContext context;
  ZmqSocket router(context, ZmqSocket::Kind::kRouter, {});
  ASSERT_TRUE(router.bind("tcp://127.0.0.1:*").is_ok());
  EXPECT_EQ(router.bound_endpoint().substr(0, 16), "tcp://127.0.0.1:");
}

TEST(ZmqSocket, NamesTheEndpointItCannotUse) {
  ZmqContext context;
  ZmqSocket router(context, ZmqSocket::Kind::kRouter, {});
  const Status status = router.bind("tcp://no.such.host.invalid:1");
  EXPECT_EQ(status.code(), Code::kInvalidConfig);
  EXPECT_NE(status.message().find("tcp://no.such.host.invalid:1"), std::string::npos);
}

// Waits until the socket's trouble is `wanted`, for at most ten seconds.
bool wait_for(ZmqSocket& socket, ZmqSocket::Trouble wanted) {
  Poller poller;
  poller.add(socket);
  const auto deadline = std::chrono::steady_clock::now() + seconds(10);
  while (std::chrono::steady_clock::now() < deadline) {
    if (socket.trouble() == wanted) return true;
    poller.wait(seconds(10));
  }
  return false;
}

TEST(ZmqSocket, SaysThatNobodyListens) {
  ZmqContext context;
  for (const char* nobody : {"tcp://127.0.0.1:1", "ipc:///no/such/directory/socket"}) {
    ZmqSocket dealer(context, ZmqSocket::Kind::kDealer, {.watch = true});
    ASSERT_TRUE(dealer.connect(nobody).is_ok());
    EXPECT_TRUE(wait_for(dealer, ZmqSocket::Trouble::kRefused)) << nobody;
  }
}

TEST(ZmqSocket, ASocketThatIsClosedWhileItTriesHoldsUpNoOther) {
  ZmqContext context;
  ZmqSocket router(context, ZmqSocket::Kind::kRouter, {});
  ASSERT_TRUE(router.bind("tcp://127.0.0.1:*").is_ok());
  for (int i = 0; i < 100; ++i) {
    ZmqSocket::Options options{.reconnect_min = std::chrono::milliseconds(1), .watch = true};
    ZmqSocket nobody(context, ZmqSocket::Kind::kDealer, options);
    ASSERT_TRUE(nobody.connect("ipc:///no/such/directory/socket").is_ok());
    if (i % 2 == 0) {
      ASSERT_TRUE(wait_for(nobody, ZmqSocket::Trouble::kRefused));
    }
  }
  ZmqSocket dealer(context, ZmqSocket::Kind::kDealer, {.watch = true});
  ASSERT_TRUE(dealer.connect(router.bound_endpoint()).is_ok());
  ASSERT_TRUE(dealer.send("", "hello"));
  WireMessage message;
  EXPECT_TRUE(wait_for(router, message));
}

TEST(ZmqSocket, SaysThatItsConnectionEndedAndKeepsWhatCameOverIt) {
  ZmqContext context;
  ZmqSocket dealer(context, ZmqSocket::Kind::kDealer, {.watch = true});
  WireMessage message;
  {
    ZmqSocket router(context, ZmqSocket::Kind::kRouter, {.linger = seconds(10)});
    ASSERT_TRUE(router.bind("tcp://127.0.0.1:*").is_ok());
    ASSERT_TRUE(dealer.connect(router.bound_endpoint()).is_ok());
    ASSERT_TRUE(dealer.send("", "hello"));
    ASSERT_TRUE(wait_for(router, message));
    EXPECT_EQ(dealer.trouble(), ZmqSocket::Trouble::kNone);
    ASSERT_TRUE(router.send(message.peer, "last words"));
  }
  ASSERT_TRUE(wait_for(dealer, ZmqSocket::Trouble::kLost));
  ASSERT_TRUE(dealer.receive(message));
  EXPECT_EQ(message.header.view(), "last words");
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
