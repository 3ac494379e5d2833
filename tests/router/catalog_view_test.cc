#include "router/catalog_view.h"

#include <gtest/gtest.h>

#include "router/errors.h"

namespace segue::router {
namespace {

using std::chrono::seconds;

class CatalogViewTest : public ::testing::Test {
 protected:
  v1::CatalogEntry& next() {
    entry.Clear();
    entry.set_index(view.index().value + 1);
    return entry;
  }
  static void fill_queue(v1::CatalogChange& change, std::uint64_t id, const std::string& name,
                         std::uint32_t shard) {
    v1::QueueDefinition& queue = *change.mutable_queue_created();
    queue.set_id(id);
    queue.set_vhost("/");
    queue.set_name(name);
    queue.set_shard(shard);
  }
  void create_cluster() {
    auto& cluster = *next().add_changes()->mutable_cluster_created();
    cluster.set_shard_count(8);
    for (std::uint32_t shard = 0; shard < 8; ++shard) {
      auto& assigned = *entry.add_changes()->mutable_shard_assigned();
      assigned.set_shard(shard);
      assigned.set_node("n1");
    }
    view.apply(entry);
  }
  void queue(std::uint64_t id, const std::string& name, std::uint32_t shard) {
    fill_queue(*next().add_changes(), id, name, shard);
    view.apply(entry);
  }
  void bind(std::uint64_t number, const std::string& exchange, const std::string& to,
            const std::string& key) {
    v1::BindingDefinition& binding = *next().add_changes()->mutable_binding_created();
    binding.set_number(number);
    binding.set_vhost("/");
    binding.set_exchange(exchange);
    binding.set_queue(to);
    binding.set_routing_key(key);
    view.apply(entry);
  }
  std::string route(const std::string& exchange, const std::string& key) {
    const auto found = view.route("/", exchange, {key, v1::Properties::default_instance()});
    if (!found->status) return std::string(code_name(found->status.code()));
    std::string text;
    for (const Route::Target& target : found->targets) {
      text += std::to_string(target.shard.value) + ":" + std::to_string(target.queue.value) + " ";
    }
    return text;
  }

  Turn turn{TimePoint(seconds(100)), 0};
  CatalogView view{turn};
  v1::CatalogEntry entry;
};

TEST_F(CatalogViewTest, RoutesByNameAndByBindings) {
  create_cluster();
  queue(1, "a", 5);
  queue(2, "b", 3);
  EXPECT_EQ(route("", "a"), "5:1 ");
  EXPECT_EQ(route("", "missing"), "");
  EXPECT_EQ(route("missing", "a"), "NOT_FOUND");
  EXPECT_EQ(route("amq.topic", "x.y"), "");
  bind(1, "amq.topic", "a", "x.*");
  bind(2, "amq.topic", "b", "#");
  bind(3, "amq.topic", "b", "x.y");
  EXPECT_EQ(route("amq.topic", "x.y"), "3:2 5:1 ");
  EXPECT_EQ(route("amq.topic", "z"), "3:2 ");
  next().add_changes()->set_binding_deleted(1);
  view.apply(entry);
  EXPECT_EQ(route("amq.topic", "x.y"), "3:2 ");
  EXPECT_EQ(route("amq.topic", std::string(5000, 'k')), "3:2 ");
}

TEST_F(CatalogViewTest, ForgetsAnExchangeThatIsMadeAgainWithAnotherType) {
  create_cluster();
  queue(1, "a", 0);
  auto& exchange = *next().add_changes()->mutable_exchange_created();
  exchange.set_vhost("/");
  exchange.set_name("e");
  exchange.set_type("direct");
  view.apply(entry);
  bind(1, "e", "a", "k");
  EXPECT_EQ(route("e", "other"), "");
  next().add_changes()->set_binding_deleted(1);
  entry.add_changes()->mutable_exchange_deleted()->set_vhost("/");
  entry.mutable_changes(1)->mutable_exchange_deleted()->set_name("e");
  auto& again = *entry.add_changes()->mutable_exchange_created();
  again.set_vhost("/");
  again.set_name("e");
  again.set_type("fanout");
  view.apply(entry);
  EXPECT_EQ(route("e", "other"), "");
  bind(2, "e", "a", "k");
  EXPECT_EQ(route("e", "other"), "0:1 ");
}

TEST_F(CatalogViewTest, KnowsWhatANodeMustKnowOfEachQueue) {
  create_cluster();
  queue(1, "a", 0);
  queue(2, "b", 0);
  bind(1, "amq.fanout", "a", "");
  EXPECT_EQ(view.needed_for(QueueId(1)), CatalogIndex(2));
  EXPECT_EQ(view.route("/", "", {"b", v1::Properties::default_instance()})->needs, CatalogIndex(3));
  // A younger binding is the router's business alone.
  EXPECT_EQ(view.route("/", "amq.fanout", {"", v1::Properties::default_instance()})->needs,
            CatalogIndex(2));
}

TEST_F(CatalogViewTest, StartsAnewFromASnapshot) {
  create_cluster();
  queue(1, "a", 0);
  bind(1, "amq.fanout", "a", "");
  EXPECT_EQ(route("amq.fanout", ""), "0:1 ");
  v1::CatalogEntry snapshot;
  snapshot.set_index(50);
  snapshot.add_changes()->mutable_cluster_created()->set_shard_count(8);
  fill_queue(*snapshot.add_changes(), 9, "z", 2);
  view.replace({snapshot}, CatalogIndex(50));
  EXPECT_EQ(view.index(), CatalogIndex(50));
  EXPECT_EQ(route("amq.fanout", ""), "");
  EXPECT_EQ(route("", "a"), "");
  EXPECT_EQ(route("", "z"), "2:9 ");
  EXPECT_EQ(view.needed_for(QueueId(9)), CatalogIndex(50));
}

TEST_F(CatalogViewTest, CountsQueuesByShard) {
  create_cluster();
  queue(1, "a", 5);
  queue(2, "b", 5);
  queue(3, "c", 1);
  next().add_changes()->set_queue_deleted(2);
  view.apply(entry);
  ASSERT_EQ(view.queues_by_shard().size(), 6u);
  EXPECT_EQ(view.queues_by_shard()[5], 1u);
  EXPECT_EQ(view.queues_by_shard()[1], 1u);
}

TEST_F(CatalogViewTest, IgnoresEntriesThatItHas) {
  create_cluster();
  queue(1, "a", 0);
  v1::CatalogEntry old = entry;
  old.mutable_changes(0)->mutable_queue_created()->set_name("other");
  view.apply(old);
  EXPECT_EQ(route("", "other"), "");
}

TEST_F(CatalogViewTest, CallsBackWhenAnIndexIsReachedOrTheDeadline) {
  std::vector<std::string> calls;
  const auto note = [&](const std::string& name) {
    return [&calls, name](bool reached) { calls.push_back(name + (reached ? "+" : "-")); };
  };
  view.when_reached(CatalogIndex(0), turn.now, note("now"));
  view.when_reached(CatalogIndex(1), turn.now + seconds(5), note("one"));
  view.when_reached(CatalogIndex(2), turn.now + seconds(5), note("two"));
  EXPECT_EQ(calls, (std::vector<std::string>{"now+"}));
  create_cluster();
  EXPECT_EQ(calls.back(), "one+");
  turn.now += seconds(5);
  view.on_tick();
  EXPECT_EQ(calls.back(), "two-");
  queue(1, "a", 0);
  EXPECT_EQ(calls.size(), 3u);
}

TEST(CatalogViewOfFollowers, LetsWaitersOnWhenTheLeaderHasFedItOrWasWaitedFor) {
  Turn turn;
  for (const bool comes : {true, false}) {
    CatalogView view(turn, seconds(5));
    int called = 0;
    const auto wait = [&] {
      view.when_reached(CatalogIndex(0), turn.now + seconds(10), [&](bool reached) {
        EXPECT_TRUE(reached);
        ++called;
      });
    };
    wait();
    turn.now += seconds(4);
    view.on_tick();
    EXPECT_EQ(called, 0);
    EXPECT_EQ(view.not_found("nothing").code(), Code::kCatalogUnavailable);
    if (comes) {
      view.set_complete();
    } else {
      turn.now += seconds(1);
      view.on_tick();
    }
    EXPECT_EQ(called, 1);
    // Those who come later do not wait again.
    wait();
    EXPECT_EQ(called, 2);
    EXPECT_EQ(view.not_found("nothing").code(),
              comes ? Code::kNotFound : Code::kCatalogUnavailable);
  }
}

TEST(Quoted, ShowsNamesWithoutWhatUpsetsATerminal) {
  EXPECT_EQ(in_quotes("plain"), "'plain'");
  EXPECT_EQ(in_quotes(std::string("a\0b", 3)), "'a\\x00b'");
  EXPECT_EQ(in_quotes("tab\t\xff"), "'tab\\x09\\xff'");
  EXPECT_EQ(in_quotes(std::string(200, 'x')), "'" + std::string(80, 'x') + "...'");
}

}  // namespace
}  // namespace segue::router
