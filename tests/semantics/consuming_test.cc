// Lines 17 to 23 of docs/semantics.md: consuming.

#include <algorithm>
#include <optional>

#include "tests/semantics/semantics_fixture.h"

namespace segue::client {
namespace {

class Consuming : public Semantics {
 protected:
  static ConsumerOptions with_prefetch(std::uint32_t count) {
    ConsumerOptions options;
    options.prefetch = count;
    return options;
  }
  Consumer subscribe(const std::string& name, const ConsumerOptions& options = {}) {
    auto consumer = connection().subscribe(name, options);
    EXPECT_TRUE(consumer) << consumer.error().to_string();
    return *std::move(consumer);
  }
  void fill(const std::string& name, int count) {
    for (int i = 0; i < count; ++i) {
      ASSERT_TRUE(connection().publisher().publish(Message::to_queue(name, std::to_string(i))));
    }
    ASSERT_TRUE(connection().publisher().wait_for_confirms(kLong));
  }
  static Delivery next(Consumer& consumer) {
    auto delivery = consumer.next(kLong);
    EXPECT_TRUE(delivery) << delivery.error().to_string();
    return *delivery;
  }
  /// Whether the consumer is given nothing, while another one surely would be.
  static bool has_nothing(Consumer& consumer) {
    const auto delivery = consumer.next(std::chrono::milliseconds(0));
    return !delivery && delivery.error().code == ErrorCode::kTimeout;
  }
};

TEST_F(Consuming, Line17TagsRiseByOneAndAreSettledOnce) {
  queue("q");
  fill("q", 3);
  Consumer consumer = subscribe("q");
  std::vector<Delivery> deliveries;
  for (std::uint64_t i = 1; i <= 3; ++i) {
    deliveries.push_back(next(consumer));
    EXPECT_EQ(deliveries.back().tag(), i);
  }
  EXPECT_TRUE(deliveries[1].ack_confirmed().get());
  const Status again = deliveries[1].ack_confirmed().get();
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code, ErrorCode::kPreconditionFailed);
  EXPECT_TRUE(deliveries[0].ack_confirmed().get());  // the session goes on
}

TEST_F(Consuming, Line18ConsumersTakeTurnsAsLongAsTheyHaveCredit) {
  queue("q");
  Consumer a = subscribe("q", with_prefetch(4));
  Consumer b = subscribe("q", with_prefetch(4));
  fill("q", 20);
  std::vector<Delivery> of_a;
  std::vector<Delivery> of_b;
  for (int i = 0; i < 4; ++i) {
    of_a.push_back(next(a));
    of_b.push_back(next(b));
  }
  EXPECT_EQ(admin().queue_status("q")->unacked, 8u);
  EXPECT_TRUE(has_nothing(a));
  EXPECT_TRUE(has_nothing(b));
  // Only one settles: all that is left is its.
  for (const Delivery& delivery : of_b) delivery.ack();
  for (int i = 0; i < 12; ++i) next(b).ack();
  EXPECT_TRUE(has_nothing(a));
}

TEST_F(Consuming, Line18PrefetchCountsBytesToo) {
  queue("q");
  for (int i = 0; i < 10; ++i) publish_routed("", "q", std::string(1000, 'x'));
  ConsumerOptions options;
  options.prefetch = 0;
  options.prefetch_bytes = 2500;
  Consumer consumer = subscribe("q", options);
  const Delivery first = next(consumer);
  next(consumer);
  EXPECT_EQ(admin().queue_status("q")->unacked, 2u);
  EXPECT_TRUE(has_nothing(consumer));
  ASSERT_TRUE(first.ack_confirmed().get());
  next(consumer);
  // No limit, and one that is ignored.
  ConsumerOptions unlimited;
  unlimited.prefetch = 1;
  unlimited.no_ack = true;
  Consumer other = subscribe("q", unlimited);
  for (int i = 0; i < 7; ++i) next(other);
  EXPECT_EQ(admin().queue_status("q")->ready, 0u);
}

TEST_F(Consuming, Line18HigherPriorityIsServedFirstWhileItHasCredit) {
  queue("q");
  ConsumerOptions low = with_prefetch(0);
  ConsumerOptions high = with_prefetch(5);
  high.priority = 3;
  Consumer slow = subscribe("q", low);
  Consumer fast = subscribe("q", high);
  fill("q", 12);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(next(fast).body(), std::to_string(i));
  for (int i = 5; i < 12; ++i) EXPECT_EQ(next(slow).body(), std::to_string(i));
}

TEST_F(Consuming, Line19AnExclusiveConsumerIsTheOnlyOne) {
  queue("q");
  ConsumerOptions exclusive;
  exclusive.exclusive = true;
  {
    Consumer only = subscribe("q", exclusive);
    const auto second = connection().subscribe("q");
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().code, ErrorCode::kAccessRefused);
    Connection other = cluster().connect("other");
    EXPECT_EQ(other.subscribe("q", exclusive).error().code, ErrorCode::kAccessRefused);
    fill("q", 1);
    next(only).ack();
  }
  Consumer ordinary = subscribe("q");
  const auto late = connection().subscribe("q", exclusive);
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, ErrorCode::kAccessRefused);
  EXPECT_NE(late.error().text.find("exclusive"), std::string::npos) << late.error().text;
}

TEST_F(Consuming, Line19OneOfTheConsumersIsActiveAndTheNextTakesOver) {
  QueueOptions options;
  options.arguments = {{"x-single-active-consumer", true}};
  ASSERT_TRUE(admin().declare_queue("q", options));
  auto first = std::make_unique<Connection>(cluster().connect("first"));
  std::optional<Consumer> active = *first->subscribe("q", with_prefetch(3));
  Consumer second = subscribe("q");
  Consumer third = subscribe("q");
  fill("q", 10);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(next(*active).body(), std::to_string(i));
  // It has no credit left; the others wait all the same.
  EXPECT_EQ(admin().queue_status("q")->unacked, 3u);
  EXPECT_TRUE(has_nothing(second));
  EXPECT_TRUE(has_nothing(third));
  // With its session the messages that it had go back, and the second gets all in order.
  active.reset();
  ASSERT_TRUE(first->close());
  first.reset();
  std::vector<int> seen;
  for (int i = 0; i < 10; ++i) {
    const Delivery delivery = next(second);
    seen.push_back(std::stoi(std::string(delivery.body())));
    delivery.ack();
  }
  std::sort(seen.begin(), seen.end());
  for (int i = 0; i < 10; ++i) EXPECT_EQ(seen[i], i);
  second.close();
  fill("q", 2);
  next(third).ack();
}

TEST_F(Consuming, Line20RequeuedMessagesComeBackInTheirPlace) {
  queue("q");
  fill("q", 6);
  {
    Consumer consumer = subscribe("q", with_prefetch(3));
    const Delivery first = next(consumer);
    const Delivery second = next(consumer);
    const Delivery third = next(consumer);
    EXPECT_FALSE(first.redelivered());
    EXPECT_EQ(first.delivery_count(), 0u);
    second.ack();
    first.requeue();
    third.reject();
    // 0 comes before 3.
    const Delivery again = next(consumer);
    EXPECT_EQ(again.body(), "0");
    EXPECT_TRUE(again.redelivered());
    EXPECT_EQ(again.delivery_count(), 1u);
    EXPECT_EQ(next(consumer).body(), "3");
    ASSERT_TRUE(again.ack_confirmed().get());
  }
  EXPECT_EQ(take("q"), (Bodies{"4", "5"}));  // 3 was handed out, and can still be settled
}

TEST_F(Consuming, Line20ReleaseDoesNotCount) {
  queue("q");
  fill("q", 2);
  Consumer consumer = subscribe("q", with_prefetch(1));
  next(consumer).release();
  const Delivery again = next(consumer);
  EXPECT_EQ(again.body(), "0");
  EXPECT_TRUE(again.redelivered());
  EXPECT_EQ(again.delivery_count(), 0u);
  again.requeue();
  const Delivery third = next(consumer);
  EXPECT_EQ(third.body(), "0");
  EXPECT_EQ(third.delivery_count(), 1u);
}

TEST_F(Consuming, Line20WhatASessionHadComesBackWhenItEnds) {
  queue("q");
  fill("q", 4);
  {
    Connection other = cluster().connect("other");
    auto consumer = other.subscribe("q", with_prefetch(2));
    ASSERT_TRUE(consumer);
    EXPECT_EQ(next(*consumer).body(), "0");
    EXPECT_EQ(next(*consumer).body(), "1");
    consumer->close();  // keeps what was handed out
    EXPECT_EQ(admin().queue_status("q")->unacked, 2u);
    ASSERT_TRUE(other.close());
  }
  Consumer consumer = subscribe("q");
  for (int i = 0; i < 4; ++i) {
    const Delivery delivery = next(consumer);
    EXPECT_EQ(delivery.body(), std::to_string(i));
    EXPECT_EQ(delivery.redelivered(), i < 2);
    EXPECT_EQ(delivery.delivery_count(), i < 2 ? 1u : 0u);
    delivery.ack();
  }
}

TEST_F(Consuming, Line20CountsOutliveTheNode) {
  queue("q");
  fill("q", 1);
  {
    Consumer consumer = subscribe("q", with_prefetch(1));
    for (int i = 0; i < 3; ++i) next(consumer).requeue();
    const Delivery delivery = next(consumer);
    EXPECT_EQ(delivery.delivery_count(), 3u);
    delivery.requeue();
    EXPECT_EQ(next(consumer).delivery_count(), 4u);
  }
  for (const char* const id : {"n1", "n2"}) cluster().kill(id);
  for (const char* const id : {"n1", "n2"}) cluster().start(id);
  ASSERT_TRUE(cluster().wait_ready()) << cluster().logs();
  Consumer consumer = subscribe("q");
  const Delivery delivery = next(consumer);
  EXPECT_TRUE(delivery.redelivered());
  EXPECT_GE(delivery.delivery_count(), 4u);
  delivery.ack();
}

TEST_F(Consuming, Line21WhatIsNotSettledInTimeGoesBackAndNothingIsClosed) {
  queue("q");
  fill("q", 2);
  ConsumerOptions slow = with_prefetch(1);
  slow.arguments["x-consumer-timeout"] = std::int64_t{200};
  Consumer consumer = subscribe("q", slow);
  const Delivery late = next(consumer);
  const Delivery again = next(consumer);  // the only credit came back with the time
  EXPECT_EQ(again.body(), late.body());
  EXPECT_TRUE(again.redelivered());
  EXPECT_EQ(again.delivery_count(), 1u);
  EXPECT_EQ(late.ack_confirmed().get().error().code, ErrorCode::kPreconditionFailed);
  again.ack();
  next(consumer).ack();
}

TEST_F(Consuming, Line21ADeliveryThatIsExtendedIsKept) {
  queue("q");
  fill("q", 2);
  ConsumerOptions slow = with_prefetch(2);
  slow.arguments["x-consumer-timeout"] = std::int64_t{5'000};
  Consumer consumer = subscribe("q", slow);
  const Delivery kept = next(consumer);
  const Delivery left = next(consumer);
  // Until the other one has come back, and was extended itself for a while.
  std::optional<Delivery> back;
  while (!back) {
    kept.extend();
    auto delivery = consumer.next(std::chrono::milliseconds(100));
    if (delivery) back = *delivery;
  }
  EXPECT_EQ(back->body(), left.body());
  EXPECT_TRUE(kept.ack_confirmed().get());
  back->ack();
}

TEST_F(Consuming, Line21ArgumentsOfConsumersThatMakeNoSenseAreRefused) {
  queue("q");
  for (const auto& [name, value] :
       std::map<std::string, Value>{{"x-consumer-timeout", std::int64_t{0}},
                                    {"x-consumer-timeout-ms", std::int64_t{5}},
                                    {"x-priority", std::string("high")}}) {
    ConsumerOptions options;
    options.arguments[name] = value;
    const auto refused = connection().subscribe("q", options);
    ASSERT_FALSE(refused) << name;
    EXPECT_EQ(refused.error().code, ErrorCode::kPreconditionFailed);
    EXPECT_NE(refused.error().text.find(name), std::string::npos) << refused.error().text;
  }
}

TEST_F(Consuming, Line22AConsumerIsToldWhenItsQueueIsDeleted) {
  queue("q");
  Consumer consumer = subscribe("q");
  ASSERT_TRUE(admin().delete_queue("q"));
  const auto delivery = consumer.next(kLong);
  ASSERT_FALSE(delivery);
  EXPECT_EQ(delivery.error().code, ErrorCode::kNotFound);
  ASSERT_TRUE(consumer.cancelled());
}

TEST_F(Consuming, Line22AConsumerOutlivesItsNodeAndItsRouter) {
  queue("q");
  Consumer consumer = subscribe("q");
  for (const char* const id : {"n1", "n2", "r1"}) {
    cluster().kill(id);
    cluster().start(id);
    publish_routed("", "q", id);
    const Delivery delivery = next(consumer);
    EXPECT_EQ(delivery.body(), id);
    EXPECT_TRUE(delivery.ack_confirmed().get());
  }
  EXPECT_FALSE(consumer.cancelled());
}

TEST_F(Consuming, Line23GetPollsOneMessage) {
  queue("q");
  fill("q", 3);
  const auto first = connection().get("q");
  ASSERT_TRUE(first && *first);
  EXPECT_EQ((*first)->body(), "0");
  const auto second = connection().get("q", true);
  ASSERT_TRUE(second && *second);
  EXPECT_EQ((*second)->body(), "1");
  EXPECT_EQ(admin().queue_status("q")->unacked, 1u);
  EXPECT_EQ(admin().queue_status("q")->ready, 1u);
  EXPECT_TRUE((*first)->ack_confirmed().get());
  EXPECT_EQ(take("q"), (Bodies{"2"}));
  const auto none = connection().get("q");
  ASSERT_TRUE(none);
  EXPECT_FALSE(none->has_value());
  EXPECT_EQ(connection().get("nosuch").error().code, ErrorCode::kNotFound);
}

}  // namespace
}  // namespace segue::client
