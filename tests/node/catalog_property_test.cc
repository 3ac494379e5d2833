// Random operations on the leader, with commits that lag behind, against a naive model; and
// followers that see only the feed, against the leader's state.

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>
#include <set>
#include <tuple>

#include "node/catalog_feed.h"
#include "node/catalog_leader.h"
#include "tests/fakes/capture_logger.h"
#include "tests/fakes/fake_peer_output.h"
#include "tests/fakes/fake_replicated_log.h"
#include "tests/node/catalog_fixture.h"

namespace segue::node {
namespace {

using testing_catalog::bind_queue;
using testing_catalog::declare_exchange;
using testing_catalog::declare_queue;
using testing_catalog::delete_exchange;
using testing_catalog::delete_queue;
using testing_catalog::unbind_queue;

/// What should exist, kept as plainly as possible.
struct Model {
  std::map<std::string, bool> exchanges;  // auto-delete?
  std::set<std::string> queues;
  std::set<std::tuple<std::string, std::string, std::string>> bindings;

  void drop_bare(const std::set<std::string>& candidates) {
    for (const std::string& name : candidates) {
      bool used = false;
      for (const auto& binding : bindings) used = used || std::get<0>(binding) == name;
      const auto found = exchanges.find(name);
      if (!used && found != exchanges.end() && found->second) exchanges.erase(found);
    }
  }
  void remove_bindings(const std::string& exchange, const std::string& queue) {
    std::set<std::string> touched;
    std::erase_if(bindings, [&](const auto& binding) {
      const bool gone = (exchange.empty() || std::get<0>(binding) == exchange) &&
                        (queue.empty() || std::get<1>(binding) == queue);
      if (gone) touched.insert(std::get<0>(binding));
      return gone;
    });
    drop_bare(touched);
  }
};

struct Step {
  int kind;
  std::string exchange;
  std::string queue;
  std::string key;
  bool flag;
};

/// Does the step to the model; the operation that asks for it, and whether it should succeed.
std::pair<v1::CatalogOperation, bool> apply(const Step& step, Model& model) {
  switch (step.kind) {
    case 0: {
      v1::CatalogOperation operation = declare_exchange(step.exchange, "topic");
      operation.mutable_declare_exchange()->mutable_exchange()->set_auto_delete(step.flag);
      const auto [at, made] = model.exchanges.emplace(step.exchange, step.flag);
      return {operation, made || at->second == step.flag};
    }
    case 1:
      model.remove_bindings(step.exchange, "");
      model.exchanges.erase(step.exchange);
      return {delete_exchange(step.exchange), true};
    case 2:
      model.queues.insert(step.queue);
      return {declare_queue(step.queue), true};
    case 3:
      model.remove_bindings("", step.queue);
      model.queues.erase(step.queue);
      return {delete_queue(step.queue), true};
    case 4: {
      const bool fine =
          model.exchanges.contains(step.exchange) && model.queues.contains(step.queue);
      if (fine) model.bindings.emplace(step.exchange, step.queue, step.key);
      return {bind_queue(step.exchange, step.queue, step.key), fine};
    }
    default:
      if (model.bindings.erase({step.exchange, step.queue, step.key}) > 0) {
        model.drop_bare({step.exchange});
      }
      return {unbind_queue(step.exchange, step.queue, step.key), true};
  }
}

/// A replica that knows what the feed told it.
class FeedReader {
 public:
  CatalogState state;

  void take(std::vector<v1::CatalogFeed>& feeds) {
    for (const v1::CatalogFeed& feed : feeds) {
      if (feed.snapshot()) {
        for (const v1::CatalogEntry& entry : feed.entries()) pieces_.push_back(entry);
        if (!feed.snapshot_end()) continue;
        state.reset(pieces_, CatalogIndex(pieces_.back().index()));
        pieces_.clear();
        continue;
      }
      for (const v1::CatalogEntry& entry : feed.entries()) {
        RC_ASSERT(entry.index() == state.index().value + 1);
        state.apply(entry);
      }
    }
    feeds.clear();
  }

 private:
  std::vector<v1::CatalogEntry> pieces_;
};

std::string text_of(const CatalogState& state) {
  std::string text;
  for (const v1::CatalogEntry& entry : state.snapshot()) {
    for (const v1::CatalogChange& change : entry.changes())
      text += change.ShortDebugString() + "\n";
  }
  return text;
}

void check_equal(const Model& model, const CatalogState& state) {
  std::set<std::string> queues;
  for (const auto* queue : state.list_queues("/", "", 1000)) queues.insert(queue->name());
  RC_ASSERT(queues == model.queues);
  std::map<std::string, bool> exchanges;
  for (const auto* exchange : state.list_exchanges("/", "", 1000)) {
    if (exchange->name().starts_with("amq.")) continue;
    exchanges.emplace(exchange->name(), exchange->auto_delete());
  }
  RC_ASSERT(exchanges == model.exchanges);
  std::set<std::tuple<std::string, std::string, std::string>> bindings;
  for (const auto* binding : state.list_bindings(0, 1000)) {
    bindings.emplace(binding->exchange(), binding->queue(), binding->routing_key());
  }
  RC_ASSERT(bindings == model.bindings);
}

Step draw_step() {
  const auto name = [](const char* prefix) {
    return prefix + std::to_string(*rc::gen::inRange(0, 3));
  };
  return Step{*rc::gen::inRange(0, 6), name("e"), name("q"), name("k"),
              *rc::gen::arbitrary<bool>()};
}

RC_GTEST_PROP(CatalogProperty, LeaderFollowsTheModelAndFollowersTheLeader, ()) {
  NullLogger lines;
  ManualClock clock;
  SeededRandom random(1);
  FakeReplicatedLog log;
  FakePeerOutput output;
  CatalogState committed;
  CatalogFeed::Options feed_options;
  feed_options.tail_bytes = 300;  // so that late followers need snapshots
  feed_options.feed_bytes = 100;
  feed_options.snapshot_changes = 3;
  feed_options.leads = true;
  CatalogFeed feed(feed_options, committed, output);
  CatalogLeader::Options options;
  options.cluster = "c";
  options.shard_count = 4;
  options.node_ids = {"n1"};
  CatalogLeader leader(options, log, random, lines, [&](const v1::CatalogEntry& entry) {
    RC_ASSERT(committed.apply(entry));
    feed.on_entry(entry);
  });
  RC_ASSERT(leader.start(committed, clock.now()).is_ok());

  Model model;
  std::map<PeerId, FeedReader> readers;
  std::uint64_t committed_to = 0;
  const int turns = *rc::gen::inRange(1, 40);
  for (int turn = 0; turn < turns; ++turn) {
    const int steps = *rc::gen::inRange(0, 5);
    for (int i = 0; i < steps; ++i) {
      const auto [operation, fine] = apply(draw_step(), model);
      (void)leader.submit(operation, [&log, fine = fine](const v1::CatalogOutcome& outcome) {
        RC_ASSERT(outcome.has_error() != fine);
        RC_ASSERT(outcome.index() <= log.last_index().value);
      });
    }
    leader.end_turn();
    committed_to += *rc::gen::inRange<std::uint64_t>(0, log.last_index().value - committed_to + 1);
    leader.on_committed(LogIndex(committed_to));
    if (*rc::gen::inRange(0, 4) == 0) {
      // A follower comes, or comes back from where it was.
      const PeerId peer(*rc::gen::inRange<std::uint64_t>(1, 4));
      feed.follow(peer, readers[peer].state.index());
    }
    feed.end_turn();
    for (auto& [peer, reader] : readers) reader.take(output.feeds[peer]);
  }
  leader.on_committed(log.last_index());
  feed.end_turn();
  check_equal(model, committed);
  for (auto& [peer, reader] : readers) {
    reader.take(output.feeds[peer]);
    RC_ASSERT(text_of(reader.state) == text_of(committed));
    RC_ASSERT(reader.state.index() == committed.index());
  }
}

}  // namespace
}  // namespace segue::node
