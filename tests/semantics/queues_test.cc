// Lines 13 to 16 of docs/semantics.md: queues.

#include <algorithm>

#include "tests/semantics/semantics_fixture.h"

namespace segue::client {
namespace {

TEST_F(Semantics, Line13DeclaringAgainGivesCountsOrNamesTheDifference) {
  QueueOptions options;
  options.arguments = {{"x-durability", "sync"}};
  const auto made = admin().declare_queue("q", options);
  ASSERT_TRUE(made);
  EXPECT_TRUE(made->created);
  publish_routed("", "q", "1");
  publish_routed("", "q", "2");
  const auto consumer = connection().subscribe("q");
  ASSERT_TRUE(consumer);
  const auto again = admin().declare_queue("q", options);
  ASSERT_TRUE(again);
  EXPECT_FALSE(again->created);
  EXPECT_EQ(again->consumers, 1u);
  EXPECT_EQ(again->name, "q");
  const auto differs = [&](auto change, const std::vector<std::string>& words) {
    QueueOptions other = options;
    change(other);
    const auto refused = admin().declare_queue("q", other);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::kPreconditionFailed);
    for (const std::string& word : words) {
      EXPECT_NE(refused.error().text.find(word), std::string::npos) << refused.error().text;
    }
  };
  differs([](QueueOptions& other) { other.durable = false; }, {"durable", "false", "true"});
  differs([](QueueOptions& other) { other.auto_delete = true; }, {"auto_delete"});
  differs([](QueueOptions& other) { other.arguments = {}; }, {"x-durability", "'sync'"});
  differs([](QueueOptions& other) { other.arguments["x-durability"] = 7; },
          {"x-durability", "7", "'sync'"});
}

TEST_F(Semantics, Line13AnUpdateChangesAQueueInPlace) {
  QueueOptions options;
  options.arguments = {{"x-max-priority", std::int64_t{2}}};
  ASSERT_TRUE(admin().declare_queue("q", options));
  publish_routed("", "q", "1");
  options.arguments["x-consumer-timeout"] = std::int64_t{300};
  EXPECT_FALSE(admin().declare_queue("q", options));
  options.update = true;
  const auto changed = admin().declare_queue("q", options);
  ASSERT_TRUE(changed) << changed.error().to_string();
  EXPECT_TRUE(changed->updated);
  EXPECT_FALSE(changed->created);
  EXPECT_EQ(changed->ready, 1u);
  EXPECT_FALSE(admin().declare_queue("q", options)->updated);
  // It is in force at once, and after a restart.
  const std::string node = changed->node;
  cluster().kill(node);
  cluster().start(node);
  ASSERT_TRUE(cluster().wait_ready());
  auto consumer = connection().subscribe("q");
  ASSERT_TRUE(consumer);
  const auto first = consumer->next(kLong);
  ASSERT_TRUE(first);
  const auto again = consumer->next(kLong);
  ASSERT_TRUE(again);
  EXPECT_EQ(again->body(), "1");
  EXPECT_TRUE(again->redelivered());
  options.arguments["x-max-priority"] = std::int64_t{3};
  const auto refused = admin().declare_queue("q", options);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kPreconditionFailed);
}

TEST_F(Semantics, Line13LimitsAndTtlChangedInPlaceHoldForWhatIsThere) {
  queue("q");
  for (const char* body : {"1", "2", "3", "4"}) publish_routed("", "q", body);
  update("q", {{"x-max-length", 2}});
  wait_for_ready("q", 2);
  update("q", {{"x-message-ttl", 1}});
  wait_for_ready("q", 0);
  update("q", {});
  for (const char* body : {"5", "6", "7"}) publish_routed("", "q", body);
  EXPECT_EQ(take("q"), (Bodies{"5", "6", "7"}));
}

TEST_F(Semantics, Line14AQueueThatNobodyUsesExpires) {
  QueueOptions options;
  options.arguments = {{"x-expires", std::int64_t{1}}};
  ASSERT_TRUE(admin().declare_queue("idle", options));
  ASSERT_TRUE(admin().declare_queue("used"));
  auto consumer = connection().subscribe("used");
  ASSERT_TRUE(consumer);
  options.update = true;
  ASSERT_TRUE(admin().declare_queue("used", options));
  EXPECT_TRUE(is_gone("idle"));
  EXPECT_TRUE(admin().queue_status("used"));
  consumer->close();
  EXPECT_TRUE(is_gone("used"));
}

TEST_F(Semantics, Line14AnExclusiveQueueIsItsSessionsAndGoesWithIt) {
  auto owner = std::make_unique<Connection>(cluster().connect("owner"));
  QueueOptions exclusive;
  exclusive.exclusive = true;
  ASSERT_TRUE(owner->admin().declare_queue("mine", exclusive));
  const auto locked = [](const auto& result) {
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code, ErrorCode::kResourceLocked) << result.error().to_string();
  };
  locked(admin().declare_queue("mine", exclusive));
  locked(connection().subscribe("mine"));
  locked(connection().get("mine"));
  locked(admin().purge_queue("mine"));
  locked(admin().delete_queue("mine"));
  locked(admin().bind({"amq.direct", "mine", "k"}));
  publish_routed("", "mine", "1");  // publishing is for everybody
  EXPECT_TRUE(owner->get("mine"));
  ASSERT_TRUE(owner->close());
  // It goes a moment after its session.
  EXPECT_TRUE(is_gone("mine"));
}

TEST_F(Semantics, Line14AnAutoDeleteQueueGoesWithItsLastConsumer) {
  QueueOptions options;
  options.auto_delete = true;
  ASSERT_TRUE(admin().declare_queue("q", options));
  ASSERT_TRUE(connection().get("q"));  // a get is no consumer
  EXPECT_TRUE(admin().queue_status("q"));
  {
    auto first = connection().subscribe("q");
    auto second = connection().subscribe("q");
    ASSERT_TRUE(first && second);
    first->close();
    EXPECT_TRUE(admin().queue_status("q"));
    second->close();
  }
  EXPECT_TRUE(is_gone("q"));
}

TEST_F(Semantics, Line15TheServerMakesANameAndDeletesAreForgiving) {
  const auto made = admin().declare_queue("");
  ASSERT_TRUE(made);
  EXPECT_EQ(made->name.rfind("amq.gen-", 0), 0u) << made->name;
  EXPECT_NE(admin().declare_queue("")->name, made->name);
  publish_routed("", made->name, "1");
  EXPECT_EQ(take(made->name), (Bodies{"1"}));
  EXPECT_EQ(admin().declare_queue("amq.mine").error().code, ErrorCode::kAccessRefused);

  EXPECT_EQ(admin().find_queue("nosuch").error().code, ErrorCode::kNotFound);
  EXPECT_EQ(admin().delete_queue("nosuch").value(), 0u);
  queue("q");
  publish_routed("", "q", "1");
  publish_routed("", "q", "2");
  EXPECT_EQ(admin().delete_queue("q", {false, true}).error().code,
            ErrorCode::kPreconditionFailed);  // not empty
  {
    const auto consumer = connection().subscribe("q");
    ASSERT_TRUE(consumer);
    EXPECT_EQ(admin().delete_queue("q", {true, false}).error().code,
              ErrorCode::kPreconditionFailed);  // in use
  }
  EXPECT_TRUE(admin().find_queue("q"));
}

TEST_F(Semantics, Line15PurgeRemovesWhatIsReady) {
  queue("q");
  for (int i = 0; i < 5; ++i) publish_routed("", "q", std::to_string(i));
  const auto held = connection().get("q");
  ASSERT_TRUE(held && *held);
  EXPECT_EQ(admin().purge_queue("q").value(), 4u);
  (*held)->requeue();
  EXPECT_EQ(take("q"), (Bodies{"0"}));
  EXPECT_EQ(admin().purge_queue("q").value(), 0u);
  publish_routed("", "q", "last");
  EXPECT_EQ(admin().delete_queue("q").value(), 1u);
}

TEST_F(Semantics, Line16AnArgumentThatMakesNoSenseIsRefusedAndNothingMade) {
  const auto refused = [&](const Table& arguments, const std::string& word) {
    QueueOptions options;
    options.arguments = arguments;
    const auto status = admin().declare_queue("q", options);
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().code, ErrorCode::kPreconditionFailed);
    EXPECT_NE(status.error().text.find(word), std::string::npos) << status.error().text;
    EXPECT_EQ(admin().find_queue("q").error().code, ErrorCode::kNotFound);
  };
  refused({{"x-durability", -1}}, "x-durability");
  refused({{"x-durability", "sometimes"}}, "x-durability");
  refused({{"x-gc-min-bytes", "many"}}, "x-gc-min-bytes");
  refused({{"x-single-active-consumer", 1}}, "x-single-active-consumer");
  refused({{"x-colour", "red"}}, "x-colour");
}

}  // namespace
}  // namespace segue::client
