// Lines 1 to 6 of docs/semantics.md: publishing.

#include <algorithm>
#include <mutex>

#include "tests/semantics/semantics_fixture.h"

namespace segue::client {
namespace {

TEST_F(Semantics, Line01EveryPublishIsSettledOnce) {
  for (int i = 0; i < 8; ++i) queue("q" + std::to_string(i));
  std::mutex mutex;
  std::map<std::uint64_t, int> confirmed;
  std::map<std::uint64_t, int> rejected;
  connection().publisher().on_confirm([&](const ConfirmEvent& event) {
    const std::lock_guard lock(mutex);
    for (const SeqRange& range : event.confirmed) {
      for (std::uint64_t seq = range.first; seq <= range.last; ++seq) ++confirmed[seq];
    }
    for (const Rejection& rejection : event.rejected) {
      for (std::uint64_t seq = rejection.seqs.first; seq <= rejection.seqs.last; ++seq) {
        ++rejected[seq];
      }
    }
  });
  constexpr std::uint64_t kCount = 5'000;
  for (std::uint64_t i = 1; i <= kCount; ++i) {
    // Over all shards and both nodes; each tenth to an exchange that there is not.
    const bool wrong = i % 10 == 0;
    Message message = wrong ? Message::to_exchange("nosuch", "k", "x")
                            : Message::to_queue("q" + std::to_string(i % 8), std::to_string(i));
    ASSERT_EQ(connection().publisher().publish(std::move(message)).value(), i);
  }
  const Status all = connection().publisher().wait_for_confirms(kLong);
  EXPECT_EQ(all.error().code, ErrorCode::kNotFound);
  const std::lock_guard lock(mutex);
  EXPECT_EQ(confirmed.size() + rejected.size(), kCount);
  EXPECT_EQ(rejected.size(), kCount / 10);
  for (const auto* const settled : {&confirmed, &rejected}) {
    for (const auto& [seq, times] : *settled) {
      EXPECT_EQ(times, 1) << seq;
      EXPECT_EQ(settled == &rejected, seq % 10 == 0) << seq;
    }
  }
}

TEST_F(Semantics, Line02AConfirmNamesTheDurability) {
  queue("durable");
  QueueOptions interval;
  interval.arguments = {{"x-durability", 50}};
  ASSERT_TRUE(admin().declare_queue("interval", interval));
  QueueOptions transient;
  transient.durable = false;
  ASSERT_TRUE(admin().declare_queue("transient", transient));
  const auto durability = [&](const std::string& name) {
    return connection()
        .publisher()
        .publish_confirmed(Message::to_queue(name, "m"))
        .get()
        ->durability;
  };
  EXPECT_EQ(durability("durable"), Durability::kSync);
  EXPECT_EQ(durability("interval"), Durability::kInterval);
  EXPECT_EQ(durability("transient"), Durability::kTransient);

  for (const char* const id : {"n1", "n2"}) cluster().kill(id);
  for (const char* const id : {"n1", "n2"}) cluster().start(id);
  ASSERT_TRUE(cluster().wait_ready()) << cluster().logs();
  EXPECT_EQ(take("durable"), (Bodies{"m"}));
  EXPECT_EQ(take("interval"), (Bodies{"m"}));
  EXPECT_EQ(take("transient"), (Bodies{}));
}

TEST_F(Semantics, Line03AnUnroutableMessageIsConfirmedAndReturnedIfMandatory) {
  exchange("x", "direct");
  const Fate mandatory = publish("x", "k", "body");
  EXPECT_TRUE(mandatory.confirmed);
  EXPECT_TRUE(mandatory.unroutable);
  EXPECT_TRUE(mandatory.returned);
  const Fate other = publish(Message::to_exchange("x", "k", "body"));
  EXPECT_TRUE(other.confirmed);
  EXPECT_TRUE(other.unroutable);
  EXPECT_FALSE(other.returned);
}

TEST_F(Semantics, Line04AMessageToSeveralShardsIsConfirmedWhenAllHaveIt) {
  exchange("x", "fanout");
  exchange("onward", "fanout");
  std::set<std::string> nodes;
  for (int i = 0; i < 10; ++i) {
    const std::string name = "q" + std::to_string(i);
    nodes.insert(admin().declare_queue(name)->node);
    bind({"x", name, ""});
    bind({"onward", name, ""});
  }
  bind(onward("x", "onward", ""));
  EXPECT_EQ(nodes.size(), 2u);
  for (int i = 0; i < 100; ++i) {
    Message message = Message::to_exchange("x", "", std::to_string(i));
    ASSERT_TRUE(connection().publisher().publish(std::move(message)));
  }
  ASSERT_TRUE(connection().publisher().wait_for_confirms(kLong));
  for (const char* const id : {"n1", "n2"}) cluster().kill(id);
  for (const char* const id : {"n1", "n2"}) cluster().start(id);
  ASSERT_TRUE(cluster().wait_ready()) << cluster().logs();
  for (int i = 0; i < 10; ++i) {
    const Bodies bodies = take("q" + std::to_string(i));
    ASSERT_EQ(bodies.size(), 100u) << i;
    for (int j = 0; j < 100; ++j) EXPECT_EQ(bodies[j], std::to_string(j));
  }
}

TEST_F(Semantics, Line05RejectsSayWhy) {
  queue("q");
  const Fate missing = publish("nosuch", "k", "m");
  EXPECT_EQ(missing.error, ErrorCode::kNotFound);
  EXPECT_NE(missing.text.find("nosuch"), std::string::npos);
  ExchangeOptions internal;
  internal.internal = true;
  ASSERT_TRUE(admin().declare_exchange("inner", internal));
  EXPECT_EQ(publish("inner", "k", "m").error, ErrorCode::kAccessRefused);
  const Fate large = publish("", "q", std::string((16 << 20) + 1, 'x'));
  EXPECT_FALSE(large.confirmed);
  EXPECT_EQ(large.error, ErrorCode::kContentTooLarge);
  publish_routed("", "q", std::string(16 << 20, 'x'));
  EXPECT_EQ(take("q").size(), 1u);
}

TEST_F(Semantics, Line05AMessageToAQueueThatIsDeletedMeanwhileIsConfirmed) {
  exchange("x", "fanout");
  for (int round = 0; round < 20; ++round) {
    queue("gone");
    bind({"x", "gone", ""});
    std::vector<std::future<Result<Confirmation>>> fates;
    for (int i = 0; i < 50; ++i) {
      fates.push_back(
          connection().publisher().publish_confirmed(Message::to_exchange("x", "", "m")));
    }
    auto deleted = admin().delete_queue_async("gone");
    for (int i = 0; i < 50; ++i) {
      fates.push_back(
          connection().publisher().publish_confirmed(Message::to_exchange("x", "", "m")));
    }
    ASSERT_TRUE(deleted.get());
    for (auto& fate : fates) {
      const auto settled = fate.get();
      EXPECT_TRUE(settled) << settled.error().to_string();
    }
  }
}

TEST_F(Semantics, Line06OrderOfOneProducerIsKeptInEachQueueWhileNodesDie) {
  exchange("x", "topic");
  const std::vector<std::string> names{"a", "b", "c", "d", "e"};
  for (const std::string& name : names) {
    queue(name);
    bind({"x", name, "#." + name + ".#"});
  }
  constexpr int kCount = 20'000;
  int killed = 0;
  for (int i = 0; i < kCount; ++i) {
    if (i % 5'000 == 2'500) {
      const std::string id = killed++ % 2 == 0 ? "n1" : "n2";
      cluster().kill(id);
      cluster().start(id);
    }
    const std::string key = names[i % 5] + "." + names[(i / 5) % 5];
    ASSERT_TRUE(
        connection().publisher().publish(Message::to_exchange("x", key, std::to_string(i))));
  }
  const Status confirmed = connection().publisher().wait_for_confirms(kLong);
  ASSERT_TRUE(confirmed) << confirmed.error().to_string();
  std::size_t taken = 0;
  for (const std::string& name : names) {
    const auto ready = admin().queue_status(name)->ready;
    auto consumer = connection().subscribe(name);
    ASSERT_TRUE(consumer);
    int last = -1;
    for (std::uint64_t i = 0; i < ready; ++i) {
      const auto delivery = consumer->next(kLong);
      ASSERT_TRUE(delivery) << delivery.error().to_string();
      const int number = std::stoi(std::string(delivery->body()));
      EXPECT_GT(number, last);
      last = number;
      delivery->ack();
      ++taken;
    }
  }
  // Of 25 keys, 5 name one queue, and 20 two.
  EXPECT_EQ(taken, static_cast<std::size_t>(kCount) * 45 / 25);
}

}  // namespace
}  // namespace segue::client
