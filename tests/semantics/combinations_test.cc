// Two features at once: the matrix in docs/semantics.md.

#include <optional>

#include "tests/semantics/semantics_fixture.h"

namespace segue::client {
namespace {

class Combinations : public Semantics {
 protected:
  Fate publish_to(const std::string& name, const std::string& body, std::uint32_t priority,
                  std::optional<std::chrono::milliseconds> expiration = {}) {
    Message message = Message::to_queue(name, body);
    message.header.properties.priority = priority;
    message.header.properties.expiration = expiration;
    return Semantics::publish(std::move(message));
  }
  static std::string reason_of(const Delivery& letter) {
    const Table& headers = letter.properties().headers;
    const auto found = headers.find("x-last-death-reason");
    const std::string* text = found == headers.end() ? nullptr : found->second.as<std::string>();
    return text == nullptr ? "(none)" : *text;
  }
};

const Table kToDead{{"x-dead-letter-exchange", ""}, {"x-dead-letter-routing-key", "dead"}};

Table with(Table table, const std::string& name, Value value) {
  table[name] = std::move(value);
  return table;
}

constexpr std::chrono::milliseconds kSoon{1};

TEST_F(Combinations, PriorityAndTtl) {
  queue("q", {{"x-max-priority", 5}});
  publish_to("q", "late", 5, kSoon);
  publish_to("q", "low", 1);
  publish_to("q", "late too", 3, kSoon);
  publish_to("q", "high", 5);
  wait_for_ready("q", 2);
  EXPECT_EQ(take("q"), (Bodies{"high", "low"}));
  EXPECT_EQ(admin().queue_status("q")->enqueued_total, 4u);
}

TEST_F(Combinations, PriorityAndLimit) {
  queue("q", {{"x-max-priority", 5}, {"x-max-length", 3}});
  publish_to("q", "2a", 2);
  publish_to("q", "1a", 1);
  publish_to("q", "1b", 1);
  publish_to("q", "5a", 5);  // the oldest of the lowest goes
  publish_to("q", "0a", 0);  // and so it is itself
  wait_for_ready("q", 3);
  EXPECT_EQ(take("q"), (Bodies{"5a", "2a", "1b"}));
}

TEST_F(Combinations, PriorityAndRejectPublish) {
  queue("q", {{"x-max-priority", 5}, {"x-max-length", 2}, {"x-overflow", "reject-publish"}});
  EXPECT_TRUE(publish_to("q", "1a", 1).confirmed);
  EXPECT_TRUE(publish_to("q", "2a", 2).confirmed);
  EXPECT_FALSE(publish_to("q", "5a", 5).confirmed);  // room is room, whatever the priority
  EXPECT_EQ(take("q"), (Bodies{"2a", "1a"}));
}

TEST_F(Combinations, DeadLettersAndLimit) {
  queue("dead");
  queue("q", with(kToDead, "x-max-length", 1));
  publish_to("q", "1", 0);
  publish_to("q", "2", 0);
  const Delivery letter = next_of("dead");
  EXPECT_EQ(letter.body(), "1");
  EXPECT_EQ(reason_of(letter), "maxlen");
  EXPECT_EQ(take("q"), (Bodies{"2"}));
}

TEST_F(Combinations, DeadLettersAndTtl) {
  queue("dead");
  queue("q", with(kToDead, "x-message-ttl", 1));
  publish_to("q", "1", 0, std::chrono::milliseconds(50));
  const Delivery letter = next_of("dead");
  EXPECT_EQ(reason_of(letter), "expired");
  EXPECT_FALSE(letter.properties().expiration);  // else it would expire there, too
}

TEST_F(Combinations, DeadLettersAndPriority) {
  queue("dead", {{"x-max-priority", 5}});
  queue("q", with(kToDead, "x-max-priority", 5));
  publish_to("q", "low", 1);
  publish_to("q", "high", 4);
  for (const char* body : {"high", "low"}) {
    const Delivery delivery = next_of("q");
    EXPECT_EQ(delivery.body(), body);
    delivery.reject();
  }
  wait_for_ready("dead", 2);
  EXPECT_EQ(take("dead"), (Bodies{"high", "low"}));  // with the priorities that they had
}

TEST_F(Combinations, DeliveryLimitAndConsumerTimeout) {
  queue("dead");
  queue("q", with(with(kToDead, "x-delivery-limit", 1), "x-consumer-timeout", 100));
  publish_to("q", "stuck", 0);
  auto consumer = connection().subscribe("q");
  ASSERT_TRUE(consumer);
  EXPECT_TRUE(consumer->next(kLong));
  EXPECT_TRUE(consumer->next(kLong));
  EXPECT_EQ(reason_of(next_of("dead")), "delivery_limit");
}

TEST_F(Combinations, DeliveryLimitAndPriority) {
  queue("q", {{"x-delivery-limit", 0}, {"x-max-priority", 2}});
  publish_to("q", "1", 2);
  publish_to("q", "2", 1);
  next_of("q").requeue();
  wait_for_ready("q", 1);
  EXPECT_EQ(take("q"), (Bodies{"2"}));
}

TEST_F(Combinations, SingleActiveConsumerAndConsumerTimeout) {
  queue("q", {{"x-single-active-consumer", true}, {"x-consumer-timeout", 100}});
  auto active = connection().subscribe("q");
  auto waiting = connection().subscribe("q");
  ASSERT_TRUE(active && waiting);
  publish_to("q", "1", 0);
  EXPECT_TRUE(active->next(kLong));
  const auto again = active->next(kLong);  // it stays the active one
  ASSERT_TRUE(again);
  EXPECT_TRUE(again->redelivered());
  again->ack();
  EXPECT_FALSE(waiting->next(std::chrono::milliseconds(0)));
}

TEST_F(Combinations, TtlAndRequeue) {
  queue("q");
  publish_to("q", "1", 0);
  const Delivery out = next_of("q");
  update("q", {{"x-message-ttl", 1}});
  out.requeue();  // its time is over
  wait_for("q", [](const QueueDescription& status) { return status.ready + status.unacked == 0; });
}

TEST_F(Combinations, UnusedQueueAndDeadLetters) {
  queue("dead");
  queue("q", with(kToDead, "x-expires", 1));
  publish_to("q", "1", 0);
  EXPECT_TRUE(is_gone("q"));
  EXPECT_EQ(take("dead"), Bodies{});
}

}  // namespace
}  // namespace segue::client
