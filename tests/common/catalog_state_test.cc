#include "common/catalog_state.h"

#include <gtest/gtest.h>

namespace segue {
namespace {

v1::CatalogEntry entry(std::uint64_t index) {
  v1::CatalogEntry made;
  made.set_index(index);
  return made;
}

v1::QueueDefinition queue(std::uint64_t id, const std::string& name, std::uint32_t shard = 0) {
  v1::QueueDefinition made;
  made.set_id(id);
  made.set_vhost("/");
  made.set_name(name);
  made.set_shard(shard);
  made.set_durable(true);
  return made;
}

v1::BindingDefinition binding(std::uint64_t number, const std::string& exchange,
                              const std::string& queue_name, const std::string& key) {
  v1::BindingDefinition made;
  made.set_number(number);
  made.set_vhost("/");
  made.set_exchange(exchange);
  made.set_queue(queue_name);
  made.set_routing_key(key);
  return made;
}

v1::CatalogEntry cluster_entry(std::uint64_t index, std::uint32_t shards) {
  v1::CatalogEntry made = entry(index);
  v1::ClusterCreated* created = made.add_changes()->mutable_cluster_created();
  created->set_cluster("c");
  created->set_shard_count(shards);
  for (std::uint32_t shard = 0; shard < shards; ++shard) {
    v1::ShardAssigned* assigned = made.add_changes()->mutable_shard_assigned();
    assigned->set_shard(shard);
    assigned->set_node(shard % 2 == 0 ? "n1" : "n2");
  }
  return made;
}

/// A cluster of four shards, two queues, an exchange, two bindings.
CatalogState filled() {
  CatalogState state;
  EXPECT_TRUE(state.apply(cluster_entry(1, 4)));
  v1::CatalogEntry made = entry(2);
  *made.add_changes()->mutable_queue_created() = queue(1, "b", 1);
  *made.add_changes()->mutable_queue_created() = queue(2, "a", 2);
  v1::ExchangeDefinition* exchange = made.add_changes()->mutable_exchange_created();
  exchange->set_vhost("/");
  exchange->set_name("e");
  exchange->set_type("topic");
  *made.add_changes()->mutable_binding_created() = binding(1, "e", "a", "x.*");
  *made.add_changes()->mutable_binding_created() = binding(2, "e", "b", "x.*");
  EXPECT_TRUE(state.apply(made));
  return state;
}

TEST(CatalogState, AnUpdatedQueueHasOtherArgumentsInThisStateAndNotInItsCopies) {
  CatalogState state = filled();
  const CatalogState before = state;
  v1::CatalogEntry update = entry(3);
  v1::QueueDefinition& changed = *update.add_changes()->mutable_queue_updated();
  changed = queue(1, "another name", 3);
  (*changed.mutable_arguments())["x-expires"].set_int_value(5);
  changed.mutable_owner()->set_router_id("r1");
  ASSERT_TRUE(state.apply(update));
  const v1::QueueDefinition* after = state.find_queue("/", "b");
  ASSERT_NE(after, nullptr);
  EXPECT_EQ(state.find_queue(QueueId(1)), after);
  EXPECT_EQ(after->arguments().at("x-expires").int_value(), 5);
  EXPECT_EQ(after->shard(), 1u);
  EXPECT_FALSE(after->has_owner());
  EXPECT_TRUE(before.find_queue("/", "b")->arguments().empty());
  update.set_index(4);
  update.mutable_changes(0)->mutable_queue_updated()->set_id(99);  // of a queue that is not there
  ASSERT_TRUE(state.apply(update));
  EXPECT_EQ(state.queue_count(), 2u);
}

TEST(CatalogState, HasThePredeclaredExchangesFromTheStart) {
  const CatalogState state;
  EXPECT_EQ(state.index(), CatalogIndex(0));
  EXPECT_EQ(state.find_exchange("/", "")->type(), "direct");
  EXPECT_EQ(state.find_exchange("/", "amq.direct")->type(), "direct");
  EXPECT_EQ(state.find_exchange("/", "amq.fanout")->type(), "fanout");
  EXPECT_EQ(state.find_exchange("/", "amq.topic")->type(), "topic");
  EXPECT_EQ(state.find_exchange("/", "amq.headers")->type(), "headers");
  EXPECT_EQ(state.find_exchange("other", "amq.topic"), nullptr);
  EXPECT_EQ(state.list_exchanges("/", "", 100).size(), 4u);
}

TEST(CatalogState, AppliesEachEntryOnce) {
  CatalogState state = filled();
  EXPECT_EQ(state.index(), CatalogIndex(2));
  v1::CatalogEntry again = entry(2);
  again.add_changes()->set_queue_deleted(1);
  EXPECT_FALSE(state.apply(again));
  EXPECT_NE(state.find_queue(QueueId(1)), nullptr);
}

TEST(CatalogState, FindsWhatWasCreated) {
  const CatalogState state = filled();
  EXPECT_EQ(state.cluster(), "c");
  EXPECT_EQ(state.shard_count(), 4u);
  EXPECT_EQ(state.node_of(ShardId(3)), "n2");
  EXPECT_EQ(state.node_of(ShardId(4)), "");
  EXPECT_EQ(state.find_queue("/", "a")->id(), 2u);
  EXPECT_EQ(state.find_queue(QueueId(1))->name(), "b");
  EXPECT_EQ(state.bindings_from("/", "e"), (std::vector<std::uint64_t>{1, 2}));
  EXPECT_EQ(state.bindings_to("/", "b"), (std::vector<std::uint64_t>{2}));
  EXPECT_TRUE(state.has_bindings_from("/", "e"));
  EXPECT_FALSE(state.has_bindings_from("/", "amq.topic"));
  EXPECT_EQ(state.queues_on("n1").size(), 1u);
  EXPECT_EQ(state.next_queue_id(), 3u);
  EXPECT_EQ(state.next_binding_number(), 3u);
}

TEST(CatalogState, ListsInOrderOfNameAndInPages) {
  const CatalogState state = filled();
  EXPECT_EQ(state.list_queues("/", "", 1)[0]->name(), "a");
  EXPECT_EQ(state.list_queues("/", "a", 10)[0]->name(), "b");
  EXPECT_TRUE(state.list_queues("/", "b", 10).empty());
  EXPECT_TRUE(state.list_queues("other", "", 10).empty());
  EXPECT_EQ(state.list_bindings(1, 10)[0]->number(), 2u);
}

TEST(CatalogState, IdenticalBindingsAreFoundByWhatTheySay) {
  CatalogState state = filled();
  v1::BindingDefinition like = binding(0, "e", "a", "x.*");
  ASSERT_NE(state.find_binding(like), nullptr);
  EXPECT_EQ(state.find_binding(like)->number(), 1u);
  (*like.mutable_arguments())["k"].set_int_value(1);
  EXPECT_EQ(state.find_binding(like), nullptr);
  v1::CatalogEntry gone = entry(3);
  gone.add_changes()->set_binding_deleted(1);
  state.apply(gone);
  EXPECT_EQ(state.find_binding(binding(0, "e", "a", "x.*")), nullptr);
  EXPECT_TRUE(state.bindings_to("/", "a").empty());
}

TEST(CatalogState, NumbersAreNeverGivenAgain) {
  CatalogState state = filled();
  v1::CatalogEntry gone = entry(3);
  gone.add_changes()->set_binding_deleted(2);
  gone.add_changes()->set_queue_deleted(2);
  state.apply(gone);
  EXPECT_EQ(state.next_queue_id(), 3u);
  CatalogState copy;
  copy.reset(state.snapshot(), state.index());
  EXPECT_EQ(copy.next_queue_id(), 3u);
  EXPECT_EQ(copy.next_binding_number(), 3u);
}

TEST(CatalogState, ASnapshotInPiecesMakesTheSameState) {
  const CatalogState state = filled();
  const std::vector<v1::CatalogEntry> pieces = state.snapshot(2);
  EXPECT_GT(pieces.size(), 3u);
  CatalogState copy;
  v1::CatalogEntry other = entry(9);
  *other.add_changes()->mutable_queue_created() = queue(77, "left over");
  copy.apply(other);
  copy.reset(pieces, state.index());
  EXPECT_EQ(copy.index(), state.index());
  EXPECT_EQ(copy.find_queue("/", "left over"), nullptr);
  EXPECT_EQ(copy.queue_count(), 2u);
  EXPECT_EQ(copy.cluster(), "c");
  EXPECT_EQ(copy.node_of(ShardId(1)), "n2");
  EXPECT_EQ(copy.find_exchange("/", "e")->type(), "topic");
  EXPECT_NE(copy.find_exchange("/", "amq.topic"), nullptr);
  EXPECT_EQ(copy.list_bindings(0, 10).size(), 2u);
}

TEST(CatalogState, KnowsTheQueuesOfARoutersSessions) {
  CatalogState state = filled();
  v1::CatalogEntry made = entry(3);
  v1::QueueDefinition* mine = made.add_changes()->mutable_queue_created();
  *mine = queue(3, "mine");
  mine->set_exclusive(true);
  mine->mutable_owner()->set_router_id("r1");
  state.apply(made);
  EXPECT_EQ(state.queues_owned_by("r1").size(), 1u);
  EXPECT_EQ(state.queues_owned_by("").size(), 1u);
  EXPECT_TRUE(state.queues_owned_by("r2").empty());
  v1::CatalogEntry gone = entry(4);
  gone.add_changes()->set_queue_deleted(3);
  state.apply(gone);
  EXPECT_TRUE(state.queues_owned_by("r1").empty());
}

TEST(CatalogState, TellsTheListenerOfChangesAndResets) {
  struct Listener : CatalogState::Listener {
    int changes = 0;
    int resets = 0;
    void on_change(const v1::CatalogChange&) override { ++changes; }
    void on_reset() override { ++resets; }
  } listener;
  CatalogState state;
  state.set_listener(&listener);
  state.apply(cluster_entry(1, 2));
  EXPECT_EQ(listener.changes, 3);
  state.reset(filled().snapshot(), CatalogIndex(2));
  EXPECT_EQ(listener.changes, 3);
  EXPECT_EQ(listener.resets, 1);
}

TEST(CatalogState, NonsenseInAnEntryIsHarmless) {
  CatalogState state = filled();
  v1::CatalogEntry odd = entry(3);
  odd.add_changes();
  odd.add_changes()->set_queue_deleted(4711);
  odd.add_changes()->set_binding_deleted(4711);
  odd.add_changes()->mutable_exchange_deleted()->set_name("none");
  odd.add_changes()->mutable_shard_assigned()->set_shard(4711);
  EXPECT_TRUE(state.apply(odd));
  EXPECT_EQ(state.queue_count(), 2u);
}

}  // namespace
}  // namespace segue
