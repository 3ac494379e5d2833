// Exchanges that lead on to exchanges, and alternate exchanges.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "common/routing/compiled_exchanges.h"

namespace segue {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

/// A catalog and what is compiled from it. Queues are q1, q2, ... with ids 1, 2, ...
class Topology : private CatalogState::Listener {
 public:
  Topology() { state_.set_listener(this); }
  ~Topology() override { state_.set_listener(nullptr); }
  Topology(const Topology&) = delete;
  Topology& operator=(const Topology&) = delete;

  void exchange(const std::string& name, const std::string& type,
                const std::string& alternate = "") {
    v1::CatalogChange change;
    v1::ExchangeDefinition& exchange = *change.mutable_exchange_created();
    exchange.set_vhost("/");
    exchange.set_name(name);
    exchange.set_type(type);
    if (!alternate.empty()) {
      (*exchange.mutable_arguments())["alternate-exchange"].set_string_value(alternate);
    }
    apply(change);
  }
  void delete_exchange(const std::string& name) {
    for (const std::uint64_t number : state_.bindings_from("/", name)) unbind(number);
    for (const std::uint64_t number : state_.bindings_to_exchange("/", name)) unbind(number);
    v1::CatalogChange change;
    change.mutable_exchange_deleted()->set_vhost("/");
    change.mutable_exchange_deleted()->set_name(name);
    apply(change);
  }
  void policy(const std::string& pattern, const std::string& alternate) {
    v1::CatalogChange change;
    v1::PolicyDefinition& policy = *change.mutable_policy_set();
    policy.set_vhost("/");
    policy.set_name("p");
    policy.set_pattern(pattern);
    policy.set_apply_to("exchanges");
    (*policy.mutable_definition())["alternate-exchange"].set_string_value(alternate);
    apply(change);
  }
  void no_policy() {
    v1::CatalogChange change;
    change.mutable_policy_deleted()->set_vhost("/");
    change.mutable_policy_deleted()->set_name("p");
    apply(change);
  }
  void queue(std::uint64_t id) {
    v1::CatalogChange change;
    v1::QueueDefinition& queue = *change.mutable_queue_created();
    queue.set_vhost("/");
    queue.set_id(id);
    queue.set_name("q" + std::to_string(id));
    apply(change);
  }
  std::uint64_t bind(const std::string& exchange, std::uint64_t queue, const std::string& key) {
    return bind(exchange, "q" + std::to_string(queue), "", key);
  }
  std::uint64_t lead(const std::string& exchange, const std::string& to, const std::string& key) {
    return bind(exchange, "", to, key);
  }
  void unbind(std::uint64_t number) {
    v1::CatalogChange change;
    change.set_binding_deleted(number);
    apply(change);
  }

  std::vector<std::uint64_t> match(const std::string& exchange, const std::string& key,
                                   const v1::Properties& properties = {}) {
    std::vector<QueueId> queues{QueueId(999)};
    by_key_alone_ =
        compiled_.match(*state_.find_exchange("/", exchange), {key, properties}, queues);
    std::vector<std::uint64_t> ids;
    for (const QueueId queue : queues) ids.push_back(queue.value);
    return ids;
  }
  bool by_key_alone() const { return by_key_alone_; }
  const CatalogState& state() const { return state_; }

 private:
  std::uint64_t bind(const std::string& exchange, const std::string& queue, const std::string& to,
                     const std::string& key) {
    v1::CatalogChange change;
    v1::BindingDefinition& binding = *change.mutable_binding_created();
    binding.set_vhost("/");
    binding.set_exchange(exchange);
    binding.set_queue(queue);
    binding.set_to_exchange(to);
    binding.set_routing_key(key);
    binding.set_number(state_.next_binding_number());
    apply(change);
    return change.binding_created().number();
  }
  void apply(const v1::CatalogChange& change) {
    v1::CatalogEntry entry;
    entry.set_index(state_.index().value + 1);
    *entry.add_changes() = change;
    state_.apply(entry);
  }
  void on_change(const v1::CatalogChange& change) override { compiled_.on_change(change); }
  void on_reset() override { compiled_.clear(); }

  CatalogState state_;
  CompiledExchanges compiled_{state_};
  bool by_key_alone_ = true;
};

TEST(CompiledExchanges, LeadOnToOthersEachByItsOwnType) {
  Topology topology;
  for (std::uint64_t id = 1; id <= 3; ++id) topology.queue(id);
  topology.exchange("in", "topic");
  topology.exchange("all", "fanout");
  topology.bind("in", 1, "a.#");
  topology.lead("in", "all", "*.b");
  topology.bind("all", 2, "ignored");
  EXPECT_THAT(topology.match("in", "a.b"), ElementsAre(1, 2));
  EXPECT_THAT(topology.match("in", "a"), ElementsAre(1));
  EXPECT_THAT(topology.match("in", "c.b"), ElementsAre(2));
  const std::uint64_t direct = topology.bind("in", 2, "c.b");  // by two ways: one copy
  EXPECT_THAT(topology.match("in", "c.b"), ElementsAre(2));
  topology.unbind(direct);
  topology.bind("all", 3, "");
  EXPECT_THAT(topology.match("in", "c.b"), ElementsAre(2, 3));
  topology.delete_exchange("all");
  EXPECT_THAT(topology.match("in", "c.b"), IsEmpty());
  topology.exchange("all", "fanout");
  EXPECT_THAT(topology.match("in", "c.b"), IsEmpty());
}

TEST(CompiledExchanges, AnAlternateByPolicyComesAndGoes) {
  Topology topology;
  for (std::uint64_t id = 1; id <= 3; ++id) topology.queue(id);
  topology.exchange("a", "direct");
  topology.exchange("own", "direct", "second");
  topology.exchange("first", "fanout");
  topology.exchange("second", "fanout");
  topology.bind("first", 1, "");
  topology.bind("second", 2, "");
  EXPECT_THAT(topology.match("a", "k"), IsEmpty());
  topology.policy("^(a|own)$", "first");
  EXPECT_THAT(topology.match("a", "k"), ElementsAre(1));
  EXPECT_THAT(topology.match("own", "k"), ElementsAre(2));  // its argument goes before
  topology.policy("^a$", "second");
  EXPECT_THAT(topology.match("a", "k"), ElementsAre(2));
  topology.exchange("later", "direct");
  topology.policy(".", "first");
  EXPECT_THAT(topology.match("later", "k"), ElementsAre(1));
  EXPECT_THAT(topology.match("second", "k"), ElementsAre(2));
  topology.no_policy();
  EXPECT_THAT(topology.match("a", "k"), IsEmpty());
}

TEST(CompiledExchanges, GoAroundACycleOnce) {
  Topology topology;
  topology.queue(1);
  topology.queue(2);
  for (const char* const name : {"a", "b", "c"}) topology.exchange(name, "fanout");
  topology.lead("a", "b", "");
  topology.lead("b", "c", "");
  topology.lead("c", "a", "");
  topology.lead("a", "a", "");
  topology.bind("a", 1, "");
  topology.bind("c", 2, "");
  for (const char* const name : {"a", "b", "c"}) {
    EXPECT_THAT(topology.match(name, ""), ElementsAre(1, 2)) << name;
  }
}

TEST(CompiledExchanges, HandWhatMatchesNothingToTheAlternate) {
  Topology topology;
  topology.queue(1);
  topology.queue(2);
  topology.exchange("in", "direct", "rest");
  topology.bind("in", 1, "k");
  EXPECT_THAT(topology.match("in", "other"), IsEmpty());  // there is none yet
  topology.exchange("rest", "fanout", "last");
  EXPECT_THAT(topology.match("in", "other"), IsEmpty());
  topology.exchange("last", "fanout", "in");  // and around again
  EXPECT_THAT(topology.match("in", "other"), IsEmpty());
  topology.bind("last", 2, "");
  EXPECT_THAT(topology.match("in", "other"), ElementsAre(2));
  EXPECT_THAT(topology.match("in", "k"), ElementsAre(1));
  topology.bind("rest", 1, "");
  EXPECT_THAT(topology.match("in", "other"), ElementsAre(1));
}

TEST(CompiledExchanges, AskTheAlternateToWhenOnlyExchangesMatched) {
  Topology topology;
  topology.queue(1);
  topology.exchange("in", "fanout", "rest");
  topology.exchange("empty", "fanout");
  topology.exchange("rest", "fanout");
  topology.bind("rest", 1, "");
  topology.lead("in", "empty", "");
  EXPECT_THAT(topology.match("in", ""), ElementsAre(1));
  topology.queue(2);
  topology.bind("empty", 2, "");
  EXPECT_THAT(topology.match("in", ""), ElementsAre(2));
}

TEST(CompiledExchanges, KnowWhetherTheKeyAloneDecides) {
  Topology topology;
  topology.queue(1);
  topology.exchange("in", "direct");
  topology.exchange("by headers", "headers");
  topology.lead("in", "by headers", "deep");
  topology.bind("in", 1, "plain");
  topology.bind("by headers", 1, "");
  EXPECT_THAT(topology.match("in", "plain"), ElementsAre(1));
  EXPECT_TRUE(topology.by_key_alone());
  EXPECT_THAT(topology.match("in", "deep"), ElementsAre(1));
  EXPECT_FALSE(topology.by_key_alone());
  EXPECT_THAT(topology.match("amq.headers", ""), IsEmpty());
  EXPECT_FALSE(topology.by_key_alone());
}

// ---- against a walk that is too simple to be wrong

std::set<std::uint64_t> naive_match(const CatalogState& state, const std::string& start,
                                    const std::string& key) {
  std::set<std::string> visited;
  std::set<std::uint64_t> queues;
  std::vector<std::string> open{start};
  const auto alternate = [&](const std::string& name) {
    const auto& arguments = state.find_exchange("/", name)->arguments();
    const auto found = arguments.find("alternate-exchange");
    if (found == arguments.end()) return;
    if (state.find_exchange("/", found->second.string_value()) == nullptr) return;
    open.push_back(found->second.string_value());
  };
  const auto walk = [&] {
    while (!open.empty()) {
      const std::string name = open.back();
      open.pop_back();
      if (!visited.insert(name).second) continue;
      const bool fanout = state.find_exchange("/", name)->type() == "fanout";
      bool matched = false;
      for (const std::uint64_t number : state.bindings_from("/", name)) {
        const v1::BindingDefinition& binding = *state.find_binding(number);
        if (!fanout && binding.routing_key() != key) continue;
        matched = true;
        if (!binding.to_exchange().empty()) {
          open.push_back(binding.to_exchange());
        } else {
          queues.insert(state.find_queue("/", binding.queue())->id());
        }
      }
      if (!matched) alternate(name);
    }
  };
  walk();
  for (std::size_t known = 0; queues.empty() && known < visited.size();) {
    known = visited.size();
    const std::set<std::string> before = visited;
    for (const std::string& name : before) alternate(name);
    walk();
  }
  return queues;
}

RC_GTEST_PROP(CompiledExchangesProperty, AgreeWithANaiveWalkWhileTheTopologyChanges, ()) {
  Topology topology;
  for (std::uint64_t id = 1; id <= 3; ++id) topology.queue(id);
  const std::vector<std::string> names{"a", "b", "c", "d"};
  const auto some_name = [&] { return *rc::gen::elementOf(names); };
  const auto exists = [&](const std::string& name) {
    return topology.state().find_exchange("/", name) != nullptr;
  };
  const auto some_key = [] { return *rc::gen::element<std::string>("k", "l"); };
  const int steps = *rc::gen::inRange(1, 60);
  for (int step = 0; step < steps; ++step) {
    const std::string name = some_name();
    switch (*rc::gen::inRange(0, 8)) {
      case 0:
        if (exists(name)) topology.delete_exchange(name);
        break;
      case 1: {
        const auto numbers = topology.state().bindings_from("/", name);
        if (!numbers.empty()) topology.unbind(*rc::gen::elementOf(numbers));
        break;
      }
      case 2:
      case 3:
        if (exists(name)) topology.bind(name, *rc::gen::inRange<std::uint64_t>(1, 4), some_key());
        break;
      case 4:
      case 5: {
        const std::string to = some_name();
        if (exists(name) && exists(to)) topology.lead(name, to, some_key());
        break;
      }
      default:
        if (!exists(name)) {
          topology.exchange(name, *rc::gen::element<std::string>("direct", "fanout"),
                            *rc::gen::element<std::string>("", "a", "b", "c"));
        }
    }
    for (const std::string& start : names) {
      if (!exists(start)) continue;
      for (const std::string key : {"k", "l"}) {
        const auto found = topology.match(start, key);
        RC_ASSERT(std::set<std::uint64_t>(found.begin(), found.end()) ==
                  naive_match(topology.state(), start, key));
      }
    }
  }
}

}  // namespace
}  // namespace segue
