// Lines 8 to 12 of docs/semantics.md: exchanges and bindings.

#include <algorithm>
#include <set>

#include "tests/semantics/semantics_fixture.h"

namespace segue::client {
namespace {

TEST_F(Semantics, Line08DirectComparesTheKey) {
  exchange("x", "direct");
  queue("a");
  queue("b");
  bind({"x", "a", "red"});
  bind({"x", "a", "blue"});
  bind({"x", "b", "blue"});
  publish_routed("x", "red", "1");
  publish_routed("x", "blue", "2");
  publish_unrouted("x", "Red", "3");
  publish_unrouted("x", "", "4");
  EXPECT_EQ(take("a"), (Bodies{"1", "2"}));
  EXPECT_EQ(take("b"), (Bodies{"2"}));
}

TEST_F(Semantics, Line08FanoutTakesAll) {
  exchange("x", "fanout");
  queue("a");
  queue("b");
  publish_unrouted("x", "k", "before");
  bind({"x", "a", "ignored"});
  bind({"x", "b", ""});
  publish_routed("x", "k", "1");
  publish_routed("x", "", "2");
  EXPECT_EQ(take("a"), (Bodies{"1", "2"}));
  EXPECT_EQ(take("b"), (Bodies{"1", "2"}));
}

TEST_F(Semantics, Line08TopicMatchesWords) {
  exchange("x", "topic");
  queue("star");
  queue("hash");
  queue("inside");
  queue("empty");
  bind({"x", "star", "order.*.created"});
  bind({"x", "hash", "order.#"});
  bind({"x", "inside", "a*.b#"});
  bind({"x", "empty", ""});
  publish_routed("x", "order.eu.created", "1");
  publish_routed("x", "order", "2");
  publish_routed("x", "order.created", "3");
  publish_routed("x", "order..created", "4");
  publish_unrouted("x", "orders", "5");
  publish_unrouted("x", "ax.bx", "6");
  publish_routed("x", "a*.b#", "7");
  publish_routed("x", "", "8");
  EXPECT_EQ(take("star"), (Bodies{"1", "4"}));
  EXPECT_EQ(take("hash"), (Bodies{"1", "2", "3", "4"}));
  EXPECT_EQ(take("inside"), (Bodies{"7"}));
  EXPECT_EQ(take("empty"), (Bodies{"8"}));
}

TEST_F(Semantics, Line08HeadersMatchValuesOrPresence) {
  exchange("x", "headers");
  for (const char* const name : {"all", "any", "there", "with x"}) queue(name);
  bind({"x", "all", "", {{"format", "pdf"}, {"pages", 3}, {"x-ignored", 1}}});
  bind({"x", "any", "", {{"x-match", "any"}, {"format", "pdf"}, {"pages", 3}}});
  bind({"x", "there", "", {{"signed", Value()}}});
  bind({"x", "with x", "", {{"x-match", "all-with-x"}, {"x-kind", "a"}}});
  publish_routed("x", "k", "1", {{"format", "pdf"}, {"pages", 3}});
  publish_routed("x", "k", "2", {{"format", "zip"}, {"pages", 3}});
  publish_unrouted("x", "k", "3", {{"format", "zip"}, {"pages", "3"}});
  publish_routed("x", "k", "4", {{"signed", "by somebody"}});
  publish_routed("x", "k", "5", {{"x-kind", "a"}});
  publish_unrouted("x", "k", "6");
  EXPECT_EQ(take("all"), (Bodies{"1"}));
  EXPECT_EQ(take("any"), (Bodies{"1", "2"}));
  EXPECT_EQ(take("there"), (Bodies{"4"}));
  EXPECT_EQ(take("with x"), (Bodies{"5"}));
  const Status refused = admin().bind({"x", "all", "", {{"x-match", "some"}}});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kPreconditionFailed);
}

// Messages of one batch with different headers, and equal keys, go different ways.
TEST_F(Semantics, Line08HeadersCountForEachMessageOfABatch) {
  exchange("x", "headers");
  queue("even");
  queue("odd");
  bind({"x", "even", "", {{"parity", 0}}});
  bind({"x", "odd", "", {{"parity", 1}}});
  for (int i = 0; i < 500; ++i) {
    Message message = Message::to_exchange("x", "k", std::to_string(i));
    message.header.properties.headers = {{"parity", i % 2}};
    ASSERT_TRUE(connection().publisher().publish(std::move(message)));
  }
  ASSERT_TRUE(connection().publisher().wait_for_confirms(kLong));
  for (const int parity : {0, 1}) {
    const Bodies bodies = take(parity == 0 ? "even" : "odd");
    ASSERT_EQ(bodies.size(), 250u);
    for (int i = 0; i < 250; ++i) EXPECT_EQ(bodies[i], std::to_string(2 * i + parity));
  }
}

TEST_F(Semantics, Line08ConsistentHashKeepsAKeyWithItsQueue) {
  exchange("x", "x-consistent-hash");
  std::vector<std::string> queues;
  for (int i = 0; i < 4; ++i) {
    queues.push_back("q" + std::to_string(i));
    queue(queues.back());
    bind({"x", queues.back(), i == 3 ? "3" : "1"});
  }
  const auto queue_of_keys = [&] {
    std::map<std::string, std::string> found;
    for (int i = 0; i < 300; ++i) {
      Message message = Message::to_exchange("x", "key " + std::to_string(i), std::to_string(i));
      EXPECT_TRUE(connection().publisher().publish(std::move(message)));
    }
    EXPECT_TRUE(connection().publisher().wait_for_confirms(kLong));
    for (const std::string& name : queues) {
      for (const std::string& body : take(name)) {
        EXPECT_FALSE(found.contains(body));
        found[body] = name;
      }
    }
    EXPECT_EQ(found.size(), 300u);
    return found;
  };
  const auto before = queue_of_keys();
  EXPECT_EQ(queue_of_keys(), before);
  std::map<std::string, int> counts;
  for (const auto& [key, name] : before) ++counts[name];
  EXPECT_GT(counts["q3"], 90);
  EXPECT_LT(counts["q0"], 90);
  ASSERT_TRUE(admin().unbind({"x", "q1", "1"}));
  for (const auto& [key, name] : queue_of_keys()) {
    if (before.at(key) != "q1") {
      EXPECT_EQ(name, before.at(key));
    }
    EXPECT_NE(name, "q1");
  }
  const Status refused = admin().bind({"x", "q1", "much"});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kPreconditionFailed);
  EXPECT_NE(refused.error().text.find("weight"), std::string::npos) << refused.error().text;
}

TEST_F(Semantics, Line08ConsistentHashOfAHeader) {
  exchange("x", "x-consistent-hash", {{"hash-header", "customer"}});
  queue("a");
  queue("b");
  bind({"x", "a", "1"});
  bind({"x", "b", "1"});
  for (int i = 0; i < 100; ++i) {
    publish_routed("x", std::to_string(i), "same", {{"customer", "one"}});
  }
  const std::size_t a = take("a").size();
  const std::size_t b = take("b").size();
  EXPECT_EQ(std::max(a, b), 100u);
  EXPECT_EQ(std::min(a, b), 0u);
}

TEST_F(Semantics, Line09TheDefaultExchangeLeadsToQueuesByName) {
  queue("a");
  publish_routed("", "a", "1");
  publish_unrouted("", "b", "2");
  EXPECT_EQ(take("a"), (Bodies{"1"}));
  const auto refused = [](const Status& status) {
    return !status && status.error().code == ErrorCode::kAccessRefused;
  };
  EXPECT_TRUE(refused(admin().declare_exchange("", ExchangeOptions())));
  EXPECT_TRUE(refused(admin().delete_exchange("")));
  EXPECT_TRUE(refused(admin().bind({"", "a", "k"})));
  EXPECT_TRUE(refused(admin().unbind({"", "a", "a"})));
  EXPECT_FALSE(admin().bind(onward("amq.direct", "", "k")));
}

TEST_F(Semantics, Line09PredeclaredExchangesAreThereAndTheBrokersOwn) {
  queue("a");
  bind({"amq.direct", "a", "k"});
  bind({"amq.fanout", "a", ""});
  bind({"amq.topic", "a", "k.#"});
  bind({"amq.headers", "a", "", {{"h", 1}}});
  publish_routed("amq.direct", "k", "1");
  publish_routed("amq.fanout", "", "2");
  publish_routed("amq.topic", "k.l", "3");
  publish_routed("amq.headers", "", "4", {{"h", 1}});
  EXPECT_EQ(take("a"), (Bodies{"1", "2", "3", "4"}));
  const auto refused = [](const Status& status) {
    return !status && status.error().code == ErrorCode::kAccessRefused;
  };
  EXPECT_TRUE(refused(admin().declare_exchange("amq.mine", ExchangeOptions())));
  EXPECT_TRUE(refused(admin().declare_exchange("amq.direct", ExchangeOptions())));
  EXPECT_TRUE(refused(admin().delete_exchange("amq.direct")));
}

TEST_F(Semantics, Line10RedeclaringComparesEverything) {
  ExchangeOptions options;
  options.type = "topic";
  options.arguments = {{"alternate-exchange", "rest"}};
  ASSERT_TRUE(admin().declare_exchange("x", options));
  ASSERT_TRUE(admin().declare_exchange("x", options));
  const auto differs = [&](auto change, const std::string& what) {
    ExchangeOptions other = options;
    change(other);
    const Status refused = admin().declare_exchange("x", other);
    EXPECT_FALSE(refused) << what;
    if (refused) return;
    EXPECT_EQ(refused.error().code, ErrorCode::kPreconditionFailed) << what;
    EXPECT_NE(refused.error().text.find(what), std::string::npos) << refused.error().text;
  };
  differs([](ExchangeOptions& other) { other.type = "direct"; }, "type");
  differs([](ExchangeOptions& other) { other.durable = false; }, "durable");
  differs([](ExchangeOptions& other) { other.auto_delete = true; }, "auto_delete");
  differs([](ExchangeOptions& other) { other.internal = true; }, "internal");
  differs([](ExchangeOptions& other) { other.arguments["alternate-exchange"] = "else"; },
          "alternate-exchange");
  differs([](ExchangeOptions& other) { other.arguments.clear(); }, "alternate-exchange");
}

TEST_F(Semantics, Line10WhatAnExchangeCannotBeIsRefused) {
  const auto refused = [&](const std::string& type, const Table& arguments,
                           const std::string& what) {
    ExchangeOptions options;
    options.type = type;
    options.arguments = arguments;
    const Status status = admin().declare_exchange("x", options);
    ASSERT_FALSE(status) << what;
    EXPECT_EQ(status.error().code, ErrorCode::kPreconditionFailed) << what;
    EXPECT_NE(status.error().text.find(what), std::string::npos) << status.error().text;
  };
  refused("topics", {}, "did you mean 'topic'");
  refused("direct", {{"alternate-exchange", 5}}, "alternate-exchange");
  refused("direct", {{"alternate-exchange", ""}}, "alternate-exchange");
  refused("direct", {{"colour", "red"}}, "colour");
  refused("direct", {{"hash-header", "h"}}, "hash-header");
  refused("x-consistent-hash", {{"hash-property", "colour"}}, "message_id");
  EXPECT_FALSE(admin().find_exchange("x"));
}

TEST_F(Semantics, Line11ExchangesLeadToExchangesAroundCyclesToo) {
  exchange("in", "topic");
  exchange("audit", "fanout");
  queue("work");
  queue("log");
  bind({"in", "work", "order.#"});
  bind(onward("in", "audit", "order.*"));
  bind({"audit", "log", ""});
  bind(onward("audit", "in", ""));  // and back
  bind({"audit", "work", ""});      // by another way: still one copy
  publish_routed("in", "order.new", "1");
  publish_routed("in", "order.a.b", "2");
  EXPECT_EQ(take("work"), (Bodies{"1", "2"}));
  EXPECT_EQ(take("log"), (Bodies{"1"}));

  const auto bindings = admin().list_all_bindings("in");
  ASSERT_TRUE(bindings);
  EXPECT_EQ(std::count_if(bindings->begin(), bindings->end(),
                          [](const auto& binding) { return binding.to_exchange == "audit"; }),
            1);
  ASSERT_TRUE(admin().delete_exchange("audit"));
  publish_routed("in", "order.new", "3");
  EXPECT_EQ(take("work"), (Bodies{"3"}));
  EXPECT_EQ(take("log"), (Bodies{}));
}

TEST_F(Semantics, Line11AnInternalExchangeTakesMessagesOfExchangesOnly) {
  ExchangeOptions internal;
  internal.type = "fanout";
  internal.internal = true;
  ASSERT_TRUE(admin().declare_exchange("inner", internal));
  exchange("in", "fanout");
  queue("a");
  bind({"inner", "a", ""});
  bind(onward("in", "inner", ""));
  publish_routed("in", "", "1");
  const Fate fate = publish("inner", "", "2");
  EXPECT_FALSE(fate.confirmed);
  EXPECT_EQ(fate.error, ErrorCode::kAccessRefused);
  EXPECT_EQ(take("a"), (Bodies{"1"}));
}

TEST_F(Semantics, Line11TheAlternateTakesWhatNoQueueGets) {
  exchange("in", "direct", {{"alternate-exchange", "second"}});
  queue("a");
  queue("rest");
  bind({"in", "a", "k"});
  publish_unrouted("in", "l", "1");  // the alternate is not there yet
  exchange("second", "direct", {{"alternate-exchange", "third"}});
  exchange("third", "fanout", {{"alternate-exchange", "in"}});  // and around
  publish_unrouted("in", "l", "2");
  bind({"third", "rest", ""});
  publish_routed("in", "l", "3");  // by a chain; counts as routed
  publish_routed("in", "k", "4");
  EXPECT_EQ(take("rest"), (Bodies{"3"}));
  EXPECT_EQ(take("a"), (Bodies{"4"}));

  exchange("empty", "fanout");
  bind(onward("in", "empty", "m"));
  publish_routed("in", "m", "5");  // a binding matched, but no queue
  EXPECT_EQ(take("rest"), (Bodies{"5"}));
}

TEST_F(Semantics, Line12DifferentBindingsCoexistAndTheSameAgainIsNone) {
  exchange("x", "direct");
  exchange("y", "fanout");
  queue("a");
  bind({"x", "a", "k"});
  bind({"x", "a", "k"});
  bind({"x", "a", "l"});
  bind({"x", "a", "k", {{"note", 1}}});
  bind(onward("x", "y", "k"));
  bind(onward("x", "y", "k"));
  EXPECT_EQ(admin().list_all_bindings("x")->size(), 4u);
  publish_routed("x", "k", "1");
  EXPECT_EQ(take("a"), (Bodies{"1"}));
  ASSERT_TRUE(admin().unbind({"x", "a", "k"}));
  publish_routed("x", "k", "2");  // the one with an argument is left
  ASSERT_TRUE(admin().unbind({"x", "a", "k", {{"note", 1}}}));
  ASSERT_TRUE(admin().unbind({"x", "a", "k", {{"note", 1}}}));  // gone: fine
  publish_unrouted("x", "k", "3");
  EXPECT_EQ(take("a"), (Bodies{"2"}));
}

TEST_F(Semantics, Line12BindingWhatIsMissingIsNotFound) {
  exchange("x", "direct");
  queue("a");
  const auto missing = [](const Status& status, const std::string& what) {
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().code, ErrorCode::kNotFound);
    EXPECT_NE(status.error().text.find(what), std::string::npos) << status.error().text;
  };
  missing(admin().bind({"nosuch", "a", ""}), "nosuch");
  missing(admin().bind({"x", "nosuch", ""}), "nosuch");
  missing(admin().bind(onward("x", "nosuch", "")), "nosuch");
  Binding both = onward("x", "amq.direct", "");
  both.queue = "a";
  const Status refused = admin().bind(both);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kPreconditionFailed);
}

TEST_F(Semantics, Line12AnAutoDeleteExchangeGoesWithItsLastBinding) {
  ExchangeOptions options;
  options.type = "fanout";
  options.auto_delete = true;
  for (const char* const name : {"one", "two", "three"}) {
    ASSERT_TRUE(admin().declare_exchange(name, options));
  }
  queue("a");
  queue("b");
  bind({"three", "a", ""});
  bind(onward("two", "three", ""));
  bind(onward("one", "two", ""));
  bind({"one", "b", ""});
  EXPECT_TRUE(admin().find_exchange("one"));
  ASSERT_TRUE(admin().delete_queue("a"));
  // With it went three's last binding; with three the last one of two.
  EXPECT_FALSE(admin().find_exchange("three"));
  EXPECT_FALSE(admin().find_exchange("two"));
  EXPECT_TRUE(admin().find_exchange("one"));
  ASSERT_TRUE(admin().unbind({"one", "b", ""}));
  EXPECT_FALSE(admin().find_exchange("one"));
}

TEST_F(Semantics, Line12ExchangesAndBindingsOutliveEveryProcess) {
  exchange("in", "headers", {{"alternate-exchange", "rest"}});
  exchange("hash", "x-consistent-hash", {{"hash-property", "message_id"}});
  exchange("rest", "fanout");
  queue("a");
  queue("b");
  bind({"hash", "a", "2"});
  bind(onward("in", "hash", ""));
  bind({"rest", "b", ""});
  ASSERT_TRUE(admin().unbind(onward("in", "hash", "")));
  Binding conditions = onward("in", "hash", "");
  conditions.arguments = {{"kind", "a"}};
  bind(conditions);
  for (const char* const id : {"n1", "n2", "r1"}) cluster().kill(id);
  for (const char* const id : {"n1", "n2", "r1"}) cluster().start(id);
  ASSERT_TRUE(cluster().wait_ready()) << cluster().logs();
  publish_routed("in", "", "1", {{"kind", "a"}});
  publish_routed("in", "", "2", {{"kind", "b"}});
  EXPECT_EQ(take("a"), (Bodies{"1"}));
  EXPECT_EQ(take("b"), (Bodies{"2"}));
}

}  // namespace
}  // namespace segue::client
