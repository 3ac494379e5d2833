#include "node/local_queues.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

namespace segue::node {
namespace {

class LocalQueuesTest : public testing::Test {
 protected:
  LocalQueuesTest() {
    v1::CatalogChange created;
    created.mutable_cluster_created()->set_shard_count(2);
    apply(created);
    for (std::uint32_t shard = 0; shard < 2; ++shard) {
      v1::CatalogChange assigned;
      assigned.mutable_shard_assigned()->set_shard(shard);
      assigned.mutable_shard_assigned()->set_node(shard == 0 ? "here" : "there");
      apply(assigned);
    }
  }

  void apply(const v1::CatalogChange& change) {
    v1::CatalogEntry entry;
    entry.set_index(state_.index().value + 1);
    *entry.add_changes() = change;
    state_.apply(entry);
  }
  void queue(std::uint64_t id, std::uint32_t shard = 0) {
    v1::CatalogChange change;
    change.mutable_queue_created()->set_id(id);
    change.mutable_queue_created()->set_vhost("/");
    change.mutable_queue_created()->set_name("q" + std::to_string(id));
    change.mutable_queue_created()->set_shard(shard);
    apply(change);
  }
  void policy(const std::string& pattern, std::int64_t max_length) {
    v1::CatalogChange change;
    v1::PolicyDefinition& policy = *change.mutable_policy_set();
    policy.set_vhost("/");
    policy.set_name("p");
    policy.set_pattern(pattern);
    policy.set_apply_to("all");
    (*policy.mutable_definition())["max-length"].set_int_value(max_length);
    apply(change);
  }
  void no_policy() {
    v1::CatalogChange change;
    change.mutable_policy_deleted()->set_vhost("/");
    change.mutable_policy_deleted()->set_name("p");
    apply(change);
  }
  int steps_until_done() {
    int steps = 0;
    for (; queues_.behind(); ++steps) queues_.step();
    return steps;
  }

  CatalogState state_;
  std::map<std::uint64_t, std::int64_t> held_;  // by id; the limit, or -1
  int added_ = 0;
  LocalQueues queues_{state_, "here",
                      [this](const v1::QueueDefinition& queue) {
                        ++added_;
                        const auto limit = queue.arguments().find("x-max-length");
                        held_[queue.id()] =
                            limit == queue.arguments().end() ? -1 : limit->second.int_value();
                      },
                      [this](QueueId queue) { held_.erase(queue.value); }};
};

TEST_F(LocalQueuesTest, HoldsTheQueuesOfItsShards) {
  queue(1);
  queue(2, 1);
  EXPECT_EQ(held_, (std::map<std::uint64_t, std::int64_t>{{1, -1}}));
  v1::CatalogChange deleted;
  deleted.set_queue_deleted(1);
  apply(deleted);
  EXPECT_TRUE(held_.empty());
}

TEST_F(LocalQueuesTest, APolicyComesToWhatExistsAndToWhatIsMade) {
  queue(1);
  queue(2);
  policy("^q[1-8]$", 5);
  EXPECT_TRUE(queues_.behind());
  EXPECT_EQ(steps_until_done(), 1);
  queue(3);
  queue(9);
  EXPECT_EQ(held_, (std::map<std::uint64_t, std::int64_t>{{1, 5}, {2, 5}, {3, 5}, {9, -1}}));
  no_policy();
  steps_until_done();
  EXPECT_EQ(held_[1], -1);
}

TEST_F(LocalQueuesTest, OnlyWhatChangesIsTold) {
  for (std::uint64_t id = 1; id <= 9; ++id) queue(id);
  added_ = 0;
  policy("^q1$", 5);
  steps_until_done();
  EXPECT_EQ(added_, 1);
  policy("^q1$", 5);
  steps_until_done();
  EXPECT_EQ(added_, 1);
}

TEST_F(LocalQueuesTest, ManyQueuesTakeManySteps) {
  for (std::uint64_t id = 1; id <= 1000; ++id) queue(id);
  policy(".", 5);
  queues_.step();
  EXPECT_EQ(held_[1], 5);
  EXPECT_EQ(held_[1000], -1);
  // Who is about to use it has it catch up first.
  queues_.catch_up(QueueId(1000));
  EXPECT_EQ(held_[1000], 5);
  EXPECT_EQ(steps_until_done(), 4);
}

TEST_F(LocalQueuesTest, ACostlyPatternTakesMoreSteps) {
  for (std::uint64_t id = 1; id <= 1000; ++id) queue(id);
  policy("(.?){250}", 5);
  EXPECT_GT(steps_until_done(), 50);
  EXPECT_EQ(held_[1000], 5);
  policy(".", 6);
  EXPECT_EQ(steps_until_done(), 5) << "its cost went with it";
  EXPECT_EQ(held_[1000], 6);
}

TEST_F(LocalQueuesTest, AChangeDuringTheSweepReachesAll) {
  for (std::uint64_t id = 1; id <= 1000; ++id) queue(id);
  policy(".", 5);
  queues_.step();
  queues_.step();
  policy(".", 6);
  queue(1001);
  v1::CatalogChange deleted;
  deleted.set_queue_deleted(700);
  apply(deleted);
  steps_until_done();
  ASSERT_EQ(held_.size(), 1000u);
  for (const auto& [id, limit] : held_) EXPECT_EQ(limit, 6) << id;
}

TEST_F(LocalQueuesTest, DescribesWhatIsInForce) {
  queue(1);
  policy(".", 5);
  v1::QueueDescription description;
  queues_.describe(QueueId(1), description);
  ASSERT_EQ(description.effective_size(), 1);
  EXPECT_EQ(description.effective(0).name(), "x-max-length");
  EXPECT_EQ(description.effective(0).origin(), "policy p");
}

TEST_F(LocalQueuesTest, AfterASnapshotPoliciesAreInForce) {
  policy(".", 5);
  queue(1);
  CatalogState copy = state_;
  queue(2);
  state_.reset(copy.snapshot(), CatalogIndex(50));
  EXPECT_EQ(held_, (std::map<std::uint64_t, std::int64_t>{{1, 5}}));
  EXPECT_FALSE(queues_.behind());
}

}  // namespace
}  // namespace segue::node
