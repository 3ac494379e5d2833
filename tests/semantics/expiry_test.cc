// Line 25 of docs/semantics.md: time to live.

#include <functional>

#include "tests/semantics/semantics_fixture.h"

namespace segue::client {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

class Expiry : public Semantics {
 protected:
  void queue_with_ttl(const std::string& name, int ttl_ms, bool durable = true) {
    queue(name, {{"x-message-ttl", ttl_ms}}, durable);
  }
  Fate publish_timed(const std::string& queue, const std::string& body, milliseconds expiration) {
    Message message = Message::to_queue(queue, body);
    message.header.properties.expiration = expiration;
    return publish(std::move(message));
  }
  std::uint64_t ready(const std::string& name) {
    const auto status = admin().queue_status(name);
    EXPECT_TRUE(status) << status.error().to_string();
    return status ? status->ready : 0;
  }
  /// Asks until it is so; false after a long time.
  static bool comes_true(const std::function<bool()>& so) {
    const auto deadline = Clock::now() + kLong;
    while (!so()) {
      if (Clock::now() > deadline) return false;
    }
    return true;
  }
};

TEST_F(Expiry, Line25TheLesserOfQueueAndMessageCountsFromArrival) {
  for (const bool durable : {true, false}) {
    const std::string name = durable ? "durable" : "transient";
    queue_with_ttl(name, 5000, durable);
    const auto begin = Clock::now();
    publish_routed("", name, "by the queue");
    ASSERT_TRUE(publish_timed(name, "by itself", milliseconds(200)).confirmed);
    ASSERT_TRUE(publish_timed(name, "by the queue, too", milliseconds(60'000)).confirmed);
    // Nobody reads: it goes from between the others.
    ASSERT_TRUE(comes_true([&] { return ready(name) == 2; }));
    EXPECT_GE(Clock::now() - begin, milliseconds(200));
    ASSERT_TRUE(comes_true([&] { return ready(name) == 0; }));
    EXPECT_GE(Clock::now() - begin, milliseconds(5000));
    const auto status = admin().queue_status(name);
    EXPECT_EQ(status->expired_total, 3u);
    // They are away when that is logged.
    EXPECT_TRUE(comes_true([&] { return admin().queue_status(name)->bytes == 0; }));
    EXPECT_TRUE(take(name).empty());
  }
}

TEST_F(Expiry, Line25AnExpiredMessageIsNotDelivered) {
  queue("q");
  const auto begin = Clock::now();
  ASSERT_TRUE(publish_timed("q", "short", milliseconds(50)).confirmed);
  ASSERT_TRUE(publish_timed("q", "long", milliseconds(600'000)).confirmed);
  // The sweep may not have come yet; what asks for a message does not see it all the same.
  ASSERT_TRUE(comes_true([&] { return Clock::now() - begin > milliseconds(60); }));
  EXPECT_EQ(take("q"), (Bodies{"long"}));
}

TEST_F(Expiry, Line25TimeGoesOnWhileNodesAreDownAndForMessagesThatCameBack) {
  queue_with_ttl("q", 4000);
  queue_with_ttl("kept", 600'000);
  publish_routed("", "kept", "m");
  Clock::time_point begin;
  {
    Connection other = cluster().connect("other");
    begin = Clock::now();
    publish_routed("", "q", "m");
    const auto held = other.get("q");
    ASSERT_TRUE(held && *held);
    // In somebody's hands it does not expire; it comes back with the crash.
    crash_nodes();
  }
  ASSERT_TRUE(comes_true([&] { return ready("q") == 0; }));
  EXPECT_GE(Clock::now() - begin, milliseconds(4000));
  EXPECT_EQ(take("kept"), (Bodies{"m"}));
}

TEST_F(Expiry, Line25UnackedMessagesExpireWhenTheyComeBack) {
  queue("q");
  publish_routed("", "q", "first");
  publish_routed("", "q", "second");
  const auto first = connection().get("q");
  const auto second = connection().get("q");
  ASSERT_TRUE(first && *first && second && *second);
  update("q", {{"x-message-ttl", 1}});
  // Now a sweep has passed over them.
  publish_routed("", "q", "third");
  ASSERT_TRUE(comes_true([&] { return ready("q") == 0; }));
  EXPECT_EQ(admin().queue_status("q")->unacked, 2u);
  (*first)->ack();
  (*second)->requeue();
  EXPECT_TRUE(comes_true([&] { return admin().queue_status("q")->unacked == 0; }));
  EXPECT_TRUE(take("q").empty());
  EXPECT_EQ(admin().queue_status("q")->expired_total, 2u);
}

TEST_F(Expiry, Line25WithZeroAMessageIsDeliveredAtOnceOrNotAtAll) {
  queue_with_ttl("q", 0);
  publish_routed("", "q", "nobody is there");
  EXPECT_TRUE(take("q").empty());
  auto consumer = connection().subscribe("q");
  ASSERT_TRUE(consumer);
  publish_routed("", "q", "somebody is there");
  const auto delivery = consumer->next(kLong);
  ASSERT_TRUE(delivery);
  EXPECT_EQ(delivery->body(), "somebody is there");
}

TEST_F(Expiry, Line25AWrongTimeToLiveIsRefused) {
  for (const Value& value : {Value(-1), Value("soon"), Value(315'360'000'001)}) {
    QueueOptions options;
    options.arguments = {{"x-message-ttl", value}};
    const auto declared = admin().declare_queue("q", options);
    ASSERT_FALSE(declared);
    EXPECT_EQ(declared.error().code, ErrorCode::kPreconditionFailed);
    EXPECT_NE(declared.error().text.find("x-message-ttl"), std::string::npos);
  }
  EXPECT_EQ(admin().find_queue("q").error().code, ErrorCode::kNotFound);
  queue("q");
  const Fate fate = publish_timed("q", "m", milliseconds(-1));
  EXPECT_FALSE(fate.confirmed);
  EXPECT_EQ(fate.error, ErrorCode::kPreconditionFailed);
  EXPECT_NE(fate.text.find("expiration is '-1'"), std::string::npos) << fate.text;
  // Of that message only.
  publish_routed("", "q", "next");
  EXPECT_EQ(take("q"), (Bodies{"next"}));
}

}  // namespace
}  // namespace segue::client
