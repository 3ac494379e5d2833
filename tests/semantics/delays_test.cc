// Line 31 of docs/semantics.md: delayed messages.

#include <functional>

#include "tests/semantics/semantics_fixture.h"

namespace segue::client {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

class Delays : public Semantics {
 protected:
  Fate publish_delayed(const std::string& queue, const std::string& body, milliseconds delay,
                       std::uint32_t priority = 0) {
    Message message = Message::to_queue(queue, body);
    message.header.properties.delay = delay;
    message.header.properties.priority = priority;
    return publish(std::move(message));
  }
  Fate publish_at(const std::string& queue, const std::string& body, milliseconds from_now) {
    Message message = Message::to_queue(queue, body);
    message.header.properties.deliver_at =
        std::chrono::time_point_cast<milliseconds>(std::chrono::system_clock::now()) + from_now;
    return publish(std::move(message));
  }
  std::uint64_t delayed(const std::string& name) {
    const auto status = admin().queue_status(name);
    EXPECT_TRUE(status) << status.error().to_string();
    return status ? status->delayed : 0;
  }
  Bodies take_when_ready(const std::string& name, std::uint64_t count) {
    wait_for_ready(name, count);
    return take(name);
  }
};

TEST_F(Delays, Line31AMessageRestsUntilItsTimeAndComesInOrderOfTime) {
  for (const bool durable : {true, false}) {
    const std::string name = durable ? "durable" : "transient";
    queue(name, {}, durable);
    const auto begin = Clock::now();
    ASSERT_TRUE(publish_delayed(name, "third", milliseconds(1600)).confirmed);
    ASSERT_TRUE(publish_at(name, "second", milliseconds(1000)).confirmed);
    ASSERT_TRUE(publish_delayed(name, "first", milliseconds(500)).confirmed);
    publish_routed("", name, "at once");
    EXPECT_EQ(take(name), Bodies{"at once"});
    EXPECT_EQ(std::string(next_of(name).body()), "first");
    // Less than a millisecond early: arrivals are whole ones.
    EXPECT_GE(Clock::now() - begin, milliseconds(499));
    EXPECT_EQ(std::string(next_of(name).body()), "second");
    EXPECT_GE(Clock::now() - begin, milliseconds(990));
    EXPECT_EQ(std::string(next_of(name).body()), "third");
    EXPECT_GE(Clock::now() - begin, milliseconds(1599));
    EXPECT_EQ(delayed(name), 0u);
  }
}

TEST_F(Delays, Line31TimesThatMakeNoSenseAreRejected) {
  queue("q");
  const auto wrong = [&](Message message) {
    const Fate fate = publish(std::move(message));
    EXPECT_FALSE(fate.confirmed);
    EXPECT_EQ(fate.error, ErrorCode::kPreconditionFailed);
    EXPECT_NE(fate.text.find("milliseconds"), std::string::npos) << fate.text;
  };
  Message message = Message::to_queue("q", "m");
  message.header.properties.delay = milliseconds(-1);
  wrong(message);
  message.header.properties.delay = milliseconds(315'360'000'001);
  wrong(message);
  message.header.properties.delay = milliseconds(0);
  message.header.properties.deliver_at = Timestamp(milliseconds(-1));
  wrong(message);
  message.header.properties.deliver_at = Timestamp(milliseconds(253'402'300'800'000));
  wrong(message);
  EXPECT_EQ(delayed("q"), 0u);
}

TEST_F(Delays, Line31PendingOnesSurviveKilledNodesAndFiringOnesComeOnce) {
  queue("q");
  constexpr int kCount = 3000;
  // Most fire while nodes are killed; that their times are spread makes that so on any machine.
  for (int i = 0; i < kCount; ++i) {
    Message message = Message::to_queue("q", std::to_string(i));
    message.header.properties.delay = milliseconds(i % 2 == 0 ? 1000 + i : 600'000);
    ASSERT_TRUE(connection().publisher().publish(std::move(message)));
  }
  ASSERT_TRUE(connection().publisher().wait_for_confirms(kLong));
  for (const std::uint64_t at : {std::uint64_t{1}, std::uint64_t{300}, std::uint64_t{900}}) {
    wait_for("q", [=](const QueueDescription& status) { return status.ready >= at; });
    crash_nodes();
  }
  wait_for_ready("q", kCount / 2);
  const auto status = wait_for("q", [](const QueueDescription&) { return true; });
  EXPECT_EQ(status.delayed, kCount / 2u);
  Bodies bodies = take("q");
  std::set<int> numbers;
  for (const std::string& body : bodies) numbers.insert(std::stoi(body));
  EXPECT_EQ(bodies.size(), kCount / 2u);
  EXPECT_EQ(numbers.size(), kCount / 2u);
  for (const int number : numbers) EXPECT_EQ(number % 2, 0);
}

TEST_F(Delays, Line31AreSeenAndCancelled) {
  queue("q");
  for (const char* body : {"a", "b", "c"}) {
    ASSERT_TRUE(publish_delayed("q", body, milliseconds(2000)).confirmed);
  }
  EXPECT_EQ(delayed("q"), 3u);
  const auto page = admin().browse_delayed("q");
  ASSERT_TRUE(page) << page.error().to_string();
  ASSERT_EQ(page->messages.size(), 3u);
  EXPECT_EQ(page->messages[1].body, "b");
  EXPECT_EQ(page->messages[1].header.properties.delay, milliseconds(2000));
  EXPECT_EQ(page->through, 3u);
  EXPECT_EQ(*admin().cancel_delayed("q", {{2, 2}, {7, 9}}), 1u);
  EXPECT_EQ(delayed("q"), 2u);
  crash_nodes();
  EXPECT_EQ(take_when_ready("q", 2), (Bodies{"a", "c"}));
}

TEST_F(Delays, Line31APurgeLeavesThemIfEmptySeesThemAndADeletionTakesThem) {
  queue("q");
  ASSERT_TRUE(publish_delayed("q", "later", milliseconds(600'000)).confirmed);
  publish_routed("", "q", "now");
  EXPECT_EQ(*admin().purge_queue("q"), 1u);
  EXPECT_EQ(delayed("q"), 1u);
  Admin::DeleteQueueOptions if_empty;
  if_empty.if_empty = true;
  EXPECT_EQ(admin().delete_queue("q", if_empty).error().code, ErrorCode::kPreconditionFailed);
  EXPECT_TRUE(admin().delete_queue("q"));
  queue("q");
  EXPECT_EQ(delayed("q"), 0u);
}

TEST_F(Delays, Line31WithLimitsTheyCountWhenTheyAreReady) {
  queue("drops", {{"x-max-length", 1}});
  queue("rejects", {{"x-max-length", 1}, {"x-overflow", "reject-publish"}});
  for (const char* name : {"drops", "rejects"}) {
    ASSERT_TRUE(publish_delayed(name, "a", milliseconds(100)).confirmed);
    ASSERT_TRUE(publish_delayed(name, "b", milliseconds(200)).confirmed);
  }
  wait_for("drops", [](const QueueDescription& status) { return status.dropped_total == 1; });
  EXPECT_EQ(take("drops"), Bodies{"b"});
  // What finds no room waits until there is some.
  wait_for_ready("rejects", 1);
  EXPECT_EQ(take("rejects"), Bodies{"a"});
  EXPECT_EQ(take_when_ready("rejects", 1), Bodies{"b"});
}

TEST_F(Delays, Line31WithPrioritiesTheyTakeTheirPlaceWhenTheyAreReady) {
  queue("q", {{"x-max-priority", 3}});
  ASSERT_TRUE(publish_delayed("q", "low", milliseconds(100), 0).confirmed);
  ASSERT_TRUE(publish_delayed("q", "high", milliseconds(200), 3).confirmed);
  EXPECT_EQ(take_when_ready("q", 2), (Bodies{"high", "low"}));
}

TEST_F(Delays, Line31TimeToLiveBeginsWhenTheyAreReadyAndADeadLetterIsNotDelayedAgain) {
  queue("dead");
  queue("q", {{"x-message-ttl", 300},
              {"x-dead-letter-exchange", ""},
              {"x-dead-letter-routing-key", "dead"}});
  const auto begin = Clock::now();
  ASSERT_TRUE(publish_delayed("q", "m", milliseconds(1000)).confirmed);
  wait_for_ready("dead", 1);
  EXPECT_GE(Clock::now() - begin, milliseconds(1299));
  const Delivery letter = next_of("dead");
  EXPECT_EQ(std::string(letter.body()), "m");
  EXPECT_EQ(letter.properties().delay, milliseconds(0));
}

}  // namespace
}  // namespace segue::client
