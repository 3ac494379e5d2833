// Line 24 of docs/semantics.md: message groups.

#include <map>
#include <vector>

#include "tests/semantics/semantics_fixture.h"

namespace segue::client {
namespace {

class Groups : public Semantics {
 protected:
  /// "a1" is of group a, "-1" of none.
  void send(const std::string& name, const Bodies& bodies) {
    for (const std::string& body : bodies) {
      Message message = Message::to_queue(name, body);
      if (body[0] != '-') message.header.properties.group_id = body.substr(0, 1);
      ASSERT_TRUE(publish(std::move(message)).confirmed);
    }
  }
  Consumer subscribe(const std::string& name, std::uint32_t prefetch, const Table& arguments = {}) {
    ConsumerOptions options;
    options.prefetch = prefetch;
    options.arguments = arguments;
    auto consumer = connection().subscribe(name, options);
    EXPECT_TRUE(consumer) << consumer.error().to_string();
    return *std::move(consumer);
  }
  static Delivery next(Consumer& consumer) {
    auto delivery = consumer.next(kLong);
    EXPECT_TRUE(delivery) << delivery.error().to_string();
    return *delivery;
  }
  static bool has_nothing(Consumer& consumer) {
    const auto delivery = consumer.next(std::chrono::milliseconds(0));
    return !delivery && delivery.error().code == ErrorCode::kTimeout;
  }
};

const Table kGroups{{"x-message-groups", true}};

Table with(Table table, const std::string& name, Value value) {
  table[name] = std::move(value);
  return table;
}

TEST_F(Groups, Line24OneGroupIsAtOneConsumerAndOthersInParallel) {
  for (const bool durable : {true, false}) {
    const std::string name = durable ? "durable" : "transient";
    queue(name, kGroups, durable);
    Consumer one = subscribe(name, 1);
    Consumer two = subscribe(name, 1);
    send(name, {"a1"});
    send(name, {"a2", "b1", "-1", "b2"});
    // Whoever has a1, the other one gets what is next of others.
    wait_for(name, [](const QueueDescription& status) { return status.unacked == 2; });
    Delivery a = next(one);
    Delivery other = next(two);
    if (a.body() != "a1") std::swap(a, other);
    EXPECT_EQ(a.body(), "a1");
    EXPECT_EQ(other.body(), "b1");
    EXPECT_EQ(admin().queue_status(name)->groups, 2u);
    EXPECT_EQ(admin().queue_status(name)->ready, 3u);
    ASSERT_TRUE(other.ack_confirmed().get());
    ASSERT_TRUE(a.ack_confirmed().get());
    // a2 and one more, at the two of them.
    wait_for(name, [](const QueueDescription& status) {
      return status.unacked == 2 && status.ready == 1;
    });
  }
}

TEST_F(Groups, Line24WhatComesBackOfAGroupComesFirst) {
  queue("q", kGroups);
  send("q", {"a1", "a2", "a3"});
  Consumer consumer = subscribe("q", 2);
  const Delivery first = next(consumer);
  const Delivery second = next(consumer);
  EXPECT_EQ(first.body(), "a1");
  EXPECT_EQ(second.body(), "a2");
  first.requeue();
  const Delivery again = next(consumer);
  EXPECT_EQ(again.body(), "a1");
  EXPECT_TRUE(again.redelivered());
  second.requeue();
  EXPECT_EQ(next(consumer).body(), "a2");
  again.ack();
  EXPECT_EQ(next(consumer).body(), "a3");
}

TEST_F(Groups, Line24ALostConsumersGroupGoesOnFromItsFirstMessage) {
  queue("q", kGroups);
  send("q", {"a1", "a2", "a3", "b1"});
  Connection other = cluster().connect("other");
  {
    ConsumerOptions options;
    options.prefetch = 2;
    auto consumer = other.subscribe("q", options);
    ASSERT_TRUE(consumer);
    EXPECT_EQ(next(*consumer).body(), "a1");
    EXPECT_EQ(next(*consumer).body(), "a2");
    Consumer mine = subscribe("q", 5);
    EXPECT_EQ(next(mine).body(), "b1");
    EXPECT_TRUE(has_nothing(mine));
    ASSERT_TRUE(other.close());
    for (const char* body : {"a1", "a2", "a3"}) EXPECT_EQ(next(mine).body(), body);
  }
}

TEST_F(Groups, Line24EachGroupIsInOrderThroughACrash) {
  constexpr int kEach = 12;
  queue("q", kGroups);
  for (int i = 0; i < kEach; ++i) {
    for (const char group : {'a', 'b', 'c', 'd'}) {
      send("q", {group + std::string(1, static_cast<char>('A' + i))});
    }
  }
  std::map<char, std::string> acked;
  const auto work = [&](int messages) {
    std::vector<Consumer> consumers;
    for (int i = 0; i < 3; ++i) consumers.push_back(subscribe("q", 2));
    int done = 0;
    const auto deadline = std::chrono::steady_clock::now() + kLong;
    while (done < messages && std::chrono::steady_clock::now() < deadline) {
      for (Consumer& consumer : consumers) {
        const auto delivery = consumer.next(std::chrono::milliseconds(1));
        if (!delivery || !delivery->ack_confirmed().get()) continue;
        acked[delivery->body()[0]] += delivery->body()[1];
        ++done;
      }
    }
    EXPECT_GE(done, messages);
  };
  work(2 * kEach);
  crash_nodes();
  work(4 * kEach - static_cast<int>(acked['a'].size() + acked['b'].size() + acked['c'].size() +
                                    acked['d'].size()));
  for (const char group : {'a', 'b', 'c', 'd'}) EXPECT_EQ(acked[group], "ABCDEFGHIJKL") << group;
}

TEST_F(Groups, Line24AGetTakesWhatNoOtherHoldsAndBrowsingSeesAll) {
  queue("q", kGroups);
  send("q", {"a1", "a2", "b1"});
  Consumer consumer = subscribe("q", 1);
  EXPECT_EQ(next(consumer).body(), "a1");
  const Delivery got = next_of("q");
  EXPECT_EQ(got.body(), "b1");
  const auto none = connection().get("q");
  ASSERT_TRUE(none);
  EXPECT_FALSE(none->has_value()) << "a2 waits for a1";
  EXPECT_EQ(admin().queue_status("q")->ready, 1u);
}

TEST_F(Groups, Line24AndTheTimeForADelivery) {
  queue("q", with(kGroups, "x-consumer-timeout", 200));
  send("q", {"a1", "a2"});
  Consumer consumer = subscribe("q", 1);
  EXPECT_EQ(next(consumer).body(), "a1");
  const Delivery again = next(consumer);
  EXPECT_EQ(again.body(), "a1");
  EXPECT_TRUE(again.redelivered());
  again.ack();
  EXPECT_EQ(next(consumer).body(), "a2");
}

TEST_F(Groups, Line24AndASingleActiveConsumer) {
  queue("q", with(kGroups, "x-single-active-consumer", true));
  send("q", {"a1", "b1", "a2"});
  auto first = std::make_unique<Consumer>(subscribe("q", 1));
  Consumer second = subscribe("q", 5);
  const Delivery held = next(*first);
  EXPECT_EQ(held.body(), "a1");
  first.reset();
  EXPECT_EQ(next(second).body(), "b1");
  EXPECT_TRUE(has_nothing(second)) << "a2 waits for what the first one has";
  held.ack();
  EXPECT_EQ(next(second).body(), "a2");
}

TEST_F(Groups, Line24AndDeadLettersAndTheDeliveryLimit) {
  queue("dead");
  queue("q",
        with(with(with(kGroups, "x-dead-letter-exchange", ""), "x-dead-letter-routing-key", "dead"),
             "x-delivery-limit", 0));
  send("q", {"a1", "a2", "a3"});
  Consumer consumer = subscribe("q", 1);
  next(consumer).reject();
  next(consumer).requeue();  // one delivery too many
  EXPECT_EQ(next(consumer).body(), "a3");
  EXPECT_EQ(next_of("dead").body(), "a1");
  EXPECT_EQ(next_of("dead").body(), "a2");
}

TEST_F(Groups, Line24AndTheTimeToLive) {
  queue("q", with(kGroups, "x-message-ttl", 300));
  send("q", {"a1", "a2"});
  Consumer consumer = subscribe("q", 1);
  const Delivery first = next(consumer);
  wait_for_ready("q", 0);
  EXPECT_EQ(admin().queue_status("q")->expired_total, 1u);
  send("q", {"a3"});
  first.ack();
  EXPECT_EQ(next(consumer).body(), "a3");
}

TEST_F(Groups, Line24AndPrioritiesContradictEachOther) {
  QueueOptions options;
  options.arguments = with(kGroups, "x-max-priority", 3);
  const auto declared = admin().declare_queue("q", options);
  ASSERT_FALSE(declared);
  EXPECT_EQ(declared.error().code, ErrorCode::kPreconditionFailed);
  queue("q", kGroups);
  options.arguments = {};
  options.update = true;
  EXPECT_FALSE(admin().declare_queue("q", options)) << "not changeable in place";
}

}  // namespace
}  // namespace segue::client
