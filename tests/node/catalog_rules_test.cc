#include "node/catalog_rules.h"

#include <gtest/gtest.h>

#include <map>

#include "node/catalog_checks.h"
#include "tests/node/catalog_fixture.h"

namespace segue::node {
namespace {

using testing_catalog::bind_queue;
using testing_catalog::declare_exchange;
using testing_catalog::declare_queue;
using testing_catalog::delete_exchange;
using testing_catalog::delete_queue;
using testing_catalog::owner;
using testing_catalog::unbind_queue;

/// Decides and applies, as the leader does.
class CatalogRulesTest : public testing::Test {
 protected:
  CatalogRulesTest() : random_(7), rules_(100, random_) {
    v1::CatalogEntry entry;
    entry.set_index(1);
    entry.add_changes()->mutable_cluster_created()->set_shard_count(8);
    state_.apply(entry);
  }

  CatalogDecision run(const v1::CatalogOperation& operation) {
    CatalogDecision decision = rules_.decide(state_, operation);
    EXPECT_TRUE(decision.status.is_ok() || decision.changes.empty());
    v1::CatalogEntry entry;
    entry.set_index(state_.index().value + 1);
    for (const v1::CatalogChange& change : decision.changes) *entry.add_changes() = change;
    state_.apply(entry);
    return decision;
  }
  Code code(const v1::CatalogOperation& operation) { return run(operation).status.code(); }
  std::string message(const v1::CatalogOperation& operation) {
    return run(operation).status.message();
  }

  SeededRandom random_;
  CatalogRules rules_;
  CatalogState state_;
};

TEST_F(CatalogRulesTest, DeclaresAQueueWithIdAndShard) {
  const CatalogDecision first = run(declare_queue("q"));
  EXPECT_TRUE(first.created);
  EXPECT_EQ(first.queue.id(), 1u);
  EXPECT_LT(first.queue.shard(), 8u);
  EXPECT_EQ(run(declare_queue("q2")).queue.id(), 2u);
  EXPECT_EQ(state_.find_queue("/", "q")->id(), 1u);
}

TEST_F(CatalogRulesTest, RedeclaringTheSameIsFine) {
  run(declare_queue("q"));
  const CatalogDecision again = run(declare_queue("q"));
  EXPECT_TRUE(again.status.is_ok());
  EXPECT_FALSE(again.created);
  EXPECT_EQ(again.queue.id(), 1u);
  EXPECT_TRUE(again.changes.empty());
}

TEST_F(CatalogRulesTest, RedeclaringDifferentlyNamesArgumentWantedAndCurrent) {
  run(declare_queue("q"));
  v1::CatalogOperation transient = declare_queue("q");
  transient.mutable_declare_queue()->mutable_queue()->set_durable(false);
  EXPECT_EQ(code(transient), Code::kPreconditionFailed);
  EXPECT_NE(message(transient).find("'durable': wanted false, current value is true"),
            std::string::npos);
  v1::CatalogOperation slow = declare_queue("q");
  (*slow.mutable_declare_queue()->mutable_queue()->mutable_arguments())["x-durability"]
      .set_int_value(50);
  EXPECT_NE(message(slow).find("'x-durability': wanted 50, current value is not set"),
            std::string::npos);
  run(declare_exchange("e", "topic"));
  EXPECT_NE(message(declare_exchange("e", "fanout"))
                .find("'type': wanted 'fanout', current value is 'topic'"),
            std::string::npos);
}

TEST_F(CatalogRulesTest, AnUpdateChangesWhatCanBeChangedAndNothingElse) {
  const auto declare = [](bool update, std::map<std::string, std::int64_t> arguments) {
    v1::CatalogOperation operation = declare_queue("q");
    for (const auto& [name, value] : arguments) {
      (*operation.mutable_declare_queue()->mutable_queue()->mutable_arguments())[name]
          .set_int_value(value);
    }
    operation.mutable_declare_queue()->set_update(update);
    return operation;
  };
  EXPECT_TRUE(run(declare(true, {{"x-max-priority", 3}, {"x-expires", 1000}})).created);
  const std::string hint = message(declare(false, {{"x-max-priority", 3}, {"x-expires", 2000}}));
  EXPECT_NE(hint.find("'x-expires': wanted 2000, current value is 1000"), std::string::npos)
      << hint;
  EXPECT_NE(hint.find("change it in place"), std::string::npos) << hint;
  const CatalogDecision changed =
      run(declare(true, {{"x-max-priority", 3}, {"x-consumer-timeout", 5}}));
  ASSERT_TRUE(changed.status.is_ok()) << changed.status.message();
  EXPECT_TRUE(changed.updated);
  EXPECT_FALSE(changed.created);
  const v1::QueueDefinition& queue = *state_.find_queue("/", "q");
  EXPECT_EQ(queue.id(), 1u);
  EXPECT_EQ(state_.find_queue(QueueId{1}), &queue);
  EXPECT_EQ(queue.arguments().count("x-expires"), 0u);
  EXPECT_EQ(queue.arguments().at("x-consumer-timeout").int_value(), 5);
  // Equal: nothing is logged.
  const CatalogDecision same =
      run(declare(true, {{"x-max-priority", 3}, {"x-consumer-timeout", 5}}));
  EXPECT_FALSE(same.updated);
  EXPECT_TRUE(same.changes.empty());
  const std::string refused = message(declare(true, {{"x-max-priority", 4}}));
  EXPECT_NE(refused.find("'x-max-priority': wanted 4, current value is 3"), std::string::npos)
      << refused;
  EXPECT_NE(refused.find("in place can be changed: x-consumer-timeout"), std::string::npos)
      << refused;
  EXPECT_EQ(state_.find_queue("/", "q")->arguments().at("x-consumer-timeout").int_value(), 5);
  v1::CatalogOperation wrong = declare(true, {{"x-max-priority", 3}, {"x-expires", -1}});
  EXPECT_EQ(code(wrong), Code::kPreconditionFailed);
}

TEST_F(CatalogRulesTest, PassiveDeclareFindsOrRefuses) {
  v1::CatalogOperation passive = declare_queue("q");
  passive.mutable_declare_queue()->set_passive(true);
  EXPECT_EQ(code(passive), Code::kNotFound);
  run(declare_queue("q"));
  EXPECT_EQ(run(passive).queue.id(), 1u);
  v1::CatalogOperation exchange = declare_exchange("e", "topic");
  exchange.mutable_declare_exchange()->set_passive(true);
  EXPECT_EQ(code(exchange), Code::kNotFound);
  exchange.mutable_declare_exchange()->mutable_exchange()->set_name("amq.topic");
  EXPECT_EQ(code(exchange), Code::kOk);
}

TEST_F(CatalogRulesTest, TheDefaultAndThePredeclaredExchangesAreTheBrokers) {
  run(declare_queue("q"));
  EXPECT_EQ(code(declare_exchange("", "direct")), Code::kAccessRefused);
  EXPECT_EQ(code(delete_exchange("")), Code::kAccessRefused);
  EXPECT_EQ(code(bind_queue("", "q", "k")), Code::kAccessRefused);
  EXPECT_EQ(code(unbind_queue("", "q", "q")), Code::kAccessRefused);
  EXPECT_EQ(code(declare_exchange("amq.direct", "direct")), Code::kAccessRefused);
  EXPECT_EQ(code(declare_exchange("amq.mine", "direct")), Code::kAccessRefused);
  EXPECT_EQ(code(delete_exchange("amq.topic")), Code::kAccessRefused);
  EXPECT_EQ(code(declare_queue("amq.mine")), Code::kAccessRefused);
  EXPECT_EQ(code(bind_queue("amq.topic", "q", "k")), Code::kOk);
}

TEST_F(CatalogRulesTest, AnUnknownTypeIsRefusedWithThoseThatExist) {
  EXPECT_EQ(code(declare_exchange("e", "telepathy")), Code::kPreconditionFailed);
  EXPECT_NE(message(declare_exchange("e", "telepathy")).find("direct, fanout, topic"),
            std::string::npos);
}

TEST_F(CatalogRulesTest, NamesMayBeAnyUtf8UpTo255Bytes) {
  using std::string_literals::operator""s;
  for (const std::string& name :
       {"a/b"s, ".."s, "nul\0nul"s, std::string(255, 'x'), "\xF0\x9F\x90\xB0"s, " "s}) {
    EXPECT_EQ(code(declare_queue(name)), Code::kOk) << name;
  }
  EXPECT_EQ(code(declare_queue(std::string(256, 'x'))), Code::kPreconditionFailed);
  EXPECT_EQ(code(declare_queue("\xff")), Code::kPreconditionFailed);
  EXPECT_EQ(code(declare_exchange(std::string(256, 'x'), "topic")), Code::kPreconditionFailed);
  run(declare_exchange("e", "topic"));
  EXPECT_EQ(code(bind_queue("e", "..", std::string(256, 'k'))), Code::kPreconditionFailed);
}

TEST_F(CatalogRulesTest, AnEmptyQueueNameGetsOne) {
  const CatalogDecision made = run(declare_queue(""));
  EXPECT_TRUE(made.queue.name().starts_with("amq.gen-"));
  EXPECT_NE(run(declare_queue("")).queue.name(), made.queue.name());
  EXPECT_EQ(code(declare_queue(made.queue.name())), Code::kOk);
}

TEST_F(CatalogRulesTest, UnknownAndWrongArgumentsAreNamed) {
  v1::CatalogOperation odd = declare_queue("q");
  auto& arguments = *odd.mutable_declare_queue()->mutable_queue()->mutable_arguments();
  arguments["x-what"].set_int_value(1);
  EXPECT_NE(message(odd).find("'x-what'"), std::string::npos);
  arguments.clear();
  arguments["x-durability"].set_int_value(-1);
  EXPECT_NE(message(odd).find("'x-durability' of queue 'q' is -1"), std::string::npos);
  arguments["x-durability"].set_string_value("never");
  EXPECT_EQ(code(odd), Code::kPreconditionFailed);
  arguments.clear();
  arguments["x-gc-valid-percent"].set_int_value(67);
  EXPECT_NE(message(odd).find("'x-gc-valid-percent' of queue 'q' is 67; it must be a whole number "
                              "between 1 and 66"),
            std::string::npos);
  arguments["x-gc-valid-percent"].set_string_value("50");
  EXPECT_EQ(code(odd), Code::kPreconditionFailed);
  arguments["x-gc-valid-percent"].set_int_value(66);
  arguments["x-gc-min-messages"].set_int_value(0);
  EXPECT_EQ(code(odd), Code::kPreconditionFailed);
  arguments["x-gc-min-messages"].set_int_value(1);
  arguments["x-gc-min-bytes"].set_int_value(4095);
  EXPECT_EQ(code(odd), Code::kPreconditionFailed);
  arguments["x-gc-min-bytes"].set_int_value(4096);
  EXPECT_EQ(state_.find_queue("/", "q"), nullptr);
  arguments["x-durability"].set_string_value("sync");
  EXPECT_EQ(code(odd), Code::kOk);
}

TEST_F(CatalogRulesTest, ExclusiveQueuesAreLockedForOthers) {
  run(declare_exchange("e", "topic"));
  v1::CatalogOperation mine = declare_queue("q");
  mine.mutable_declare_queue()->mutable_queue()->set_exclusive(true);
  *mine.mutable_asker() = owner("r1", 1, 1);
  EXPECT_TRUE(run(mine).created);
  EXPECT_EQ(code(mine), Code::kOk);
  v1::CatalogOperation other = mine;
  *other.mutable_asker() = owner("r1", 1, 2);
  EXPECT_EQ(code(other), Code::kResourceLocked);
  for (v1::CatalogOperation operation :
       {bind_queue("e", "q", "k"), unbind_queue("e", "q", "k"), delete_queue("q")}) {
    *operation.mutable_asker() = owner("r2", 1, 1);
    EXPECT_EQ(code(operation), Code::kResourceLocked);
  }
  v1::CatalogOperation remove = delete_queue("q");
  *remove.mutable_asker() = owner("r1", 1, 1);
  EXPECT_EQ(code(remove), Code::kOk);
  EXPECT_EQ(state_.find_queue("/", "q"), nullptr);
}

TEST_F(CatalogRulesTest, BindsOnceForEachKeyAndArguments) {
  EXPECT_EQ(code(bind_queue("e", "q", "k")), Code::kNotFound);
  run(declare_exchange("e", "topic"));
  EXPECT_EQ(code(bind_queue("e", "q", "k")), Code::kNotFound);
  run(declare_queue("q"));
  EXPECT_TRUE(run(bind_queue("e", "q", "k")).created);
  EXPECT_FALSE(run(bind_queue("e", "q", "k")).created);
  EXPECT_TRUE(run(bind_queue("e", "q", "k2")).created);
  v1::CatalogOperation with_argument = bind_queue("e", "q", "k");
  (*with_argument.mutable_bind()->mutable_arguments())["n"].set_int_value(1);
  EXPECT_TRUE(run(with_argument).created);
  EXPECT_EQ(state_.bindings_to("/", "q").size(), 3u);
  EXPECT_EQ(code(unbind_queue("e", "q", "k")), Code::kOk);
  EXPECT_EQ(code(unbind_queue("e", "q", "k")), Code::kOk);
  EXPECT_EQ(state_.bindings_to("/", "q").size(), 2u);
}

TEST_F(CatalogRulesTest, AnAutoDeleteExchangeGoesWithItsLastBinding) {
  v1::CatalogOperation declare = declare_exchange("e", "topic");
  declare.mutable_declare_exchange()->mutable_exchange()->set_auto_delete(true);
  run(declare);
  run(declare_queue("q"));
  run(declare_queue("q2"));
  run(bind_queue("e", "q", "k"));
  run(bind_queue("e", "q2", "k"));
  run(unbind_queue("e", "q", "k"));
  EXPECT_NE(state_.find_exchange("/", "e"), nullptr);
  run(delete_queue("q2"));
  EXPECT_EQ(state_.find_exchange("/", "e"), nullptr);
  EXPECT_TRUE(state_.list_bindings(0, 10).empty());
}

TEST_F(CatalogRulesTest, DeletingIsFineWhenNothingIsThere) {
  EXPECT_EQ(code(delete_queue("q")), Code::kOk);
  EXPECT_EQ(code(delete_exchange("e")), Code::kOk);
}

TEST_F(CatalogRulesTest, AQueueIsDeletedUnderItsIdOnly) {
  run(declare_queue("q"));
  v1::CatalogOperation remove = delete_queue("q");
  remove.mutable_delete_queue()->set_id(17);
  run(remove);
  EXPECT_NE(state_.find_queue("/", "q"), nullptr);
  remove.mutable_delete_queue()->set_id(1);
  run(remove);
  EXPECT_EQ(state_.find_queue("/", "q"), nullptr);
}

TEST_F(CatalogRulesTest, AnExchangeInUseIsKeptIfAsked) {
  run(declare_exchange("e", "topic"));
  run(declare_queue("q"));
  run(bind_queue("e", "q", "k"));
  v1::CatalogOperation remove = delete_exchange("e");
  remove.mutable_delete_exchange()->set_if_unused(true);
  EXPECT_EQ(code(remove), Code::kPreconditionFailed);
  EXPECT_EQ(code(delete_exchange("e")), Code::kOk);
  EXPECT_TRUE(state_.list_bindings(0, 10).empty());
}

TEST_F(CatalogRulesTest, TheNumberOfQueuesIsBounded) {
  for (int i = 0; i < 100; ++i) {
    ASSERT_EQ(code(declare_queue("q" + std::to_string(i))), Code::kOk);
  }
  EXPECT_EQ(code(declare_queue("more")), Code::kResourceError);
  EXPECT_EQ(code(declare_queue("q1")), Code::kOk);
}

TEST_F(CatalogRulesTest, UnknownOperationsAndVhostsAreRefused) {
  EXPECT_EQ(code(v1::CatalogOperation()), Code::kNotImplemented);
  v1::CatalogOperation elsewhere = declare_queue("q");
  elsewhere.mutable_declare_queue()->mutable_queue()->set_vhost("tenant");
  EXPECT_EQ(code(elsewhere), Code::kNotFound);
}

TEST_F(CatalogRulesTest, AVirtualHostHasLimitsThatCanBeChanged) {
  v1::CatalogOperation vhost;
  vhost.mutable_declare_vhost()->mutable_vhost()->set_name("v");
  vhost.mutable_declare_vhost()->mutable_vhost()->set_max_queues(1);
  EXPECT_TRUE(run(vhost).created);
  EXPECT_TRUE(run(vhost).changes.empty());
  const auto in_v = [](const std::string& name) {
    v1::CatalogOperation operation = declare_queue(name);
    operation.mutable_declare_queue()->mutable_queue()->set_vhost("v");
    return operation;
  };
  EXPECT_EQ(code(in_v("a")), Code::kOk);
  EXPECT_EQ(code(in_v("a")), Code::kOk);
  EXPECT_EQ(code(in_v("b")), Code::kResourceError);
  EXPECT_EQ(code(declare_queue("b")), Code::kOk);
  vhost.mutable_declare_vhost()->mutable_vhost()->set_max_queues(2);
  EXPECT_NE(message(vhost).find("max_queues: wanted 2, current value is 1"), std::string::npos);
  vhost.mutable_declare_vhost()->set_update(true);
  EXPECT_TRUE(run(vhost).updated);
  EXPECT_EQ(code(in_v("b")), Code::kOk);
  v1::CatalogOperation unnamed;
  unnamed.mutable_declare_vhost();
  EXPECT_EQ(code(unnamed), Code::kPreconditionFailed);
  v1::CatalogOperation always;
  always.set_delete_vhost("/");
  EXPECT_EQ(code(always), Code::kAccessRefused);
}

TEST(CatalogChecks, NamesInMessagesAreHarmless) {
  EXPECT_EQ(quoted_name("a\nb\x1b"), "'a\\x0ab\\x1b'");
  EXPECT_EQ(quoted_name("\xff"), "'\\xff'");
  EXPECT_LT(quoted_name(std::string(10'000, 'x')).size(), 400u);
}

}  // namespace
}  // namespace segue::node
