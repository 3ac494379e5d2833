// Two features at once: the matrix in docs/semantics.md.

#include <optional>
#include <stdexcept>
#include <thread>

#include "tests/semantics/semantics_fixture.h"

namespace segue::client {
namespace {

class Combinations : public Semantics {
 protected:
  void queue_with(const std::string& name, const Table& arguments) {
    QueueOptions options;
    options.arguments = arguments;
    const auto declared = admin().declare_queue(name, options);
    ASSERT_TRUE(declared) << declared.error().to_string();
  }
  Fate publish_to(const std::string& name, const std::string& body, std::uint32_t priority,
                  std::optional<std::chrono::milliseconds> expiration = {}) {
    Message message = Message::to_queue(name, body);
    message.header.properties.priority = priority;
    message.header.properties.expiration = expiration;
    return Semantics::publish(std::move(message));
  }
  template <typename Condition>
  void wait_for(const std::string& queue, Condition condition) {
    const auto deadline = std::chrono::steady_clock::now() + kLong;
    while (std::chrono::steady_clock::now() < deadline) {
      const auto status = admin().queue_status(queue);
      if (status && status->available && condition(*status)) return;
      std::this_thread::yield();
    }
    FAIL() << queue << " does not come to what was expected\n" << cluster().logs();
  }
  void wait_for_ready(const std::string& queue, std::uint64_t count) {
    wait_for(queue, [=](const QueueDescription& status) { return status.ready == count; });
  }
  Delivery next(const std::string& from) {
    const auto deadline = std::chrono::steady_clock::now() + kLong;
    while (std::chrono::steady_clock::now() < deadline) {
      auto got = connection().get(from, false);
      EXPECT_TRUE(got) << got.error().to_string();
      if (got && *got) return **got;
      std::this_thread::yield();
    }
    throw std::runtime_error("nothing comes to " + from);
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
  queue_with("q", {{"x-max-priority", 5}});
  publish_to("q", "late", 5, kSoon);
  publish_to("q", "low", 1);
  publish_to("q", "late too", 3, kSoon);
  publish_to("q", "high", 5);
  wait_for_ready("q", 2);
  EXPECT_EQ(take("q"), (Bodies{"high", "low"}));
  EXPECT_EQ(admin().queue_status("q")->enqueued_total, 4u);
}

TEST_F(Combinations, PriorityAndLimit) {
  queue_with("q", {{"x-max-priority", 5}, {"x-max-length", 3}});
  publish_to("q", "2a", 2);
  publish_to("q", "1a", 1);
  publish_to("q", "1b", 1);
  publish_to("q", "5a", 5);  // the oldest of the lowest goes
  publish_to("q", "0a", 0);  // and so it is itself
  wait_for_ready("q", 3);
  EXPECT_EQ(take("q"), (Bodies{"5a", "2a", "1b"}));
}

TEST_F(Combinations, PriorityAndRejectPublish) {
  queue_with("q", {{"x-max-priority", 5}, {"x-max-length", 2}, {"x-overflow", "reject-publish"}});
  EXPECT_TRUE(publish_to("q", "1a", 1).confirmed);
  EXPECT_TRUE(publish_to("q", "2a", 2).confirmed);
  EXPECT_FALSE(publish_to("q", "5a", 5).confirmed);  // room is room, whatever the priority
  EXPECT_EQ(take("q"), (Bodies{"2a", "1a"}));
}

TEST_F(Combinations, DeadLettersAndLimit) {
  queue("dead");
  queue_with("q", with(kToDead, "x-max-length", 1));
  publish_to("q", "1", 0);
  publish_to("q", "2", 0);
  const Delivery letter = next("dead");
  EXPECT_EQ(letter.body(), "1");
  EXPECT_EQ(reason_of(letter), "maxlen");
  EXPECT_EQ(take("q"), (Bodies{"2"}));
}

TEST_F(Combinations, DeadLettersAndTtl) {
  queue("dead");
  queue_with("q", with(kToDead, "x-message-ttl", 1));
  publish_to("q", "1", 0, std::chrono::milliseconds(50));
  const Delivery letter = next("dead");
  EXPECT_EQ(reason_of(letter), "expired");
  EXPECT_FALSE(letter.properties().expiration);  // else it would expire there, too
}

TEST_F(Combinations, DeadLettersAndPriority) {
  queue_with("dead", {{"x-max-priority", 5}});
  queue_with("q", with(kToDead, "x-max-priority", 5));
  publish_to("q", "low", 1);
  publish_to("q", "high", 4);
  for (const char* body : {"high", "low"}) {
    const Delivery delivery = next("q");
    EXPECT_EQ(delivery.body(), body);
    delivery.reject();
  }
  wait_for_ready("dead", 2);
  EXPECT_EQ(take("dead"), (Bodies{"high", "low"}));  // with the priorities that they had
}

TEST_F(Combinations, DeliveryLimitAndConsumerTimeout) {
  queue("dead");
  queue_with("q", with(with(kToDead, "x-delivery-limit", 1), "x-consumer-timeout", 100));
  publish_to("q", "stuck", 0);
  auto consumer = connection().subscribe("q");
  ASSERT_TRUE(consumer);
  EXPECT_TRUE(consumer->next(kLong));
  EXPECT_TRUE(consumer->next(kLong));
  EXPECT_EQ(reason_of(next("dead")), "delivery_limit");
}

TEST_F(Combinations, DeliveryLimitAndPriority) {
  queue_with("q", {{"x-delivery-limit", 0}, {"x-max-priority", 2}});
  publish_to("q", "1", 2);
  publish_to("q", "2", 1);
  next("q").requeue();
  wait_for_ready("q", 1);
  EXPECT_EQ(take("q"), (Bodies{"2"}));
}

TEST_F(Combinations, SingleActiveConsumerAndConsumerTimeout) {
  queue_with("q", {{"x-single-active-consumer", true}, {"x-consumer-timeout", 100}});
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
  queue_with("q", {{"x-message-ttl", 1'000}});
  publish_to("q", "1", 0);
  const Delivery out = next("q");
  publish_to("q", "2", 0);
  wait_for_ready("q", 0);  // the later one's time is over, so this one's is
  out.requeue();
  wait_for("q", [](const QueueDescription& status) { return status.ready + status.unacked == 0; });
}

TEST_F(Combinations, UnusedQueueAndDeadLetters) {
  queue("dead");
  queue_with("q", with(kToDead, "x-expires", 1));
  publish_to("q", "1", 0);
  const auto deadline = std::chrono::steady_clock::now() + kLong;
  while (admin().queue_status("q") && std::chrono::steady_clock::now() < deadline) {
  }
  EXPECT_FALSE(admin().queue_status("q"));
  EXPECT_EQ(take("dead"), Bodies{});
}

}  // namespace
}  // namespace segue::client
