#include "node/catalog_leader.h"

#include <gtest/gtest.h>

#include "common/sharding.h"
#include "tests/fakes/capture_logger.h"
#include "tests/fakes/fake_replicated_log.h"
#include "tests/node/catalog_fixture.h"

namespace segue::node {
namespace {

using std::chrono::seconds;
using testing_catalog::bind_queue;
using testing_catalog::declare_exchange;
using testing_catalog::declare_queue;
using testing_catalog::delete_queue;
using testing_catalog::owner;

class CatalogLeaderTest : public testing::Test {
 protected:
  CatalogLeaderTest() { start(); }

  static CatalogLeader::Options options() {
    CatalogLeader::Options made;
    made.cluster = "c";
    made.shard_count = 8;
    made.node_ids = {"n1", "n2"};
    return made;
  }
  void start() {
    leader_.emplace(options(), log_, random_, lines_, [this](const v1::CatalogEntry& entry) {
      EXPECT_TRUE(committed_.apply(entry));
    });
    EXPECT_TRUE(leader_->start(committed_, clock_.now()).is_ok());
  }
  void commit_all() { leader_->on_committed(log_.last_index()); }
  void submit(const v1::CatalogOperation& operation) {
    (void)leader_->submit(
        operation, [this](const v1::CatalogOutcome& outcome) { outcomes_.push_back(outcome); });
  }
  v1::CatalogOutcome run(const v1::CatalogOperation& operation) {
    outcomes_.clear();
    submit(operation);
    leader_->end_turn();
    commit_all();
    EXPECT_EQ(outcomes_.size(), 1u);
    return outcomes_.back();
  }
  static v1::CatalogOperation exclusive(const std::string& name, const v1::SessionOwner& asker) {
    v1::CatalogOperation operation = declare_queue(name);
    operation.mutable_declare_queue()->mutable_queue()->set_exclusive(true);
    *operation.mutable_asker() = asker;
    return operation;
  }

  ManualClock clock_;
  NullLogger lines_;
  SeededRandom random_{3};
  FakeReplicatedLog log_;
  CatalogState committed_;
  std::optional<CatalogLeader> leader_;
  std::vector<v1::CatalogOutcome> outcomes_;
};

TEST_F(CatalogLeaderTest, TheFirstEntryCreatesTheClusterAndPlacesItsShards) {
  ASSERT_EQ(log_.proposals.size(), 1u);
  commit_all();
  EXPECT_EQ(committed_.cluster(), "c");
  const std::vector<std::string> nodes = place_shards(8, {"n1", "n2"});
  for (std::uint16_t shard = 0; shard < 8; ++shard) {
    EXPECT_EQ(committed_.node_of(ShardId(shard)), nodes[shard]);
  }
  start();
  EXPECT_EQ(log_.proposals.size(), 1u);
}

TEST_F(CatalogLeaderTest, AnotherClusterOrNumberOfShardsIsRefusedWithTheWayBack) {
  commit_all();
  const Status shards = check_catalog_fits(committed_, "c", 16);
  EXPECT_EQ(shards.code(), Code::kInvalidConfig);
  EXPECT_NE(shards.message().find("set the key shards back to 8"), std::string::npos);
  EXPECT_EQ(check_catalog_fits(committed_, "d", 8).code(), Code::kInvalidConfig);
  EXPECT_TRUE(check_catalog_fits(committed_, "c", 8).is_ok());
  EXPECT_TRUE(check_catalog_fits(CatalogState(), "d", 5).is_ok());
}

TEST_F(CatalogLeaderTest, OneTurnIsOneEntryAndIsAnsweredWhenCommitted) {
  commit_all();
  submit(declare_queue("a"));
  submit(declare_exchange("e", "topic"));
  submit(bind_queue("e", "a", "k"));
  submit(declare_queue("a"));
  leader_->end_turn();
  EXPECT_EQ(log_.proposals.size(), 2u);
  EXPECT_TRUE(outcomes_.empty());
  EXPECT_EQ(committed_.find_queue("/", "a"), nullptr);
  commit_all();
  ASSERT_EQ(outcomes_.size(), 4u);
  for (const v1::CatalogOutcome& outcome : outcomes_) {
    EXPECT_FALSE(outcome.has_error());
    EXPECT_EQ(outcome.index(), 2u);
  }
  EXPECT_TRUE(outcomes_[0].created());
  EXPECT_FALSE(outcomes_[3].created());
  EXPECT_EQ(committed_.bindings_to("/", "a").size(), 1u);
}

TEST_F(CatalogLeaderTest, WhatDependsOnAnUncommittedEntryWaitsForIt) {
  commit_all();
  submit(declare_queue("a"));
  leader_->end_turn();
  submit(declare_queue("a"));
  leader_->end_turn();
  EXPECT_EQ(log_.proposals.size(), 2u);
  EXPECT_TRUE(outcomes_.empty());
  commit_all();
  EXPECT_EQ(outcomes_.size(), 2u);
}

TEST_F(CatalogLeaderTest, WhatChangesNothingIsAnsweredInTheSameTurn) {
  commit_all();
  submit(delete_queue("none"));
  leader_->end_turn();
  ASSERT_EQ(outcomes_.size(), 1u);
  EXPECT_EQ(outcomes_[0].index(), 1u);
  EXPECT_EQ(log_.proposals.size(), 1u);
}

TEST_F(CatalogLeaderTest, ErrorsSayWhatIsWrongWithWhat) {
  commit_all();
  const v1::CatalogOutcome outcome = run(bind_queue("e", "a", "k"));
  EXPECT_EQ(outcome.error().code(), 404u);
  EXPECT_EQ(outcome.error().name(), "NOT_FOUND");
  EXPECT_EQ(outcome.error().entity(), "e");
  EXPECT_NE(outcome.error().text().find("'e'"), std::string::npos);
}

TEST_F(CatalogLeaderTest, ALogThatCannotGrowUndoesTheTurn) {
  commit_all();
  run(declare_queue("kept"));
  log_.full = true;
  submit(declare_queue("a"));
  submit(delete_queue("kept"));
  submit(declare_exchange("e", "topic"));
  leader_->end_turn();
  ASSERT_EQ(outcomes_.size(), 4u);
  EXPECT_EQ(outcomes_[1].error().code(), static_cast<std::uint32_t>(Code::kResourceError));
  log_.full = false;
  const v1::CatalogOutcome kept = run(declare_queue("kept"));
  EXPECT_FALSE(kept.created());
  EXPECT_TRUE(run(declare_queue("a")).created());
  EXPECT_TRUE(run(declare_exchange("e", "topic")).created());
}

TEST_F(CatalogLeaderTest, DeletingWorksWhenTheLogIsShortOfSpace) {
  commit_all();
  run(declare_queue("a"));
  log_.full = true;
  EXPECT_FALSE(run(delete_queue("a")).has_error());
  EXPECT_EQ(committed_.find_queue("/", "a"), nullptr);
}

TEST_F(CatalogLeaderTest, ARestartedRouterLosesTheExclusiveQueuesOfItsEarlierLife) {
  commit_all();
  leader_->router_up("r1", 1);
  run(exclusive("old", owner("r1", 1, 9)));
  run(exclusive("other", owner("r2", 1, 9)));
  leader_->router_up("r1", 2);
  commit_all();
  EXPECT_EQ(committed_.find_queue("/", "old"), nullptr);
  EXPECT_NE(committed_.find_queue("/", "other"), nullptr);
}

TEST_F(CatalogLeaderTest, ARouterThatComesBackInTimeKeepsItsExclusiveQueues) {
  commit_all();
  leader_->router_up("r1", 1);
  run(exclusive("mine", owner("r1", 1, 9)));
  leader_->router_down("r1", clock_.now());
  clock_.advance(seconds(29));
  leader_->on_tick(clock_.now());
  leader_->router_up("r1", 1);
  clock_.advance(seconds(29));
  leader_->on_tick(clock_.now());
  commit_all();
  EXPECT_NE(committed_.find_queue("/", "mine"), nullptr);
  leader_->router_down("r1", clock_.now());
  clock_.advance(seconds(30));
  leader_->on_tick(clock_.now());
  commit_all();
  EXPECT_EQ(committed_.find_queue("/", "mine"), nullptr);
}

TEST_F(CatalogLeaderTest, ARouterThatNeverComesBackAfterARestartOfTheLeaderIsDeadToo) {
  commit_all();
  run(exclusive("mine", owner("r1", 1, 9)));
  start();
  clock_.advance(seconds(31));
  leader_->on_tick(clock_.now());
  commit_all();
  EXPECT_EQ(committed_.find_queue("/", "mine"), nullptr);
}

v1::CatalogOperation declare_vhost(const std::string& name) {
  v1::CatalogOperation operation;
  operation.mutable_declare_vhost()->mutable_vhost()->set_name(name);
  return operation;
}

v1::CatalogOperation delete_vhost(const std::string& name) {
  v1::CatalogOperation operation;
  operation.set_delete_vhost(name);
  return operation;
}

v1::CatalogOperation in_vhost(v1::CatalogOperation operation, const std::string& vhost) {
  if (operation.has_declare_queue()) {
    operation.mutable_declare_queue()->mutable_queue()->set_vhost(vhost);
  } else if (operation.has_declare_exchange()) {
    operation.mutable_declare_exchange()->mutable_exchange()->set_vhost(vhost);
  } else if (operation.has_bind()) {
    operation.mutable_bind()->set_vhost(vhost);
  }
  return operation;
}

TEST_F(CatalogLeaderTest, AVirtualHostIsDeletedInStepsWithAllThatIsInIt) {
  commit_all();
  run(declare_vhost("v"));
  run(declare_queue("here"));
  for (int i = 0; i < 1200; ++i) submit(in_vhost(declare_queue("q" + std::to_string(i)), "v"));
  submit(in_vhost(declare_exchange("e", "direct"), "v"));
  submit(in_vhost(bind_queue("e", "q1", "k"), "v"));
  submit(in_vhost(bind_queue("amq.topic", "q1", "k"), "v"));
  v1::CatalogOperation onward = in_vhost(bind_queue("amq.topic", "", "k"), "v");
  onward.mutable_bind()->set_to_exchange("amq.fanout");
  submit(onward);
  v1::CatalogOperation policy;
  policy.mutable_set_policy()->set_vhost("v");
  policy.mutable_set_policy()->set_name("p");
  (*policy.mutable_set_policy()->mutable_definition())["max-length"].set_int_value(1);
  submit(policy);
  leader_->end_turn();
  commit_all();
  ASSERT_EQ(committed_.queue_count("v"), 1200u);
  outcomes_.clear();
  submit(delete_vhost("v"));
  submit(delete_vhost("v"));  // asked again
  int turns = 0;
  for (; leader_->wants_turn() && turns < 100; ++turns) {
    leader_->step();
    leader_->end_turn();
  }
  EXPECT_GT(turns, 2);
  EXPECT_TRUE(outcomes_.empty());  // not durable yet
  for (const Proposal& proposal : log_.proposals) {
    v1::CatalogEntry entry;
    ASSERT_TRUE(entry.ParseFromString(proposal.command));
    if (entry.changes(0).kind_case() == v1::CatalogChange::kQueueDeleted) {
      EXPECT_LE(entry.changes_size(), 600);
      EXPECT_TRUE(proposal.drains);
    }
  }
  commit_all();
  ASSERT_EQ(outcomes_.size(), 2u);
  EXPECT_FALSE(outcomes_[0].has_error());
  EXPECT_EQ(committed_.find_vhost("v"), nullptr);
  EXPECT_EQ(committed_.queue_count("v"), 0u);
  EXPECT_EQ(committed_.find_exchange("v", "amq.topic"), nullptr);
  EXPECT_TRUE(committed_.list_bindings(0, 10).empty());
  EXPECT_EQ(committed_.policies().count(), 0u);
  EXPECT_EQ(committed_.queue_count(), 1u);
}

TEST_F(CatalogLeaderTest, NothingIsMadeInAVirtualHostThatIsBeingDeleted) {
  commit_all();
  run(declare_vhost("v"));
  submit(delete_vhost("v"));
  const v1::CatalogOutcome refused = run(in_vhost(declare_queue("q"), "v"));
  EXPECT_NE(refused.error().text().find("being deleted"), std::string::npos);
  EXPECT_FALSE(run(declare_queue("q")).has_error());
  leader_->step();
  commit_all();
  EXPECT_EQ(committed_.find_vhost("v"), nullptr);
  EXPECT_FALSE(run(declare_vhost("v")).has_error());
  EXPECT_FALSE(run(in_vhost(declare_queue("q"), "v")).has_error());
}

TEST_F(CatalogLeaderTest, AVirtualHostIsDeletedAlsoWhenThereIsNoSpaceForCreations) {
  commit_all();
  run(declare_vhost("v"));
  run(in_vhost(declare_queue("q"), "v"));
  log_.full = true;
  submit(declare_queue("other"));  // in the same turn
  submit(delete_vhost("v"));
  while (leader_->wants_turn()) leader_->step();
  commit_all();
  EXPECT_EQ(committed_.find_vhost("v"), nullptr);
  EXPECT_EQ(committed_.queue_count(), 0u);
}

}  // namespace
}  // namespace segue::node
