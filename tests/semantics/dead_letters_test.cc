// Lines 27 to 29 of docs/semantics.md: delivery limits and dead letters.

#include <algorithm>
#include <optional>
#include <stdexcept>
#include <thread>

#include "tests/semantics/semantics_fixture.h"

namespace segue::client {
namespace {

class DeadLetters : public Semantics {
 protected:
  void queue_with(const std::string& name, const Table& arguments, bool durable = true) {
    QueueOptions options;
    options.arguments = arguments;
    options.durable = durable;
    const auto declared = admin().declare_queue(name, options);
    ASSERT_TRUE(declared) << declared.error().to_string();
  }
  ErrorCode refusal(const Table& arguments) {
    QueueOptions options;
    options.arguments = arguments;
    const auto declared = admin().declare_queue("refused", options);
    EXPECT_FALSE(declared);
    return declared ? ErrorCode::kInternalError : declared.error().code;
  }
  /// Takes the next message of the queue, waiting for it.
  Delivery next(const std::string& from) {
    const auto deadline = std::chrono::steady_clock::now() + kLong;
    while (std::chrono::steady_clock::now() < deadline) {
      auto got = connection().get(from, false);
      EXPECT_TRUE(got) << got.error().to_string();
      if (got && *got) return **got;
      std::this_thread::yield();
    }
    throw std::runtime_error("nothing comes to " + from + "\n" + cluster().logs());
  }
  void reject_next(const std::string& from) { next(from).reject(); }
  /// Waits until the condition holds for the queue's numbers.
  template <typename Condition>
  QueueDescription wait_for(const std::string& queue, Condition condition) {
    const auto deadline = std::chrono::steady_clock::now() + kLong;
    while (std::chrono::steady_clock::now() < deadline) {
      const auto status = admin().queue_status(queue);
      if (status && status->available && condition(*status)) return *status;
      std::this_thread::yield();
    }
    ADD_FAILURE() << queue << " does not come to what was expected\n" << cluster().logs();
    return {};
  }
  static const Table& headers_of(const Delivery& delivery) { return delivery.properties().headers; }
  static std::string text(const Table& table, const std::string& name) {
    const auto found = table.find(name);
    const std::string* value =
        found == table.end() ? nullptr : found->second.template as<std::string>();
    return value == nullptr ? "(none)" : *value;
  }
  static std::int64_t number(const Table& table, const std::string& name) {
    const auto found = table.find(name);
    const std::int64_t* value =
        found == table.end() ? nullptr : found->second.template as<std::int64_t>();
    return value == nullptr ? -1 : *value;
  }
  static std::vector<Table> deaths_of(const Delivery& delivery) {
    std::vector<Table> deaths;
    const auto found = headers_of(delivery).find("x-death");
    if (found == headers_of(delivery).end()) return deaths;
    const Array* array = found->second.as<Array>();
    EXPECT_NE(array, nullptr);
    if (array == nullptr) return deaths;
    for (const Value& value : *array) {
      const Table* table = value.as<Table>();
      EXPECT_NE(table, nullptr);
      if (table != nullptr) deaths.push_back(*table);
    }
    return deaths;
  }
};

const Table kToDead{{"x-dead-letter-exchange", ""}, {"x-dead-letter-routing-key", "dead"}};

TEST_F(DeadLetters, Line28ARejectedMessageGoesToTheDeadLetterExchange) {
  queue("dead");
  queue_with("q", kToDead);
  publish_routed("", "q", "one");
  publish_routed("", "q", "two");
  reject_next("q");
  EXPECT_EQ(next("dead").body(), "one");
  const auto status =
      wait_for("q", [](const QueueDescription& now) { return now.dead_lettering == 0; });
  EXPECT_EQ(status.ready, 1u);
  EXPECT_EQ(status.unacked, 0u);
  EXPECT_EQ(status.dead_letter_dropped, 0u);
}

}  // namespace
}  // namespace segue::client
