#include "common/outgoing_connection.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace segue {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using Addresses = Result<std::vector<std::string>>;
// A lookup's thread may outlive its test.
using Counter = std::shared_ptr<std::atomic<int>>;

class OutgoingConnections : public testing::Test {
 protected:
  OutgoingConnections() {
    EXPECT_TRUE(server_.bind("tcp://127.0.0.1:*").is_ok());
    const std::string bound = server_.bound_endpoint();
    port_ = bound.substr(bound.rfind(':'));
    poller_.add(server_);
  }

  std::string endpoint(const std::string& host) const { return "tcp://" + host + port_; }
  /// Polls until `done`, ten seconds at most.
  template <typename Done>
  bool wait(Done done) {
    const auto deadline = std::chrono::steady_clock::now() + seconds(10);
    while (!done()) {
      if (std::chrono::steady_clock::now() > deadline) return false;
      poller_.wait(seconds(1));
    }
    return true;
  }
  /// The next header that the server gets.
  std::string arrived() {
    WireMessage message;
    if (!wait([&] { return server_.receive(message); })) return "nothing arrived";
    peer_ = message.peer;
    return std::string(message.header.view());
  }
  bool answered(OutgoingConnection& connection) {
    WireMessage message;
    return wait([&] { return connection.receive(message); });
  }

  ZmqContext context_;
  Poller poller_;
  ZmqSocket server_{context_, ZmqSocket::Kind::kRouter, {}};
  std::string port_;
  std::string peer_;
};

TEST_F(OutgoingConnections, ASlowNameServerHoldsUpNobodyElse) {
  std::promise<Addresses> answer;
  const std::shared_future<Addresses> known = answer.get_future().share();
  OutgoingConnection slow(context_, poller_, {},
                          [known](const std::string&) { return known.get(); });
  ASSERT_TRUE(slow.open(endpoint("slow.example")).is_ok());
  ASSERT_TRUE(slow.send("from the slow one", {}, false));

  OutgoingConnection quick(context_, poller_, {});
  ASSERT_TRUE(quick.open(endpoint("127.0.0.1")).is_ok());
  ASSERT_TRUE(quick.send("from the quick one", {}, false));
  EXPECT_EQ(arrived(), "from the quick one");
  ASSERT_TRUE(server_.send(peer_, "answer"));
  EXPECT_TRUE(answered(quick));
  EXPECT_EQ(slow.trouble(), ZmqSocket::Trouble::kNone);

  answer.set_value(std::vector<std::string>{"127.0.0.1"});
  WireMessage message;
  ASSERT_TRUE(wait([&] {
    (void)slow.receive(message);
    return server_.receive(message);
  }));
  EXPECT_EQ(message.header.view(), "from the slow one");
  ASSERT_TRUE(server_.send(message.peer, "answer"));
  EXPECT_TRUE(answered(slow));
}

TEST_F(OutgoingConnections, ALookupThatTakesLongerThanAnAttemptServesTheNext) {
  std::promise<Addresses> answer;
  const std::shared_future<Addresses> known = answer.get_future().share();
  const Counter lookups = std::make_shared<std::atomic<int>>(0);
  OutgoingConnection connection(context_, poller_, {}, [known, lookups](const std::string&) {
    ++*lookups;
    return known.get();
  });
  ASSERT_TRUE(connection.open(endpoint("slow.example")).is_ok());
  ASSERT_TRUE(connection.send("given up", {}, false));
  connection.close(milliseconds(0));
  answer.set_value(std::vector<std::string>{"127.0.0.1"});
  ASSERT_TRUE(connection.open(endpoint("slow.example")).is_ok());
  ASSERT_TRUE(connection.send("meant", {}, false));
  WireMessage message;
  ASSERT_TRUE(wait([&] {
    (void)connection.receive(message);
    return server_.receive(message);
  }));
  EXPECT_EQ(message.header.view(), "meant");
  EXPECT_LE(*lookups, 2);
}

TEST_F(OutgoingConnections, AsksAgainWhereAnAnswerDoesNotCome) {
  std::promise<Addresses> lost;
  const std::shared_future<Addresses> known = lost.get_future().share();
  const Counter lookups = std::make_shared<std::atomic<int>>(0);
  OutgoingConnection connection(context_, poller_, {}, [known, lookups](const std::string&) {
    return ++*lookups == 2 ? Addresses(std::vector<std::string>{"127.0.0.1"}) : known.get();
  });
  ASSERT_TRUE(connection.open(endpoint("lossy.example")).is_ok());
  while (*lookups < 1) std::this_thread::yield();
  ASSERT_TRUE(connection.open(endpoint("lossy.example")).is_ok());
  ASSERT_TRUE(connection.send("hello", {}, false));
  WireMessage message;
  EXPECT_TRUE(wait([&] {
    (void)connection.receive(message);
    return server_.receive(message);
  }));
  // However often it is tried, there are not ever more threads.
  const Counter asked = std::make_shared<std::atomic<int>>(0);
  OutgoingConnection silent(context_, poller_, {}, [known, asked](const std::string&) {
    ++*asked;
    return known.get();
  });
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(silent.open(endpoint("lossy.example")).is_ok());
  EXPECT_LE(*asked, 4);
  lost.set_value(Status(Code::kInvalidConfig, "enough"));
  while (*asked < 4) std::this_thread::yield();
}

TEST_F(OutgoingConnections, TakesTheAddressOfLastTimeWhileTheNameServerIsSilent) {
  std::promise<Addresses> lost;
  const std::shared_future<Addresses> known = lost.get_future().share();
  const Counter lookups = std::make_shared<std::atomic<int>>(0);
  OutgoingConnection connection(context_, poller_, {}, [known, lookups](const std::string&) {
    return ++*lookups == 1 ? Addresses(std::vector<std::string>{"127.0.0.1"}) : known.get();
  });
  const auto arrives = [&](const std::string& text) {
    WireMessage message;
    return connection.send(text, {}, false) && wait([&] {
             (void)connection.receive(message);
             return server_.receive(message);
           }) &&
           message.header.view() == text;
  };
  ASSERT_TRUE(connection.open(endpoint("once.example")).is_ok());
  ASSERT_TRUE(arrives("found"));
  ASSERT_TRUE(connection.open(endpoint("once.example")).is_ok());  // asks, and gets no answer
  ASSERT_TRUE(connection.open(endpoint("once.example")).is_ok());
  EXPECT_TRUE(arrives("found again"));
  // An answer counts more than what was known, one that says no included.
  lost.set_value(Status(Code::kInvalidConfig, "gone"));
  EXPECT_TRUE(wait([&] {
    EXPECT_TRUE(connection.open(endpoint("once.example")).is_ok());
    return connection.trouble() == ZmqSocket::Trouble::kRefused;
  }));
  EXPECT_EQ(connection.lookup_failure(), "the name 'once.example' was not found: gone");
}

TEST_F(OutgoingConnections, TakesTheNextAddressAtTheNextAttemptAndAsksAnew) {
  const Counter lookups = std::make_shared<std::atomic<int>>(0);
  OutgoingConnection connection(context_, poller_, {}, [lookups](const std::string&) {
    ++*lookups;
    return std::vector<std::string>{"::1", "127.0.0.1"};  // the server is not at the first
  });
  ASSERT_TRUE(connection.open(endpoint("both.example")).is_ok());
  ASSERT_TRUE(wait([&] { return connection.trouble() == ZmqSocket::Trouble::kRefused; }));
  EXPECT_EQ(connection.lookup_failure(), "");
  ASSERT_TRUE(connection.open(endpoint("both.example")).is_ok());
  ASSERT_TRUE(connection.send("hello", {}, false));
  WireMessage message;
  ASSERT_TRUE(wait([&] {
    (void)connection.receive(message);
    return server_.receive(message);
  }));
  EXPECT_EQ(*lookups, 2);
}

TEST_F(OutgoingConnections, SaysWhichNameWasNotFoundAndWhy) {
  OutgoingConnection connection(context_, poller_, {}, [](const std::string&) {
    return Addresses(Status(Code::kInvalidConfig, "nobody knows it"));
  });
  ASSERT_TRUE(connection.open(endpoint("gone.example")).is_ok());
  ASSERT_TRUE(wait([&] { return connection.trouble() == ZmqSocket::Trouble::kRefused; }));
  EXPECT_EQ(connection.lookup_failure(), "the name 'gone.example' was not found: nobody knows it");
  EXPECT_FALSE(connection.send("hello", {}, false));
  connection.close(milliseconds(0));
  EXPECT_EQ(connection.lookup_failure(), "");
}

TEST_F(OutgoingConnections, KeepsNoMoreThanAFewFramesForAnUnknownAddress) {
  std::promise<Addresses> answer;
  const std::shared_future<Addresses> known = answer.get_future().share();
  OutgoingConnection connection(context_, poller_, {},
                                [known](const std::string&) { return known.get(); });
  ASSERT_TRUE(connection.open(endpoint("slow.example")).is_ok());
  int taken = 0;
  while (taken < 1000 && connection.send("x", {}, false)) ++taken;
  EXPECT_LT(taken, 1000);
  EXPECT_GT(taken, 0);
  answer.set_value(Status(Code::kInvalidConfig, "enough"));
}

TEST(NameLookups, FindsWhatTheSystemKnows) {
  const Addresses found = NameLookup::of_system("localhost");
  ASSERT_TRUE(found.is_ok()) << found.status().message();
  for (const std::string& address : *found) {
    EXPECT_TRUE(address.starts_with("127.") || address == "::1") << address;
  }
}

TEST(NameLookups, AreForNamesOnly) {
  EXPECT_EQ(name_in_endpoint("tcp://n1:7101"), "n1");
  EXPECT_EQ(name_in_endpoint("tcp://a.example:1"), "a.example");
  EXPECT_EQ(name_in_endpoint("tcp://127.0.0.1:7101"), "");
  EXPECT_EQ(name_in_endpoint("tcp://[::1]:7101"), "");
  EXPECT_EQ(name_in_endpoint("ipc:///run/segue:1"), "");
  EXPECT_EQ(endpoint_at("tcp://n1:7101", "10.0.0.7"), "tcp://10.0.0.7:7101");
  EXPECT_EQ(endpoint_at("tcp://n1:7101", "fe80::1%eth0"), "tcp://[fe80::1%eth0]:7101");
}

}  // namespace
}  // namespace segue
