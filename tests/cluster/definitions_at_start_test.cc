// The configuration's key `definitions`, with real processes.

#include <gtest/gtest.h>

#include <string>

#include "tests/fakes/process.h"
#include "tests/fakes/test_cluster.h"

namespace segue {
namespace {

class DefinitionsAtStart : public testing::Test {
 protected:
  /// The documents lie beside the configuration.
  static TestCluster::Options options() {
    return {.routers = 1,
            .nodes = 3,
            .shards = 12,
            .yaml = "definitions: [a.yaml, more/b.json]\n",
            .log_level = "info"};
  }
  void SetUp() override {
    std::filesystem::create_directories(cluster_.directory() + "/more");
    write("more/b.json", R"({"segue_definitions": 1,
      "vhosts": [{"name": "shop", "max_queues": 3}],
      "exchanges": [{"name": "events", "vhost": "shop", "type": "fanout"}],
      "queues": [{"name": "orders", "vhost": "shop"}],
      "bindings": [{"exchange": "events", "queue": "orders", "vhost": "shop"}]})");
  }
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(cluster_.directory() + "/" + name, std::ios::binary) << text;
  }
  static std::string queues(int count, const std::string& rest = {}) {
    std::string text = "segue_definitions: 1\nqueues:\n" + rest;
    for (int i = 0; i < count; ++i) text += "  - name: q" + std::to_string(i) + "\n";
    return text;
  }
  client::Connection in_shop() const {
    client::ConnectionOptions options = cluster_.connection_options();
    options.vhost = "shop";
    return client::Connection::open(options).value();
  }

  TestCluster cluster_{options()};
};

TEST_F(DefinitionsAtStart, AreThereForWhoeverComesFirstAndOnceOnly) {
  write("a.yaml", queues(24));
  cluster_.start_all();
  {
    client::Connection first = cluster_.connect();
    EXPECT_EQ(first.admin().list_all_queues().value().size(), 24u);
  }
  ASSERT_TRUE(cluster_.wait_ready()) << cluster_.logs();
  {
    client::Connection shop = in_shop();
    ASSERT_TRUE(shop.publisher().publish(client::Message::to_exchange("events", "", "hello")));
    ASSERT_TRUE(shop.publisher().wait_for_confirms());
    EXPECT_EQ(shop.admin().queue_status("orders").value().ready, 1u);
  }
  // A queue more in the document, and one that is changed.
  write("a.yaml", queues(25, "  - {name: q3x, arguments: {x-max-priority: 3}}\n"));
  cluster_.kill("n1");
  cluster_.start("n1");
  ASSERT_TRUE(cluster_.process("n1").wait_for_stderr("event=definitions_applied"))
      << cluster_.logs();
  EXPECT_TRUE(cluster_.process("n1").wait_for_stderr("made=2 equal=24 different=0 refused=0"))
      << cluster_.logs();
  ASSERT_TRUE(cluster_.wait_ready()) << cluster_.logs();
  EXPECT_EQ(cluster_.connect().admin().list_all_queues().value().size(), 26u);
  EXPECT_EQ(in_shop().admin().queue_status("orders").value().ready, 1u);

  write("a.yaml", queues(25, "  - {name: q3x, arguments: {x-max-priority: 4}}\n"));
  cluster_.kill("n1");
  cluster_.start("n1");
  ASSERT_TRUE(cluster_.process("n1").wait_for_stderr("made=0 equal=25 different=1 refused=0"))
      << cluster_.logs();
  EXPECT_NE(cluster_.process("n1").stderr_text().find(
                "object=\"queue 'q3x'\" difference=\"x-max-priority is 3, wanted 4\""),
            std::string::npos)
      << cluster_.logs();
  EXPECT_NE(cluster_.process("n1").stderr_text().find("WARN event=definition_differs document="),
            std::string::npos);
}

TEST_F(DefinitionsAtStart, NeedTheLeaderOnlyAndOthersComeLater) {
  write("a.yaml", queues(24));
  cluster_.start("n2");
  cluster_.start("n3");
  cluster_.start("r1");
  // Without its leader nobody has a catalog.
  ASSERT_TRUE(cluster_.process("n2").wait_for_stderr("event=node_ready")) << cluster_.logs();
  cluster_.start("n1");
  ASSERT_TRUE(cluster_.wait_ready()) << cluster_.logs();
  client::Connection connection = cluster_.connect();
  EXPECT_EQ(connection.admin().list_all_queues().value().size(), 24u);

  cluster_.kill("n3");
  cluster_.kill("n1");
  write("a.yaml", queues(48));
  cluster_.start("n1");
  ASSERT_TRUE(cluster_.process("n1").wait_for_stderr("made=24 equal=24")) << cluster_.logs();
  cluster_.start("n3");
  ASSERT_TRUE(cluster_.wait_ready()) << cluster_.logs();
  for (int i = 0; i < 48; ++i) {
    const std::string queue = "q" + std::to_string(i);
    ASSERT_TRUE(connection.publisher().publish(client::Message::to_queue(queue, "x")));
  }
  ASSERT_TRUE(connection.publisher().wait_for_confirms());
  const auto queues_now = connection.admin().list_all_queues();
  ASSERT_TRUE(queues_now);
  for (const auto& queue : *queues_now) EXPECT_EQ(queue.ready, 1u) << queue.name;
}

TEST_F(DefinitionsAtStart, AWrongDocumentRefusesTheStartOfTheLeaderAndTheCheck) {
  const auto refused = [&](const std::string& text, const std::string& expected) {
    write("a.yaml", text);
    for (const std::vector<std::string>& more :
         {std::vector<std::string>{"--id", "n1"}, {"--check"}, {"--check", "--id", "n1"}}) {
      std::vector<std::string> arguments = {"--config", cluster_.config()};
      arguments.insert(arguments.end(), more.begin(), more.end());
      Process node("segue-node", arguments);
      EXPECT_EQ(node.wait(), 78) << text;
      EXPECT_NE(node.stderr_text().find(cluster_.directory() + "/a.yaml" + expected),
                std::string::npos)
          << node.stderr_text();
    }
  };
  refused("segue_definitions: 1\nqueues: {\n", ":3:1: YAML syntax: ");
  refused("segue_definitions: 1\nqueue: []\n", ": the document has a member 'queue'");
  refused("segue_definitions: 1\nqueues:\n  - {name: a, durable: 1}\n",
          ": queues[0].durable is a number");
  refused("segue_definitions: 1\nqueues:\n  - {name: a, arguments: {x-odd: 1}}\n",
          ": queue 'a': the argument 'x-odd' is not known");
  std::filesystem::remove(cluster_.directory() + "/a.yaml");
  Process gone("segue-node", {"--config", cluster_.config(), "--id", "n1"});
  EXPECT_EQ(gone.wait(), 78);
  EXPECT_NE(gone.stderr_text().find("cannot read the definitions '"), std::string::npos)
      << gone.stderr_text();
  EXPECT_FALSE(std::filesystem::exists(cluster_.data_dir("n1")));
  // Others do not read it.
  Process other("segue-node", {"--config", cluster_.config(), "--id", "n2", "--check"});
  EXPECT_EQ(other.wait(), 0) << other.stderr_text();
}

}  // namespace
}  // namespace segue
