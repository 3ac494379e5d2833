// Retry back-off: messages that rest between two deliveries.
#include "node/queue_settings.h"
#include "tests/node/queue_host_fixture.h"

namespace segue::node {
namespace {

using std::chrono::milliseconds;
using Bodies = std::vector<std::string>;

class Retries : public QueueHostTest {
 protected:
  void declare_with(std::uint64_t id, const std::map<std::string, std::int64_t>& numbers,
                    bool durable = true) {
    v1::QueueDefinition definition = define(id, durable);
    for (const auto& [name, value] : numbers) {
      (*definition.mutable_arguments())[name].set_int_value(value);
    }
    definitions.back() = definition;
    host->add_queue(definition);
  }
  void requeue(std::uint64_t consumer, std::uint64_t number, std::uint64_t delay_ms = 0) {
    v1::PeerSettle message;
    message.set_consumer(consumer);
    v1::SettledTags& tags = *message.add_settled();
    tags.mutable_tags()->set_first(number);
    tags.mutable_tags()->set_last(number);
    tags.set_outcome(v1::OUTCOME_REQUEUE);
    tags.set_delay_ms(delay_ms);
    host->on_settle(kRouter, message);
    settle_down();
  }
  /// How long until the message comes to the consumer, in steps of 100 ms; its number.
  std::pair<int, std::uint64_t> wait_for_next(std::uint64_t consumer) {
    for (int steps = 0; steps < 1000; ++steps) {
      settle_down();
      const auto messages = take(consumer);
      if (!messages.empty()) return {steps, messages.back().number};
      tick();
    }
    return {-1, 0};
  }
};

TEST(RetryBackOff, GrowsByItsFactorUpToTheMost) {
  RetryBackOff retry;
  EXPECT_FALSE(retry.any());
  retry = {100, 1000, 3};
  EXPECT_EQ(retry.rest_ms(0), 100);
  EXPECT_EQ(retry.rest_ms(1), 300);
  EXPECT_EQ(retry.rest_ms(2), 900);
  EXPECT_EQ(retry.rest_ms(3), 1000);
  EXPECT_EQ(retry.rest_ms(4'000'000'000), 1000);
  retry = {100, kMaxExpirationMs, 1};
  EXPECT_EQ(retry.rest_ms(4'000'000'000), 100);
  retry = {kMaxExpirationMs, kMaxExpirationMs, 100};
  EXPECT_EQ(retry.rest_ms(50), kMaxExpirationMs);
  retry = {500, 200, 2};
  EXPECT_EQ(retry.rest_ms(0), 200);
}

TEST_F(Retries, AMessageThatComesBackRestsLongerEachTime) {
  for (const bool durable : {true, false}) {
    const std::uint64_t queue = durable ? 1 : 2;
    declare_with(queue, {{"x-retry-delay", 200}, {"x-retry-factor", 2}, {"x-retry-delay-max", 500}},
                 durable);
    subscribe(queue, queue);
    publish({"m"}, {queue});
    auto next = wait_for_next(queue);
    EXPECT_EQ(next.first, 0);
    for (const int steps : {2, 4, 5, 5}) {
      requeue(queue, next.second);
      EXPECT_EQ(status(queue).delayed(), 1u);
      EXPECT_EQ(status(queue).ready() + status(queue).unacked(), 0u);
      next = wait_for_next(queue);
      EXPECT_EQ(next.first, steps);
      EXPECT_EQ(status(queue).delayed(), 0u);
    }
    settle(queue, next.second, next.second);
    settle_down();
    EXPECT_EQ(status(queue).unacked(), 0u);
  }
}

TEST_F(Retries, OthersAreDeliveredMeanwhileAndItReturnsToItsPlace) {
  declare_with(1, {{"x-retry-delay", 300}});
  publish({"a", "b", "c", "d"}, {1});
  settle_down();
  subscribe(1, 1, Terms{.prefetch = 1});
  settle_down();
  auto first = take(1);
  ASSERT_EQ(first.size(), 1u);
  requeue(1, first[0].number);
  auto second = take(1);
  ASSERT_EQ(second.size(), 1u);
  EXPECT_EQ(second[0].body, "b");
  for (int i = 0; i < 4; ++i) tick();
  settle(1, second[0].number, second[0].number);
  settle_down();
  const auto third = take(1);
  ASSERT_EQ(third.size(), 1u);
  EXPECT_EQ(third[0].body, "a");
  EXPECT_TRUE(third[0].redelivered);
  EXPECT_EQ(third[0].delivery_count, 1u);
}

TEST_F(Retries, ARequeueMayNameItsOwnDelay) {
  declare(1);
  declare_with(2, {{"x-retry-delay", 60'000}});
  for (const std::uint64_t queue : {1, 2}) {
    subscribe(queue, queue);
    publish({"m"}, {queue});
    auto next = wait_for_next(queue);
    requeue(queue, next.second, 400);
    next = wait_for_next(queue);
    EXPECT_EQ(next.first, 4);
    settle(queue, next.second, next.second, v1::OUTCOME_RELEASE);
    EXPECT_EQ(wait_for_next(queue).first, 0);
  }
}

TEST_F(Retries, ALostConsumersMessagesRestAndARestartEndsIt) {
  declare_with(1, {{"x-retry-delay", 60'000}});
  publish({"a", "b"}, {1});
  subscribe(1, 1);
  settle_down();
  EXPECT_EQ(take_bodies(1), (Bodies{"a", "b"}));
  host->on_peer_lost(kRouter);
  settle_down();
  EXPECT_EQ(status(1).delayed(), 2u);
  EXPECT_EQ(status(1).ready(), 0u);
  EXPECT_EQ(purge(1).reply.purged(), 0u);
  open();
  settle_down();
  EXPECT_EQ(status(1).delayed(), 0u);
  EXPECT_EQ(status(1).ready(), 2u);
  EXPECT_EQ(drain(), (Bodies{"a", "b"}));
}

TEST_F(Retries, TheDeliveryLimitCountsAsAlways) {
  declare_with(1, {{"x-retry-delay", 100}, {"x-delivery-limit", 1}});
  publish({"m"}, {1});
  subscribe(1, 1);
  auto next = wait_for_next(1);
  requeue(1, next.second);
  next = wait_for_next(1);
  EXPECT_EQ(next.first, 1);
  requeue(1, next.second);
  EXPECT_EQ(status(1).delayed() + status(1).ready() + status(1).unacked(), 0u);
}

TEST_F(Retries, WhatRestsGoesWithItsQueue) {
  declare_with(1, {{"x-retry-delay", 500}});
  publish({"m"}, {1});
  subscribe(1, 1);
  requeue(1, wait_for_next(1).second);
  host->remove_queue(QueueId{1});
  for (int i = 0; i < 10; ++i) tick();
  EXPECT_EQ(host->state().ready(), 0u);
}

}  // namespace
}  // namespace segue::node
