// Lines 27 to 29 of docs/semantics.md: delivery limits and dead letters.

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <map>
#include <optional>
#include <random>
#include <stdexcept>
#include <thread>

#include "tests/semantics/semantics_fixture.h"

namespace segue::client {
namespace {

class DeadLetters : public Semantics {
 protected:
  ErrorCode refusal(const Table& arguments) {
    QueueOptions options;
    options.arguments = arguments;
    const auto declared = admin().declare_queue("refused", options);
    EXPECT_FALSE(declared);
    return declared ? ErrorCode::kInternalError : declared.error().code;
  }
  void reject_next(const std::string& from) { next_of(from).reject(); }
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

Table with(Table table, const std::string& name, Value value) {
  table[name] = std::move(value);
  return table;
}

TEST_F(DeadLetters, Line27TheDeliveryAfterTheLimitIsTheLast) {
  queue("dead");
  queue("q", with(kToDead, "x-delivery-limit", 2));
  publish_routed("", "q", "a");
  for (std::uint32_t count = 0; count < 3; ++count) {
    next_of("q").release();  // does not count
    const Delivery delivery = next_of("q");
    EXPECT_EQ(delivery.delivery_count(), count);
    delivery.requeue();
  }
  const Delivery dead = next_of("dead");
  EXPECT_EQ(dead.body(), "a");
  EXPECT_EQ(text(headers_of(dead), "x-first-death-reason"), "delivery_limit");
  EXPECT_EQ(admin().queue_status("q")->ready, 0u);
}

TEST_F(DeadLetters, Line27LostSessionsCountAndWithoutAnExchangeTheMessageIsDropped) {
  queue("q", {{"x-delivery-limit", 1}});
  publish_routed("", "q", "a");
  for (int i = 0; i < 2; ++i) {
    Connection other = cluster().connect("other");
    auto consumer = other.subscribe("q");
    ASSERT_TRUE(consumer) << consumer.error().to_string();
    ASSERT_TRUE(consumer->next(kLong));
    // Its session ends without an ack.
  }
  const auto empty =
      wait_for("q", [](const QueueDescription& now) { return now.ready == 0 && now.unacked == 0; });
  EXPECT_EQ(empty.dead_lettering, 0u);
  queue("never", {{"x-delivery-limit", 0}});
  publish_routed("", "never", "b");
  next_of("never").requeue();
  wait_for("never", [](const QueueDescription& now) { return now.ready + now.unacked == 0; });
}

TEST_F(DeadLetters, Line28ARejectedMessageGoesToTheDeadLetterExchange) {
  queue("dead");
  queue("q", kToDead);
  publish_routed("", "q", "one");
  publish_routed("", "q", "two");
  reject_next("q");
  EXPECT_EQ(next_of("dead").body(), "one");
  const auto status =
      wait_for("q", [](const QueueDescription& now) { return now.dead_lettering == 0; });
  EXPECT_EQ(status.ready, 1u);
  EXPECT_EQ(status.unacked, 0u);
  EXPECT_EQ(status.dead_letter_dropped, 0u);
}

TEST_F(DeadLetters, Line28ItGoesToQueuesOfAllShardsAndThroughAlternateAndInternalExchanges) {
  ExchangeOptions internal;
  internal.internal = true;
  internal.arguments = {{"alternate-exchange", "other"}};
  ASSERT_TRUE(admin().declare_exchange("dlx", internal));
  exchange("other", "fanout");
  std::vector<std::string> targets;
  for (int i = 0; i < 8; ++i) {
    targets.push_back("dead " + std::to_string(i));
    queue(targets.back());
    bind(i % 2 == 0 ? Binding{"dlx", targets.back(), "even"}
                    : Binding{"other", targets.back(), ""});
  }
  queue("q", {{"x-dead-letter-exchange", "dlx"}, {"x-dead-letter-routing-key", "even"}});
  publish_routed("", "q", "a");
  reject_next("q");
  for (int i = 0; i < 8; i += 2)
    EXPECT_EQ(next_of(targets[static_cast<std::size_t>(i)]).body(), "a");
  queue("r", {{"x-dead-letter-exchange", "dlx"}});
  publish_routed("", "r", "b");
  reject_next("r");
  for (int i = 1; i < 8; i += 2)
    EXPECT_EQ(next_of(targets[static_cast<std::size_t>(i)]).body(), "b");
  for (const std::string& target : targets) EXPECT_EQ(take(target), Bodies{});
}

TEST_F(DeadLetters, Line28OneThatNoQueueTakesIsDroppedAndCounted) {
  queue("q", {{"x-dead-letter-exchange", "missing"}});
  queue("plain", {});
  for (const char* name : {"q", "plain"}) {
    publish_routed("", name, "a");
    reject_next(name);
  }
  const auto dropped =
      wait_for("q", [](const QueueDescription& now) { return now.dead_letter_dropped == 1; });
  EXPECT_EQ(dropped.dead_lettering, 0u);
  wait_for("plain", [](const QueueDescription& now) { return now.ready + now.unacked == 0; });
  EXPECT_EQ(admin().queue_status("plain")->dead_letter_dropped, 0u);
}

TEST_F(DeadLetters, Line28LettersWaitForATargetThatIsDownAndDelayNoAnswer) {
  // A source on one node and a target on the other.
  std::string source;
  std::string target;
  for (int i = 0; source.empty() || target.empty(); ++i) {
    const std::string name = "q" + std::to_string(i);
    queue(name);
    const std::string node = admin().queue_status(name)->node;
    std::string& wanted = node == "n1" ? source : target;
    if (wanted.empty()) wanted = name;
    if (wanted != name || &wanted == &source) {
      ASSERT_TRUE(admin().delete_queue(name));
    }
  }
  queue(source, {{"x-dead-letter-exchange", ""}, {"x-dead-letter-routing-key", target}});
  constexpr int kMessages = 300;
  for (int i = 0; i < kMessages; ++i) publish_routed("", source, std::to_string(i));
  cluster().kill("n2");
  auto consumer = connection().subscribe(source);
  ASSERT_TRUE(consumer);
  for (int i = 0; i < kMessages; ++i) consumer->next(kLong)->reject();
  const auto waiting = wait_for(source, [](const QueueDescription& now) {
    return now.dead_lettering == kMessages && now.unacked == 0;
  });
  EXPECT_EQ(waiting.ready, 0u);
  // The source's node goes too, once as it likes and once without warning.
  EXPECT_EQ(cluster().process("n1").terminate(), 0);
  cluster().start("n1");
  wait_for(source, [](const QueueDescription& now) { return now.dead_lettering == kMessages; });
  cluster().kill("n1");
  cluster().start("n1");
  const auto still =
      wait_for(source, [](const QueueDescription& now) { return now.dead_lettering == kMessages; });
  EXPECT_EQ(still.ready, 0u);
  cluster().start("n2");
  wait_for(source, [](const QueueDescription& now) { return now.dead_lettering == 0; });
  Bodies expected;
  for (int i = 0; i < kMessages; ++i) expected.push_back(std::to_string(i));
  EXPECT_EQ(take(target), expected);
}

TEST_F(DeadLetters, Line28ATransientQueueHasDeadLettersToo) {
  queue("dead");
  queue("q", kToDead, false);
  publish_routed("", "q", "a");
  reject_next("q");
  EXPECT_EQ(next_of("dead").body(), "a");
  wait_for("q", [](const QueueDescription& now) { return now.dead_lettering == 0; });
}

TEST_F(DeadLetters, Line28OddArgumentsAreRefused) {
  EXPECT_EQ(refusal({{"x-dead-letter-exchange", 7}}), ErrorCode::kPreconditionFailed);
  EXPECT_EQ(refusal({{"x-dead-letter-routing-key", "key"}}), ErrorCode::kPreconditionFailed);
  EXPECT_EQ(refusal({{"x-dead-letter-exchange", ""}, {"x-dead-letter-routing-key", true}}),
            ErrorCode::kPreconditionFailed);
  EXPECT_EQ(refusal({{"x-delivery-limit", -1}}), ErrorCode::kPreconditionFailed);
  EXPECT_EQ(refusal({{"x-delivery-limit", "3"}}), ErrorCode::kPreconditionFailed);
}

TEST_F(DeadLetters, Line29TheLetterTellsOfItsDeaths) {
  exchange("ex", "topic");
  exchange("dlx", "fanout");
  queue("q", {{"x-dead-letter-exchange", "dlx"}});
  queue("dead", {{"x-dead-letter-exchange", ""}, {"x-dead-letter-routing-key", "q"}});
  bind({"ex", "q", "a.#"});
  bind({"dlx", "dead", ""});
  Message message = Message::to_exchange("ex", "a.b", "body");
  message.header.properties.expiration = std::chrono::hours(1);
  message.header.properties.message_id = "id";
  message.header.properties.headers = {{"mine", 5}, {"x-death", "odd"}};
  EXPECT_TRUE(publish(std::move(message)).confirmed);
  reject_next("q");
  {
    const Delivery letter = next_of("dead");
    EXPECT_EQ(letter.body(), "body");
    EXPECT_EQ(letter.exchange(), "dlx");
    EXPECT_EQ(letter.routing_key(), "a.b");
    EXPECT_EQ(letter.properties().message_id, "id");
    EXPECT_FALSE(letter.properties().expiration);
    EXPECT_EQ(number(headers_of(letter), "mine"), 5);
    const auto deaths = deaths_of(letter);
    ASSERT_EQ(deaths.size(), 1u);
    EXPECT_EQ(text(deaths[0], "queue"), "q");
    EXPECT_EQ(text(deaths[0], "reason"), "rejected");
    EXPECT_EQ(text(deaths[0], "exchange"), "ex");
    EXPECT_EQ(text(deaths[0], "original-expiration"), "3600000");
    EXPECT_EQ(number(deaths[0], "count"), 1);
    EXPECT_EQ(deaths[0].at("routing-keys"), Value(Array{Value("a.b")}));
    EXPECT_NE(deaths[0].at("time").as<Timestamp>(), nullptr);
    letter.reject();
  }
  reject_next("q");  // which it has come back to
  const Delivery letter = next_of("dead");
  EXPECT_EQ(letter.routing_key(), "q");
  const auto deaths = deaths_of(letter);
  ASSERT_EQ(deaths.size(), 2u);
  EXPECT_EQ(text(deaths[0], "queue"), "q");
  EXPECT_EQ(number(deaths[0], "count"), 2);
  EXPECT_EQ(text(deaths[1], "queue"), "dead");
  EXPECT_EQ(text(headers_of(letter), "x-first-death-queue"), "q");
  EXPECT_EQ(text(headers_of(letter), "x-first-death-exchange"), "ex");
  EXPECT_EQ(text(headers_of(letter), "x-last-death-queue"), "q");
  EXPECT_EQ(text(headers_of(letter), "x-last-death-exchange"), "");
}

TEST_F(DeadLetters, Line29ACycleThatTurnsByItselfEnds) {
  queue("rejects", {{"x-dead-letter-exchange", ""}});
  publish_routed("", "rejects", "a");
  for (std::int64_t count = 0; count < 4; ++count) {
    const Delivery delivery = next_of("rejects");
    const auto deaths = deaths_of(delivery);
    ASSERT_EQ(deaths.size(), count == 0 ? 0u : 1u);
    if (count > 0) {
      EXPECT_EQ(number(deaths[0], "count"), count);
    }
    delivery.reject();
  }
  queue("limits", {{"x-dead-letter-exchange", ""}, {"x-delivery-limit", 0}});
  publish_routed("", "limits", "b");
  next_of("limits").requeue();
  const auto dropped =
      wait_for("limits", [](const QueueDescription& now) { return now.dead_letter_dropped == 1; });
  EXPECT_EQ(dropped.ready + dropped.dead_lettering, 0u);
}

/// Nodes are killed while messages are published, rejected and forwarded.
TEST_F(DeadLetters, Line28EachLetterArrivesOnceWhateverNodeIsKilled) {
  const char* const rounds_text = std::getenv("SEGUE_CRASH_ROUNDS");
  const int rounds = rounds_text == nullptr ? 6 : std::atoi(rounds_text);
  std::mt19937 random(rounds_text == nullptr ? 7u : std::random_device{}());
  exchange("dlx", "fanout");
  const std::vector<std::string> targets{"dead 1", "dead 2", "dead 3"};
  for (const std::string& target : targets) {
    queue(target);
    bind({"dlx", target, ""});
  }
  const std::vector<std::string> sources{"s1", "s2", "s3", "s4"};
  for (const std::string& source : sources) {
    queue(source, {{"x-dead-letter-exchange", "dlx"}});
  }
  // Rejects everything that it is given.
  Connection rejecting = cluster().connect("rejecting");
  std::atomic<bool> stopping = false;
  std::thread rejecter([&] {
    std::vector<Consumer> consumers;
    for (const std::string& source : sources) {
      consumers.push_back(*rejecting.subscribe(source, {.prefetch = 50}));
    }
    while (!stopping) {
      for (Consumer& consumer : consumers) {
        const auto batch = consumer.next_batch(50, std::chrono::milliseconds(5));
        if (batch) batch->reject();
      }
    }
  });
  int published = 0;
  for (int round = 0; round < rounds; ++round) {
    const int target = published + 400;
    const auto publish_some = [&](int until) {
      for (; published < until; ++published) {
        const auto& source = sources[static_cast<std::size_t>(published) % sources.size()];
        ASSERT_TRUE(
            connection().publisher().publish(Message::to_queue(source, std::to_string(published))));
      }
    };
    publish_some(published + static_cast<int>(random() % 400));
    const std::string node = random() % 2 == 0 ? "n1" : "n2";
    cluster().kill(node);
    if (random() % 3 == 0) {
      const std::string other = node == "n1" ? "n2" : "n1";
      cluster().kill(other);
      cluster().start(other);
    }
    cluster().start(node);
    publish_some(target);
    ASSERT_TRUE(connection().publisher().wait_for_confirms(kLong)) << cluster().logs();
  }
  for (const std::string& source : sources) {
    wait_for(source, [](const QueueDescription& now) {
      return now.ready + now.unacked + now.dead_lettering == 0;
    });
  }
  stopping = true;
  rejecter.join();
  for (const std::string& target : targets) {
    std::map<std::string, int> seen;
    for (const std::string& body : take(target)) ++seen[body];
    EXPECT_EQ(seen.size(), static_cast<std::size_t>(published)) << target;
    for (const auto& [body, count] : seen) EXPECT_EQ(count, 1) << body << " in " << target;
  }
}

/// Letters with gaps between them, on disk: what is read of them counts once in the node's memory.
TEST_F(DeadLetters, Line28ManyLettersThatWaitOnDiskGoWhenThereIsRoom) {
  constexpr int kMessages = 4'000;
  queue("dead", {{"x-max-length", 0}, {"x-overflow", "reject-publish"}});
  queue("q", kToDead);
  MessageHeader header;
  header.routing_key = "q";
  const std::string body(400, 'x');
  for (int i = 0; i < kMessages; ++i) {
    ASSERT_TRUE(connection().publisher().publish(header, body));
  }
  ASSERT_TRUE(connection().publisher().wait_for_confirms(kLong));
  {
    ConsumerOptions options;
    options.prefetch = 0;
    auto consumer = connection().subscribe("q", options);
    ASSERT_TRUE(consumer);
    for (int i = 0; i < kMessages; ++i) {
      const auto delivery = consumer->next(kLong);
      ASSERT_TRUE(delivery);
      if (i % 2 == 0) {
        delivery->ack();
      } else {
        delivery->reject();
      }
    }
    wait_for("q", [](const QueueDescription& status) {
      return status.unacked == 0 && status.dead_lettering == kMessages / 2;
    });
  }
  for (const std::string& id : cluster().node_ids()) {
    EXPECT_EQ(cluster().process(id).terminate(), 0);  // they are in segments then
    cluster().start(id);
  }
  ASSERT_TRUE(cluster().wait_ready()) << cluster().logs();
  update("dead", {});
  wait_for_ready("dead", kMessages / 2);
  wait_for("q", [](const QueueDescription& status) { return status.dead_lettering == 0; });
}

}  // namespace
}  // namespace segue::client
