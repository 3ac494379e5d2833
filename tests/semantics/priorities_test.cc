// Line 30 of docs/semantics.md: priorities.

#include <string>

#include "tests/semantics/semantics_fixture.h"

namespace segue::client {
namespace {

class Priorities : public Semantics {
 protected:
  void priority_queue(const std::string& name, std::int64_t most) {
    queue(name, {{"x-max-priority", most}});
  }
  void publish_with(const std::string& to, std::uint32_t priority, const std::string& body) {
    Message message = Message::to_queue(to, body);
    message.header.properties.priority = priority;
    EXPECT_TRUE(Semantics::publish(std::move(message)).confirmed);
  }
};

TEST_F(Priorities, Line30TheHighestFirstAndOneLevelInOrder) {
  priority_queue("q", 5);
  publish_with("q", 1, "1a");
  publish_with("q", 5, "5a");
  publish_with("q", 0, "0a");
  publish_with("q", 1, "1b");
  publish_with("q", 200, "5b");  // above the highest is the highest
  publish_routed("", "q", "0b");
  EXPECT_EQ(admin().queue_status("q")->ready, 6u);
  EXPECT_EQ(take("q"), (Bodies{"5a", "5b", "1a", "1b", "0a", "0b"}));
}

TEST_F(Priorities, Line30NothingIsLostOrMixedUpByARestart) {
  priority_queue("q", 3);
  for (int i = 0; i < 300; ++i) {
    publish_with("q", static_cast<std::uint32_t>(i % 4),
                 std::to_string(i % 4) + ":" + std::to_string(i));
  }
  const std::string node = admin().queue_status("q")->node;
  cluster().kill(node);
  cluster().start(node);
  ASSERT_TRUE(cluster().wait_ready());
  const Bodies bodies = take("q");
  ASSERT_EQ(bodies.size(), 300u);
  for (int i = 0; i < 300; ++i) {
    const int priority = 3 - i / 75;
    EXPECT_EQ(bodies[static_cast<std::size_t>(i)],
              std::to_string(priority) + ":" + std::to_string(priority + 4 * (i % 75)));
  }
}

TEST_F(Priorities, Line30APriorityOutOfRangeIsRefusedAtDeclare) {
  for (const std::int64_t most : {-1, 0, 256}) {
    QueueOptions options;
    options.arguments["x-max-priority"] = most;
    const auto declared = admin().declare_queue("q", options);
    ASSERT_FALSE(declared);
    EXPECT_EQ(declared.error().code, ErrorCode::kPreconditionFailed);
  }
  EXPECT_FALSE(admin().queue_status("q"));
}

}  // namespace
}  // namespace segue::client
