// Line 33 of docs/semantics.md: virtual hosts.

#include "tests/semantics/semantics_fixture.h"

namespace segue::client {
namespace {

class Vhosts : public Semantics {
 protected:
  void vhost(const std::string& name, const VhostOptions& options = {}) {
    const Status made = admin().declare_vhost(name, options);
    ASSERT_TRUE(made) << made.error().to_string();
  }
  Result<Connection> open(const std::string& vhost) {
    ConnectionOptions options = cluster().connection_options("in " + vhost);
    options.vhost = vhost;
    return Connection::open(options);
  }
  static std::string taken_of(Connection& connection, const std::string& queue) {
    std::string bodies;
    while (true) {
      const auto got = connection.get(queue, true);
      if (!got || !*got) return bodies;
      bodies += std::string((*got)->body()) + ";";
    }
  }
  static bool confirmed(Connection& connection, Message message) {
    const auto fate = connection.publisher().publish_confirmed(std::move(message)).get();
    return fate && !fate->unroutable;
  }
};

TEST_F(Vhosts, Line33NamesInTwoVirtualHostsAreDifferentThings) {
  vhost("shop");
  auto shop = open("shop");
  ASSERT_TRUE(shop) << shop.error().to_string();
  queue("q");
  exchange("e", "fanout");
  bind({"e", "q", ""});
  ASSERT_TRUE(shop->admin().declare_queue("q"));
  ASSERT_TRUE(shop->admin().declare_exchange("e", {.type = "direct"}));
  ASSERT_TRUE(shop->admin().bind({"e", "q", "k"}));
  publish_routed("e", "", "here");
  EXPECT_TRUE(confirmed(*shop, Message::to_exchange("e", "k", "there")));
  EXPECT_TRUE(confirmed(*shop, Message::to_queue("q", "there too")));
  EXPECT_EQ(take("q"), (Bodies{"here"}));
  EXPECT_EQ(taken_of(*shop, "q"), "there;there too;");
  EXPECT_EQ(shop->admin().list_all_queues()->size(), 1u);
  ASSERT_TRUE(shop->admin().delete_queue("q"));
  EXPECT_TRUE(admin().queue_status("q"));
}

TEST_F(Vhosts, Line33PredeclaredExchangesAndDeadLettersStayInTheirs) {
  vhost("shop");
  auto shop = open("shop");
  ASSERT_TRUE(shop);
  queue("dead");
  bind({"amq.fanout", "dead", ""});
  ASSERT_TRUE(shop->admin().declare_queue("dead"));
  ASSERT_TRUE(shop->admin().bind({"amq.fanout", "dead", ""}));
  QueueOptions options;
  options.arguments = {{"x-message-ttl", 1}, {"x-dead-letter-exchange", "amq.fanout"}};
  ASSERT_TRUE(shop->admin().declare_queue("short", options));
  EXPECT_TRUE(confirmed(*shop, Message::to_queue("short", "m")));
  std::string got;
  for (const auto deadline = std::chrono::steady_clock::now() + kLong;
       got.empty() && std::chrono::steady_clock::now() < deadline;) {
    got = taken_of(*shop, "dead");
  }
  EXPECT_EQ(got, "m;");
  EXPECT_EQ(take("dead"), Bodies{});
}

TEST_F(Vhosts, Line33PoliciesAreForTheirVirtualHost) {
  vhost("shop");
  auto shop = open("shop");
  ASSERT_TRUE(shop);
  queue("q");
  ASSERT_TRUE(shop->admin().declare_queue("q"));
  ASSERT_TRUE(shop->admin().set_policy({"p", ".", "all", 0, {{"max-length", 1}}}));
  EXPECT_EQ(shop->admin().queue_status("q")->effective.size(), 1u);
  EXPECT_TRUE(admin().queue_status("q")->effective.empty());
  EXPECT_TRUE(admin().list_all_policies()->empty());
}

TEST_F(Vhosts, Line33AVirtualHostThatIsNotThereIsRefused) {
  const auto nowhere = open("nowhere");
  ASSERT_FALSE(nowhere);
  EXPECT_EQ(nowhere.error().code, ErrorCode::kNotFound) << nowhere.error().to_string();
  EXPECT_NE(nowhere.error().text.find("'nowhere'"), std::string::npos);
  EXPECT_NE(nowhere.error().text.find("segue vhost create"), std::string::npos);
  const Status always = admin().delete_vhost("/");
  ASSERT_FALSE(always);
  EXPECT_EQ(always.error().code, ErrorCode::kAccessRefused);
  EXPECT_TRUE(admin().delete_vhost("nowhere"));
}

TEST_F(Vhosts, Line33DeletingOneTakesAllThatIsInItAndEndsItsSessions) {
  constexpr int kQueues = 1500;
  vhost("shop");
  queue("q");
  ConnectionState state = ConnectionState::kConnecting;
  std::string why;
  std::mutex mutex;
  ConnectionOptions options = cluster().connection_options("in shop");
  options.vhost = "shop";
  options.on_state = [&](ConnectionState now, const std::optional<Error>& reason) {
    const std::lock_guard lock(mutex);
    state = now;
    if (reason && why.empty()) why = reason->to_string();
  };
  {
    auto shop = Connection::open(options);
    ASSERT_TRUE(shop);
    std::vector<std::future<Result<DeclaredQueue>>> declared;
    for (int i = 0; i < kQueues; ++i) {
      declared.push_back(shop->admin().declare_queue_async("q" + std::to_string(i)));
      if (declared.size() < 500 && i + 1 < kQueues) continue;
      for (auto& one : declared) ASSERT_TRUE(one.get());
      declared.clear();
    }
    ASSERT_TRUE(shop->admin().declare_exchange("e", {.type = "direct"}));
    ASSERT_TRUE(shop->admin().bind({"e", "q1", "k"}));
    ASSERT_TRUE(shop->admin().bind({"amq.topic", "q1", "k"}));
    Binding onward{"amq.topic", "", "k"};
    onward.to_exchange = "amq.fanout";
    ASSERT_TRUE(shop->admin().bind(onward));
    ASSERT_TRUE(shop->admin().set_policy({"p", ".", "all", 0, {{"max-length", 1}}}));
    const Status gone = admin().delete_vhost("shop");
    ASSERT_TRUE(gone) << gone.error().to_string();
    for (const auto deadline = std::chrono::steady_clock::now() + kLong;
         std::chrono::steady_clock::now() < deadline;) {
      const std::lock_guard lock(mutex);
      if (!why.empty()) break;
    }
    const std::lock_guard lock(mutex);
    EXPECT_NE(why.find("'shop' was deleted"), std::string::npos) << why;
  }
  // A new one of the name is empty.
  vhost("shop");
  auto again = open("shop");
  ASSERT_TRUE(again);
  EXPECT_TRUE(again->admin().list_all_queues()->empty());
  EXPECT_TRUE(again->admin().list_all_bindings()->empty());
  EXPECT_TRUE(again->admin().list_all_policies()->empty());
  EXPECT_EQ(again->admin().list_all_exchanges()->size(), 4u);
  EXPECT_TRUE(admin().queue_status("q"));
}

TEST_F(Vhosts, Line33LimitsOfQueuesAndSessions) {
  vhost("small", {.max_queues = 2, .max_sessions = 1});
  auto small = open("small");
  ASSERT_TRUE(small);
  for (const char* name : {"a", "b"}) ASSERT_TRUE(small->admin().declare_queue(name));
  ASSERT_TRUE(small->admin().declare_queue("a"));  // it is there
  const auto third = small->admin().declare_queue("c");
  ASSERT_FALSE(third);
  EXPECT_NE(third.error().text.find("max_queues is 2"), std::string::npos) << third.error().text;
  const auto second = open("small");
  ASSERT_FALSE(second);
  EXPECT_NE(second.error().text.find("max_sessions is 1"), std::string::npos)
      << second.error().text;
  const Status other = admin().declare_vhost("small");
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().code, ErrorCode::kPreconditionFailed);
  EXPECT_NE(other.error().text.find("max_queues"), std::string::npos) << other.error().text;
  vhost("small", {.max_queues = 3, .update = true});
  EXPECT_TRUE(small->admin().declare_queue("c"));
  EXPECT_TRUE(open("small"));
}

TEST_F(Vhosts, Line33DelayedMessagesFillOneToo) {
  vhost("small", {.max_bytes = 1000});
  auto small = open("small");
  ASSERT_TRUE(small);
  ASSERT_TRUE(small->admin().declare_queue("q"));
  Message later = Message::to_queue("q", std::string(600, 'x'));
  later.header.properties.delay = std::chrono::hours(1);
  std::string refused;
  for (const auto deadline = std::chrono::steady_clock::now() + kLong;
       refused.empty() && std::chrono::steady_clock::now() < deadline;) {
    const auto fate = small->publisher().publish_confirmed(later).get();
    if (!fate) refused = fate.error().text;
  }
  EXPECT_NE(refused.find("max_bytes is 1000"), std::string::npos) << refused;
}

TEST_F(Vhosts, Line33AFullOneTakesNoPublishesUntilItHasRoom) {
  vhost("small", {.max_bytes = 1000});
  auto small = open("small");
  ASSERT_TRUE(small);
  ASSERT_TRUE(small->admin().declare_queue("q"));
  std::string refused;
  for (const auto deadline = std::chrono::steady_clock::now() + kLong;
       refused.empty() && std::chrono::steady_clock::now() < deadline;) {
    const auto fate =
        small->publisher().publish_confirmed(Message::to_queue("q", std::string(600, 'x'))).get();
    if (!fate) refused = fate.error().text;
  }
  EXPECT_NE(refused.find("max_bytes is 1000"), std::string::npos) << refused;
  queue("q");
  publish_routed("", "q", std::string(2000, 'x'));  // others go on
  const auto all = admin().list_all_vhosts();
  ASSERT_TRUE(all);
  ASSERT_EQ(all->size(), 2u);
  EXPECT_EQ(all->at(1).name, "small");
  EXPECT_GE(all->at(1).bytes, 1000u);
  EXPECT_EQ(all->at(1).queues, 1u);
  EXPECT_EQ(all->at(1).sessions, 1u);
  ASSERT_TRUE(small->admin().purge_queue("q"));
  bool taken = false;
  for (const auto deadline = std::chrono::steady_clock::now() + kLong;
       !taken && std::chrono::steady_clock::now() < deadline;) {
    taken = confirmed(*small, Message::to_queue("q", "m"));
  }
  EXPECT_TRUE(taken);
}

TEST_F(Vhosts, Line33TheyOutliveTheirNodes) {
  vhost("shop", {.max_queues = 7});
  vhost("gone");
  ASSERT_TRUE(admin().delete_vhost("gone"));
  auto shop = open("shop");
  ASSERT_TRUE(shop);
  ASSERT_TRUE(shop->admin().declare_queue("q"));
  EXPECT_TRUE(confirmed(*shop, Message::to_queue("q", "m")));
  crash_nodes();
  const auto all = admin().list_all_vhosts();
  ASSERT_TRUE(all);
  ASSERT_EQ(all->size(), 2u);
  EXPECT_EQ(all->at(1).max_queues, 7u);
  EXPECT_EQ(taken_of(*shop, "q"), "m;");
}

}  // namespace
}  // namespace segue::client
