// `segue move` through real processes.

#include <algorithm>

#include "tests/semantics/tool_fixture.h"

namespace segue::client {
namespace {

class Move : public ToolSemantics {
 protected:
  /// Moves until nothing is left, and says whether messages 0 to count - 1 are all at the target.
  void expect_all_arrive(const std::string& source, const std::string& target, int count) {
    const auto deadline = std::chrono::steady_clock::now() + kLong;
    int code = 0;
    while (code != 3 && std::chrono::steady_clock::now() < deadline) {
      const Ran ran = segue({"move", source, "--to-queue", target});
      ASSERT_TRUE(ran.code == 0 || ran.code == 1 || ran.code == 3) << ran.err;
      code = *ran.code;
    }
    EXPECT_EQ(admin().queue_status(source).value().ready, 0u);
    std::set<std::string> bodies;
    for (const std::string& body : take(target)) bodies.insert(body);
    EXPECT_EQ(bodies.size(), static_cast<std::size_t>(count));
  }
};

TEST_F(Move, Line32DeadLettersGoBackInOrderAsTheyWere) {
  queue_with_dead_letters("work");
  ASSERT_NO_FATAL_FAILURE(publish_numbers("work", 40));
  reject_all("work");
  const Ran rehearsal = segue({"move", "work-dlq", "--dry-run"});
  EXPECT_EQ(rehearsal.code, 0) << rehearsal.err;
  EXPECT_EQ(rehearsal.out, "would move 40 messages of 'work-dlq': 40 to queue 'work'\n");
  EXPECT_EQ(admin().queue_status("work-dlq").value().ready, 40u);

  const Ran moved = segue({"move", "work-dlq"});
  EXPECT_EQ(moved.code, 0) << moved.err;
  EXPECT_EQ(moved.out, "moved 40 messages of 'work-dlq': 40 to queue 'work'\n");
  EXPECT_EQ(admin().queue_status("work-dlq").value().ready, 0u);
  for (int i = 0; i < 40; ++i) {
    const Delivery delivery = next_of("work");
    EXPECT_EQ(delivery.body(), std::to_string(i));
    EXPECT_EQ(delivery.properties().headers, (Table{{"odd", i % 2}}));
    delivery.ack();
  }
  EXPECT_EQ(segue({"move", "work-dlq"}).code, 3);
}

TEST_F(Move, Line32AWindowThatRemembersAMessageDoesNotSwallowIt) {
  queue("work-dlq");
  queue("work", {{"x-dead-letter-exchange", ""},
                 {"x-dead-letter-routing-key", "work-dlq"},
                 {"x-deduplication-window", 600'000}});
  for (const std::vector<std::string>& where :
       {std::vector<std::string>{}, {"--keep-headers"}, {"--to-queue", "work"}}) {
    Message message = Message::to_queue("work", "m");
    message.header.properties.headers["x-deduplication-id"] = std::to_string(where.size());
    ASSERT_TRUE(connection().publisher().publish_confirmed(std::move(message)).get());
    wait_for_ready("work", 1);
    reject_all("work");
    std::vector<std::string> command{"move", "work-dlq"};
    command.insert(command.end(), where.begin(), where.end());
    const Ran moved = segue(command);
    EXPECT_EQ(moved.code, 0) << moved.err;
    EXPECT_EQ(take("work"), Bodies{"m"}) << where.size();
  }
}

TEST_F(Move, Line32WhatTheFilterLeavesKeepsItsPlaceAndDoesNotCount) {
  queue_with_dead_letters("work");
  ASSERT_NO_FATAL_FAILURE(publish_numbers("work", 30));
  reject_all("work");
  const Ran moved = segue({"move", "work-dlq", "--filter", "header.odd=1", "--filter",
                           "reason=rejected", "--max", "5"});
  EXPECT_EQ(moved.code, 0) << moved.err;
  EXPECT_EQ(take("work"), (Bodies{"1", "3", "5", "7", "9"}));
  wait_for_ready("work-dlq", 25);
  for (const char* const body : {"0", "2", "4", "6", "8", "10", "11", "12"}) {
    const Delivery delivery = next_of("work-dlq");
    EXPECT_EQ(delivery.body(), body);
    EXPECT_EQ(delivery.delivery_count(), 0u);
    delivery.ack();
  }
}

TEST_F(Move, Line32ThousandsThatTheFilterLeavesAreLookedAtOnce) {
  queue("source");
  queue("target");
  ASSERT_NO_FATAL_FAILURE(publish_numbers("source", 9000));
  const Ran moved =
      segue({"move", "source", "--to-queue", "target", "--filter", "header.odd=1", "--json"});
  EXPECT_EQ(moved.code, 0) << moved.err;
  EXPECT_NE(moved.out.find("\"looked_at\":9000,\"moved\":4500,"), std::string::npos) << moved.out;
  wait_for_ready("source", 4500);
  wait_for_ready("target", 4500);
}

TEST_F(Move, Line32CopiesToAnExchangeWithTheFirstKeyAndLeavesTheQueue) {
  exchange("topics", "topic");
  queue_with_dead_letters("work");
  queue("eu");
  bind({"topics", "work", "#"});
  publish_routed("topics", "order.eu", "1");
  publish_routed("topics", "order.us", "2");
  reject_all("work");
  bind({"topics", "eu", "*.eu"});
  ASSERT_TRUE(admin().unbind({"topics", "work", "#"}));
  const Ran copied = segue({"move", "work-dlq", "--to-exchange", "topics", "--copy"});
  EXPECT_EQ(copied.code, 1) << copied.err;  // nobody wants the second one
  EXPECT_EQ(copied.out, "copied 1 message of 'work-dlq': 1 to exchange 'topics'\n");
  EXPECT_NE(copied.err.find("1 message stayed: no queue takes"), std::string::npos) << copied.err;
  EXPECT_EQ(admin().queue_status("work-dlq").value().ready, 2u);
  const Delivery copy = next_of("eu");
  EXPECT_EQ(copy.body(), "1");
  EXPECT_EQ(copy.routing_key(), "order.eu");
  EXPECT_TRUE(copy.properties().headers.contains("x-death"));
}

TEST_F(Move, Line32WhatNoQueueTakesOrComesFromNowhereStays) {
  queue("q");
  exchange("nowhere", "fanout");
  ASSERT_NO_FATAL_FAILURE(publish_numbers("q", 3));
  const Ran back = segue({"move", "q"});
  EXPECT_EQ(back.code, 1);
  EXPECT_NE(back.err.find("3 messages stayed: they do not say"), std::string::npos) << back.err;
  const Ran unroutable = segue({"move", "q", "--to-exchange", "nowhere"});
  EXPECT_EQ(unroutable.code, 1);
  EXPECT_NE(unroutable.err.find("3 messages stayed: no queue"), std::string::npos)
      << unroutable.err;
  const Ran missing = segue({"move", "q", "--to-exchange", "missing"});
  EXPECT_EQ(missing.code, 1);
  EXPECT_NE(missing.err.find("NOT_FOUND"), std::string::npos) << missing.err;
  wait_for_ready("q", 3);
  for (int i = 0; i < 3; ++i) {
    const Delivery delivery = next_of("q");
    EXPECT_EQ(delivery.body(), std::to_string(i));
    EXPECT_EQ(delivery.delivery_count(), 0u);
  }
}

TEST_F(Move, Line32NothingIsLostWhenTheToolIsKilled) {
  queue("source");
  queue("target");
  constexpr int kMessages = 2000;
  ASSERT_NO_FATAL_FAILURE(publish_numbers("source", kMessages));
  {
    Process tool("segue",
                 with_router({"move", "source", "--to-queue", "target", "--rate", "1000/s"}));
    wait_for("target", [](const QueueDescription& status) { return status.ready >= 200; });
    EXPECT_TRUE(tool.running());
    tool.kill_now();
  }
  ASSERT_LT(admin().queue_status("target").value().ready, std::uint64_t{kMessages});
  // What it had comes back when its session is over.
  wait_for("source", [](const QueueDescription& status) { return status.unacked == 0; });
  expect_all_arrive("source", "target", kMessages);
}

TEST_F(Move, Line32NothingIsLostWhenNodesAreKilled) {
  queue("source");
  queue("target");
  constexpr int kMessages = 2000;
  ASSERT_NO_FATAL_FAILURE(publish_numbers("source", kMessages));
  Process tool("segue",
               with_router({"move", "source", "--to-queue", "target", "--rate", "1000/s"}));
  wait_for("target", [](const QueueDescription& status) { return status.ready >= 200; });
  crash_nodes();
  const auto code = tool.wait(kLong);
  EXPECT_TRUE(code == 0 || code == 1) << tool.stderr_text();
  expect_all_arrive("source", "target", kMessages);
}

TEST_F(Move, Line32CtrlCLeavesNothingHalfDone) {
  queue("source");
  queue("target");
  ASSERT_NO_FATAL_FAILURE(publish_numbers("source", 1000));
  Process tool("segue", with_router({"move", "source", "--to-queue", "target", "--rate", "200"}));
  wait_for("target", [](const QueueDescription& status) { return status.ready >= 20; });
  tool.kill(SIGINT);
  EXPECT_EQ(tool.wait(kLong), 130) << tool.stderr_text();
  const std::uint64_t moved = admin().queue_status("target").value().ready;
  EXPECT_LT(moved, 1000u);
  wait_for_ready("source", 1000 - moved);
}

}  // namespace
}  // namespace segue::client
