#include "node/definitions_at_start.h"

#include <gtest/gtest.h>

#include "tests/fakes/capture_logger.h"
#include "tests/fakes/fake_replicated_log.h"
#include "tests/fakes/process.h"
#include "tests/node/catalog_fixture.h"

namespace segue::node {
namespace {

using std::chrono::seconds;
using testing_catalog::declare_queue;

class DefinitionsAtStartTest : public testing::Test {
 protected:
  DefinitionsAtStartTest()
      : leader_({.cluster = "c", .shard_count = 8, .node_ids = {"n1"}}, log_, random_,
                lines_.logger(),
                [this](const v1::CatalogEntry& entry) { EXPECT_TRUE(committed_.apply(entry)); }) {
    EXPECT_TRUE(leader_.start(committed_, clock_.now()).is_ok());
    commit();
  }

  std::string document(const std::string& text) { return directory_.write("d.json", text); }
  void start(const std::string& text) {
    auto documents = load_definitions_documents({document(text)});
    ASSERT_TRUE(documents) << documents.status().message();
    definitions_.emplace(std::move(documents).value(), leader_, lines_.logger());
  }
  std::string refusal(const std::string& text) {
    const auto documents = load_definitions_documents({document(text)});
    EXPECT_FALSE(documents) << text;
    return documents ? "" : documents.status().message();
  }
  void commit() { leader_.on_committed(log_.last_index()); }
  void turn() {
    definitions_->step(clock_.now());
    leader_.end_turn();
    commit();
  }
  void turns() {
    do turn();
    while (definitions_->wants_turn());
    turn();
  }

  TempDir directory_;
  ManualClock clock_;
  CaptureLogger lines_;
  SeededRandom random_{3};
  FakeReplicatedLog log_;
  CatalogState committed_;
  CatalogLeader leader_;
  std::optional<DefinitionsAtStart> definitions_;
};

constexpr char kDocument[] = R"({"segue_definitions": 1,
  "vhosts": [{"name": "/", "max_sessions": 9}, {"name": "shop", "max_queues": 1}],
  "exchanges": [{"name": "e", "type": "topic"}],
  "queues": [{"name": "a"}, {"name": "b"}, {"name": "q", "vhost": "shop"}],
  "policies": [{"name": "p", "pattern": "^a", "definition": {"max-length": 5}}],
  "bindings": [{"exchange": "e", "queue": "a", "routing_key": "k"}]})";

TEST_F(DefinitionsAtStartTest, WhatIsMissingIsMadeAndNobodySeesTheCatalogBefore) {
  start(kDocument);
  EXPECT_TRUE(definitions_->holds_catalog_back());
  turn();
  EXPECT_TRUE(definitions_->holds_catalog_back());
  turn();
  EXPECT_FALSE(definitions_->holds_catalog_back());
  EXPECT_EQ(committed_.find_vhost("/")->max_sessions(), 9u);
  EXPECT_NE(committed_.find_queue("shop", "q"), nullptr);
  EXPECT_EQ(committed_.bindings_to("/", "a").size(), 1u);
  EXPECT_TRUE(lines_.contains("event=definitions_applied")) << lines_.lines().back();
  EXPECT_TRUE(lines_.contains("made=8 equal=0 different=0 refused=0")) << lines_.lines().back();
}

TEST_F(DefinitionsAtStartTest, ASecondStartChangesNothing) {
  start(kDocument);
  turns();
  const std::size_t logged = log_.proposals.size();
  start(kDocument);
  turns();
  EXPECT_EQ(log_.proposals.size(), logged);
  EXPECT_TRUE(lines_.contains("made=0 equal=8 different=0 refused=0")) << lines_.lines().back();
}

TEST_F(DefinitionsAtStartTest, WhatIsDifferentIsLeftAndWhatIsRefusedIsTold) {
  start(kDocument);
  turns();
  start(R"({"segue_definitions": 1,
    "queues": [{"name": "a", "durable": false}, {"name": "new"}, {"name": "r", "vhost": "shop"}],
    "policies": [{"name": "p", "pattern": "^b", "definition": {"max-length": 5}}],
    "bindings": [{"exchange": "none", "queue": "a"}]})");
  turns();
  EXPECT_TRUE(committed_.find_queue("/", "a")->durable());
  EXPECT_EQ(committed_.policies().find("/", "p")->pattern(), "^a");
  EXPECT_NE(committed_.find_queue("/", "new"), nullptr);
  EXPECT_TRUE(lines_.contains("object=\"queue 'a'\" difference=\"durable is true, wanted false\""));
  EXPECT_TRUE(lines_.contains("difference=\"pattern is '^a', wanted '^b'\""));
  EXPECT_TRUE(lines_.contains("object=\"queue 'r' of virtual host 'shop'\" reason="));
  EXPECT_TRUE(lines_.contains("there is no exchange 'none'"));
  EXPECT_TRUE(lines_.contains("made=1 equal=0 different=2 refused=2")) << lines_.lines().back();
}

TEST_F(DefinitionsAtStartTest, AFullLogIsWaitedForAndToldMeanwhile) {
  log_.full = true;
  start(kDocument);
  turns();
  EXPECT_FALSE(definitions_->holds_catalog_back());
  EXPECT_TRUE(lines_.contains("event=definitions_wait")) << lines_.lines().back();
  EXPECT_TRUE(lines_.contains("objects=8")) << lines_.lines().back();
  EXPECT_EQ(committed_.queue_count(), 0u);
  log_.full = false;
  turns();
  EXPECT_EQ(committed_.queue_count(), 0u) << "before its time";
  clock_.advance(seconds(2));
  turns();
  EXPECT_EQ(committed_.queue_count(), 3u);
  EXPECT_TRUE(lines_.contains("made=8 equal=0 different=0 refused=0")) << lines_.lines().back();
}

TEST_F(DefinitionsAtStartTest, AFullLogInTheMiddleLosesNothing) {
  std::string queues;
  for (int i = 0; i < 1700; ++i) {
    queues += (i == 0 ? "" : ",") + std::string("{\"name\": \"q") + std::to_string(i) + "\"}";
  }
  start(R"({"segue_definitions": 1, "queues": [)" + queues +
        R"(], "bindings": [{"exchange": "amq.topic", "queue": "q1699"}]})");
  turn();
  const std::size_t before = committed_.queue_count();
  EXPECT_GT(before, 0u);
  EXPECT_LT(before, 1700u);
  log_.full = true;
  turns();
  log_.full = false;
  clock_.advance(seconds(2));
  turns();
  EXPECT_EQ(committed_.queue_count(), 1700u);
  EXPECT_EQ(committed_.bindings_to("/", "q1699").size(), 1u);
  EXPECT_TRUE(lines_.contains("made=1701 equal=0 different=0 refused=0")) << lines_.lines().back();
}

TEST_F(DefinitionsAtStartTest, ADocumentThatCanNeverBeMadeIsRefusedWithFileAndObject) {
  const std::string path = directory_.path() + "/d.json";
  const auto with = [&](const std::string& rest) {
    return refusal(R"({"segue_definitions": 1, )" + rest + "}");
  };
  EXPECT_EQ(with(R"("queues": [{"name": "a", "arguments": {"x-expires": -1}}])")
                .find(path + ": argument 'x-expires' of queue 'a'"),
            0u);
  EXPECT_EQ(with(R"("queues": [{"name": "amq.x"}])").find(path + ": queue 'amq.x': "), 0u);
  EXPECT_EQ(with(R"("exchanges": [{"name": "e", "type": "odd"}])").find(path + ": exchange 'e'"),
            0u);
  EXPECT_NE(with(R"("policies": [{"name": "p", "pattern": "(", "definition": {"expires": 5}}])")
                .find("policy 'p'"),
            std::string::npos);
  EXPECT_EQ(with(R"("queues": [{"name": 5}])"),
            path + ": queues[0].name is a number; it must be a string");
  EXPECT_EQ(with(R"("bindings": [{"exchange": "amq.topic", "queue": "elsewhere"}],
                    "queues": [{"name": "q", "vhost": "elsewhere"}, {"name": ""}])")
                .find(path + ": queues[1].name is empty"),
            0u);
}

}  // namespace
}  // namespace segue::node
