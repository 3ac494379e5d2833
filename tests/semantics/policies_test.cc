// Line 34 of docs/semantics.md: policies.

#include <algorithm>

#include "tests/semantics/semantics_fixture.h"

namespace segue::client {
namespace {

class PoliciesOf : public Semantics {
 protected:
  void policy(const std::string& name, const std::string& pattern, const Table& definition,
              int priority = 0, const std::string& apply_to = "all") {
    const Status set = admin().set_policy({name, pattern, apply_to, priority, definition});
    ASSERT_TRUE(set) << set.error().to_string();
  }
  void no_policy(const std::string& name) {
    const Status gone = admin().delete_policy(name);
    ASSERT_TRUE(gone) << gone.error().to_string();
  }
  /// "value (origin)" of an argument that is in force; empty when none is.
  std::string in_force(const std::string& queue, const std::string& argument) {
    const auto status = admin().queue_status(queue);
    if (!status) return status.error().to_string();
    for (const EffectiveSetting& setting : status->effective) {
      if (setting.name != argument) continue;
      const auto* number = setting.value.as<std::int64_t>();
      const auto* text = setting.value.as<std::string>();
      return (number != nullptr ? std::to_string(*number) : *text) + " (" + setting.origin + ")";
    }
    return "";
  }
};

TEST_F(PoliciesOf, Line34APolicyIsInForceAtOnceForWhatExistsAndWhatIsMadeLater) {
  for (const bool durable : {true, false})
    queue(durable ? "q.durable" : "q.transient", {}, durable);
  queue("other");
  for (const char* name : {"q.durable", "q.transient", "other"}) {
    for (const char* body : {"1", "2", "3"}) publish_routed("", name, body);
  }
  policy("short", "^q\\.", {{"max-length", 2}});
  queue("q.later");
  for (const char* body : {"1", "2", "3"}) publish_routed("", "q.later", body);
  for (const char* name : {"q.durable", "q.transient", "q.later"}) {
    wait_for_ready(name, 2);
    EXPECT_EQ(in_force(name, "x-max-length"), "2 (policy short)");
    EXPECT_EQ(take(name), (Bodies{"2", "3"})) << name;
  }
  EXPECT_EQ(take("other"), (Bodies{"1", "2", "3"}));
  no_policy("short");
  EXPECT_EQ(in_force("q.durable", "x-max-length"), "");
  for (const char* body : {"1", "2", "3"}) publish_routed("", "q.durable", body);
  EXPECT_EQ(take("q.durable"), (Bodies{"1", "2", "3"}));
}

TEST_F(PoliciesOf, Line34ManyMergeKeyByKeyAndTheHighestPriorityCounts) {
  queue("q");
  policy("b", ".", {{"max-length", 10}, {"expires", 600000}}, 1);
  policy("a", "q", {{"max-length", 20}}, 1);
  policy("low", "q", {{"max-length", 5}, {"delivery-limit", 3}}, -1);
  policy("elsewhere", "^x", {{"max-length", 1}}, 100);
  EXPECT_EQ(in_force("q", "x-max-length"), "20 (policy a)");  // of equal ones the first name
  EXPECT_EQ(in_force("q", "x-expires"), "600000 (policy b)");
  EXPECT_EQ(in_force("q", "x-delivery-limit"), "3 (policy low)");
  no_policy("a");
  EXPECT_EQ(in_force("q", "x-max-length"), "10 (policy b)");
}

TEST_F(PoliciesOf, Line34OfLimitsTheLowerCountsOfTheRestTheArgument) {
  queue("q", {{"x-max-length", 10}, {"x-message-ttl", 50}, {"x-dead-letter-exchange", "mine"}});
  policy("p", ".",
         {{"max-length", 3},
          {"message-ttl", 900000},
          {"dead-letter-exchange", "theirs"},
          {"dead-letter-routing-key", "k"}});
  EXPECT_EQ(in_force("q", "x-max-length"), "3 (policy p)");
  EXPECT_EQ(in_force("q", "x-message-ttl"), "50 (argument)");
  EXPECT_EQ(in_force("q", "x-dead-letter-exchange"), "mine (argument)");
  EXPECT_EQ(in_force("q", "x-dead-letter-routing-key"), "k (policy p)");
}

TEST_F(PoliciesOf, Line34ADeclareComparesArgumentsAlone) {
  policy("p", ".", {{"max-length", 3}});
  queue("q");
  queue("q");  // not different for what the policy says
  QueueOptions options;
  options.arguments = {{"x-max-length", 3}};
  const auto other = admin().declare_queue("q", options);
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().code, ErrorCode::kPreconditionFailed);
  EXPECT_TRUE(admin().queue_status("q")->arguments.empty());
}

TEST_F(PoliciesOf, Line34ExclusiveQueuesAndThoseWithANameOfTheServerToo) {
  policy("p", "^amq\\.gen-", {{"max-length", 1}}, 0, "queues");
  QueueOptions options;
  options.exclusive = true;
  const auto declared = admin().declare_queue("", options);
  ASSERT_TRUE(declared);
  for (const char* body : {"1", "2"}) publish_routed("", declared->name, body);
  wait_for_ready(declared->name, 1);
  EXPECT_EQ(take(declared->name), (Bodies{"2"}));
}

TEST_F(PoliciesOf, Line34DeadLettersAndExpiryByPolicy) {
  queue("dead");
  queue("work");
  policy("p", "^work$",
         {{"message-ttl", 1}, {"dead-letter-exchange", ""}, {"dead-letter-routing-key", "dead"}});
  publish_routed("", "work", "m");
  wait_for_ready("dead", 1);
  EXPECT_EQ(take("dead"), (Bodies{"m"}));
}

TEST_F(PoliciesOf, Line34AnAlternateExchangeByPolicy) {
  exchange("events", "direct");
  exchange("lost", "fanout");
  exchange("own", "direct", {{"alternate-exchange", "amq.fanout"}});
  queue("caught");
  queue("dead", {{"x-dead-letter-exchange", "events"}, {"x-message-ttl", 1}});
  bind({"lost", "caught", ""});
  publish_unrouted("events", "k", "before");
  policy("p", "^(events|own)$", {{"alternate-exchange", "lost"}}, 0, "exchanges");
  publish_routed("events", "k", "1");
  publish_unrouted("own", "k", "its argument counts");
  publish_routed("", "dead", "2");  // dead letters go the same way
  wait_for_ready("caught", 2);
  EXPECT_EQ(take("caught"), (Bodies{"1", "2"}));
  no_policy("p");
  publish_unrouted("events", "k", "after");
}

TEST_F(PoliciesOf, Line34WrongOnesAreRefusedAndChangeNothing) {
  const auto refused = [&](const PolicyDescription& policy, const std::string& word) {
    const Status status = admin().set_policy(policy);
    ASSERT_FALSE(status) << word;
    EXPECT_EQ(status.error().code, ErrorCode::kPreconditionFailed);
    EXPECT_NE(status.error().text.find(word), std::string::npos) << status.error().text;
  };
  refused({"p", "(", "all", 0, {{"max-length", 1}}}, "'('");
  refused({"p", ".", "all", 0, {{"max-lenght", 1}}}, "'max-lenght'");
  refused({"p", ".", "all", 0, {{"max-length", "a lot"}}}, "'max-length'");
  refused({"p", ".", "all", 0, {{"durable", true}}}, "'durable'");
  refused({"p", ".", "all", 0, {}}, "sets nothing");
  refused({"p", std::string(2000, 'a'), "all", 0, {{"max-length", 1}}}, "2000 bytes");
  EXPECT_TRUE(admin().list_all_policies()->empty());
}

TEST_F(PoliciesOf, Line34PoliciesOutliveTheirNodes) {
  queue("q");
  policy("p", "^q$", {{"max-length", 2}}, 7, "queues");
  policy("gone", ".", {{"max-length", 1}});
  no_policy("gone");
  crash_nodes();
  const auto policies = admin().list_all_policies();
  ASSERT_TRUE(policies);
  ASSERT_EQ(policies->size(), 1u);
  EXPECT_EQ(policies->front().pattern, "^q$");
  EXPECT_EQ(policies->front().apply_to, "queues");
  EXPECT_EQ(policies->front().priority, 7);
  EXPECT_EQ(in_force("q", "x-max-length"), "2 (policy p)");
  for (const char* body : {"1", "2", "3"}) publish_routed("", "q", body);
  wait_for_ready("q", 2);
}

TEST_F(PoliciesOf, Line34ANodeThatWasDownCatchesUp) {
  std::map<std::string, std::string> on;  // a queue of each node
  for (int i = 0; on.size() < 2; ++i) {
    const std::string name = "q" + std::to_string(i);
    queue(name);
    on[admin().queue_status(name)->node] = name;
  }
  // The first node leads the catalog.
  const std::string follower = cluster().node_ids()[1];
  cluster().kill(follower);
  policy("p", ".", {{"max-length", 2}});
  cluster().start(follower);
  ASSERT_TRUE(cluster().wait_ready()) << cluster().logs();
  for (const auto& [node, name] : on) {
    for (const char* body : {"1", "2", "3"}) publish_routed("", name, body);
    wait_for_ready(name, 2);
    EXPECT_EQ(in_force(name, "x-max-length"), "2 (policy p)") << node;
  }
}

TEST_F(PoliciesOf, Line34ThousandsOfQueuesGetAPolicyWithoutAStall) {
  constexpr int kQueues = 2000;
  std::vector<std::future<Result<DeclaredQueue>>> declared;
  for (int i = 0; i < kQueues; ++i) {
    QueueOptions options;
    options.durable = false;
    declared.push_back(admin().declare_queue_async("many." + std::to_string(i), options));
    if (declared.size() == 500 || i + 1 == kQueues) {
      for (auto& one : declared) ASSERT_TRUE(one.get());
      declared.clear();
    }
  }
  policy("p", "^many\\.", {{"max-length", 1}});
  // What is used is in force before the others may be.
  for (const int i : {0, 999, kQueues - 1}) {
    const std::string name = "many." + std::to_string(i);
    for (const char* body : {"1", "2"}) publish_routed("", name, body);
    wait_for_ready(name, 1);
  }
  const auto all = admin().list_all_queues();
  ASSERT_TRUE(all);
  EXPECT_EQ(std::count_if(all->begin(), all->end(),
                          [](const auto& queue) { return queue.effective.size() == 1; }),
            kQueues);
}

}  // namespace
}  // namespace segue::client
