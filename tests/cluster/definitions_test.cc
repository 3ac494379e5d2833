// `segue definitions`, through real processes.

#include <gtest/gtest.h>

#include <string>
#include <tuple>
#include <vector>

#include "tests/fakes/process.h"
#include "tests/fakes/test_cluster.h"

namespace segue::client {
namespace {

class DefinitionsCommand : public ::testing::Test {
 protected:
  struct Ran {
    int code = -1;
    std::string out;
    std::string error;
  };
  void SetUp() override {
    cluster_.start_all();
    ASSERT_TRUE(cluster_.wait_ready()) << cluster_.logs();
  }
  Ran run(const std::vector<std::string>& words, const std::string& input = {}) {
    std::vector<std::string> all{"definitions"};
    all.insert(all.end(), words.begin(), words.end());
    Process process("segue", all, {"SEGUE_ROUTER=" + cluster_.endpoint("r1")});
    process.write_input(input);
    process.close_input();
    const auto code = process.wait();
    return {code.value_or(-1), process.stdout_text(), process.stderr_text()};
  }

  TestCluster cluster_{{.routers = 1, .nodes = 2, .shards = 4}};
};

TEST_F(DefinitionsCommand, AClustersDefinitionsMakeAnotherClusterAlike) {
  Connection connection = cluster_.connect();
  ExchangeOptions topic;
  topic.type = "topic";
  ASSERT_TRUE(connection.admin().declare_exchange("events", topic));
  QueueOptions jobs;
  jobs.arguments["x-max-priority"] = 3;
  ASSERT_TRUE(connection.admin().declare_queue("jobs", jobs));
  QueueOptions mine;
  mine.exclusive = true;
  ASSERT_TRUE(connection.admin().declare_queue("mine", mine));
  ASSERT_TRUE(connection.admin().bind({"events", "jobs", "job.*"}));
  ASSERT_TRUE(connection.admin().bind({"events", "mine", "#"}));
  const auto unnamed = connection.admin().declare_queue("");
  ASSERT_TRUE(unnamed);
  const Ran exported = run({"export"});
  ASSERT_EQ(exported.code, 0) << exported.error;
  EXPECT_EQ(exported.out.find("mine"), std::string::npos) << exported.out;
  EXPECT_NE(exported.error.find(unnamed->name), std::string::npos) << exported.error;
  EXPECT_EQ(run({"diff"}, exported.out).code, 0);

  ASSERT_TRUE(connection.admin().delete_queue("jobs"));
  ASSERT_TRUE(connection.admin().delete_exchange("events"));
  ASSERT_TRUE(connection.admin().declare_queue("other"));
  const Ran differs = run({"diff"}, exported.out);
  EXPECT_EQ(differs.code, 1);
  EXPECT_EQ(differs.out,
            "+ exchange 'events'\n+ queue 'jobs'\n"
            "+ binding of exchange 'events' to queue 'jobs' with key 'job.*'\n- queue 'other'\n");
  const Ran rehearsed = run({"import", "--dry-run"}, exported.out);
  EXPECT_EQ(rehearsed.code, 0);
  EXPECT_FALSE(connection.admin().find_queue("jobs"));

  for (int times = 0; times < 2; ++times) {
    const Ran imported = run({"import"}, exported.out);
    EXPECT_EQ(imported.code, 0) << imported.out << imported.error;
    EXPECT_NE(
        imported.out.find(times == 0 ? "3 made, 0 changed, 0 equal" : "0 made, 0 changed, 3 equal"),
        std::string::npos)
        << imported.out;
  }
  ASSERT_TRUE(connection.admin().delete_queue("other"));
  EXPECT_EQ(run({"export"}).out, exported.out);
}

TEST_F(DefinitionsCommand, YamlAndReportsForProgramsSayTheSame) {
  Connection connection = cluster_.connect();
  QueueOptions jobs;
  jobs.arguments["x-max-priority"] = 3;
  ASSERT_TRUE(connection.admin().declare_queue("jobs", jobs));
  ASSERT_TRUE(connection.admin().bind({"amq.topic", "jobs", "*.eu"}));
  const Ran yaml = run({"export", "--format", "yaml"});
  EXPECT_EQ(yaml.code, 0) << yaml.error;
  EXPECT_NE(yaml.out.find("queues:\n  - name: jobs\n"), std::string::npos) << yaml.out;
  EXPECT_EQ(run({"diff"}, yaml.out).code, 0);
  ASSERT_TRUE(connection.admin().delete_queue("jobs"));
  const Ran rehearsed = run({"import", "--dry-run", "--json"}, yaml.out);
  EXPECT_EQ(rehearsed.code, 0) << rehearsed.error;
  EXPECT_NE(rehearsed.out.find("\"missing\":[\"queue 'jobs'\","), std::string::npos)
      << rehearsed.out;
  EXPECT_EQ(run({"diff", "--json"}, yaml.out).code, 1);
  const Ran imported = run({"import", "--json", "--wait", "60s"}, yaml.out);
  EXPECT_EQ(imported.code, 0) << imported.error;
  EXPECT_NE(imported.out.find("\"made\":2,\"changed\":0,\"equal\":0,\"refused\":0"),
            std::string::npos)
      << imported.out;
  EXPECT_EQ(run({"export", "--format", "yaml"}).out, yaml.out);
}

TEST_F(DefinitionsCommand, WhatCannotBeIsToldAndTheRestIsThere) {
  Connection connection = cluster_.connect();
  ASSERT_TRUE(connection.admin().declare_queue("a"));
  const std::string document = R"({"segue_definitions": 1, "queues": [
    {"name": "a", "durable": false}, {"name": "b", "arguments": {"x-expires": -1}},
    {"name": "c", "arguments": {"x-expires": 100000}}]})";
  const Ran imported = run({"import"}, document);
  EXPECT_EQ(imported.code, 1);
  EXPECT_NE(imported.out.find("refused   queue 'a'"), std::string::npos) << imported.out;
  EXPECT_NE(imported.out.find("refused   queue 'b'"), std::string::npos) << imported.out;
  EXPECT_TRUE(connection.admin().find_queue("c"));
  const std::string changed = R"({"segue_definitions": 1, "queues": [
    {"name": "c", "arguments": {"x-expires": 200000}}]})";
  EXPECT_EQ(run({"import"}, changed).code, 1);
  const Ran updated = run({"import", "--update"}, changed);
  EXPECT_EQ(updated.code, 0) << updated.out;
  EXPECT_NE(updated.out.find("0 made, 1 changed, 0 equal, 0 refused"), std::string::npos)
      << updated.out;
  cluster_.kill("n1");  // the catalog's leader
  const Ran stopped = run({"import", "--timeout", "2s"},
                          R"({"segue_definitions": 1, "queues": [{"name": "d"}, {"name": "e"}]})");
  EXPECT_NE(stopped.code, 0);
  EXPECT_EQ(stopped.out.find("refused   "), std::string::npos) << stopped.out;
  EXPECT_EQ(run({"import"}, "{\"segue_definitions\": 1, \"queue\": []}").code, 64);
  EXPECT_EQ(run({"import", "/does/not/exist"}).code, 74);
}

TEST_F(DefinitionsCommand, APolicyThatIsThereIsReplacedOnlyWhenAskedFor) {
  const auto policy = [](int length) {
    return R"({"segue_definitions": 1, "policies": [{"name": "p", "pattern": "^a", "definition": {"max-length": )" +
           std::to_string(length) + "}}]}";
  };
  EXPECT_EQ(run({"import"}, policy(10)).code, 0);
  EXPECT_EQ(run({"import"}, policy(10)).code, 0);
  const Ran refused = run({"import"}, policy(20));
  EXPECT_EQ(refused.code, 1);
  EXPECT_NE(refused.out.find("refused   policy 'p'"), std::string::npos) << refused.out;
  EXPECT_NE(refused.out.find("--update"), std::string::npos) << refused.out;
  EXPECT_EQ(run({"diff"}, policy(10)).code, 0);
  EXPECT_EQ(run({"import", "--update"}, policy(20)).code, 0);
  EXPECT_EQ(run({"diff"}, policy(20)).code, 0);
}

TEST_F(DefinitionsCommand, AllVirtualHostsGoIntoOneDocumentAndComeBack) {
  {
    Connection connection = cluster_.connect();
    VhostOptions limits;
    limits.max_queues = 5;
    ASSERT_TRUE(connection.admin().declare_vhost("shop", limits));
    ASSERT_TRUE(connection.admin().declare_vhost("odd \"v\""));
    ASSERT_TRUE(connection.admin().declare_queue("jobs"));
    ConnectionOptions options = cluster_.connection_options();
    options.vhost = "shop";
    Connection shop = Connection::open(options).value();
    ASSERT_TRUE(shop.admin().declare_exchange("events"));
    ASSERT_TRUE(shop.admin().declare_queue("jobs"));
    ASSERT_TRUE(shop.admin().bind({"events", "jobs", "k"}));
    PolicyDescription policy{"p", "^j", "queues", 1, {{"max-length", 5}}};
    ASSERT_TRUE(shop.admin().set_policy(policy));
  }
  for (const std::string format : {"json", "yaml"}) {
    const Ran exported = run({"export", "--all-vhosts", "--format", format});
    ASSERT_EQ(exported.code, 0) << exported.error;
    EXPECT_EQ(run({"diff"}, exported.out).code, 0) << exported.out;
    Connection connection = cluster_.connect();
    ASSERT_TRUE(connection.admin().delete_vhost("shop"));
    ASSERT_TRUE(connection.admin().declare_vhost("more"));
    const Ran differs = run({"diff"}, exported.out);
    EXPECT_EQ(differs.code, 1);
    EXPECT_EQ(differs.out,
              "+ virtual host 'shop'\n+ exchange 'events' of virtual host 'shop'\n"
              "+ queue 'jobs' of virtual host 'shop'\n+ policy 'p' of virtual host 'shop'\n"
              "+ binding of exchange 'events' to queue 'jobs' with key 'k' of virtual host "
              "'shop'\n- virtual host 'more'\n");
    ASSERT_TRUE(connection.admin().delete_vhost("more"));
    const Ran imported = run({"import"}, exported.out);
    EXPECT_EQ(imported.code, 0) << imported.out << imported.error;
    EXPECT_NE(imported.out.find("5 made, 0 changed, 3 equal, 0 refused"), std::string::npos)
        << imported.out;
    EXPECT_EQ(run({"export", "--all-vhosts", "--format", format}).out, exported.out);
    EXPECT_NE(run({"import"}, exported.out).out.find("0 made, 0 changed, 8 equal"),
              std::string::npos);
  }
}

TEST_F(DefinitionsCommand, AFullVirtualHostRefusesWhatIsTooMuchAndTheRestIsThere) {
  const std::string document = R"({"segue_definitions": 1,
    "vhosts": [{"name": "small", "max_queues": 2}],
    "exchanges": [{"name": "e", "vhost": "small", "type": "fanout"}],
    "queues": [{"name": "a", "vhost": "small"}, {"name": "b", "vhost": "small"},
               {"name": "c", "vhost": "small"}, {"name": "d", "vhost": "small"},
               {"name": "lost", "vhost": "nowhere"}],
    "bindings": [{"exchange": "e", "queue": "a", "vhost": "small"},
                 {"exchange": "e", "queue": "d", "vhost": "small"}]})";
  const Ran imported = run({"import"}, document);
  EXPECT_EQ(imported.code, 1) << imported.error;
  EXPECT_NE(imported.out.find("refused   queue 'c' of virtual host 'small': virtual host 'small' "
                              "has 2 queues, and its max_queues is 2"),
            std::string::npos)
      << imported.out;
  EXPECT_NE(imported.out.find("there is no virtual host 'nowhere'"), std::string::npos);
  EXPECT_NE(imported.out.find("5 made, 0 changed, 0 equal, 4 refused, 0 left out\n"),
            std::string::npos)
      << imported.out;
  const Ran report = run({"import", "--json"}, document);
  EXPECT_NE(report.out.find("\"equal\":5,\"refused\":4,\"left_out\":0,\"not_done\":0"),
            std::string::npos)
      << report.out;
}

TEST_F(DefinitionsCommand, OfRabbitMqOneVirtualHostOrAll) {
  const std::string document = R"({"rabbit_version": "3.12",
    "vhosts": [{"name": "/"}, {"name": "shop", "limits": {"max-queues": 7}}],
    "queues": [{"name": "here", "vhost": "/"}, {"name": "there", "vhost": "shop"}],
    "exchanges": [{"name": "later", "vhost": "shop", "type": "x-delayed-message",
                   "arguments": {"x-delayed-type": "topic"}}]})";
  EXPECT_EQ(run({"import"}, document).code, 0);
  EXPECT_EQ(run({"import", "--all-vhosts", "--from-vhost", "/"}, document).code, 64);
  const Ran imported = run({"import", "--all-vhosts"}, document);
  EXPECT_EQ(imported.code, 0) << imported.error;
  EXPECT_NE(imported.out.find("adapted   exchange 'later' of virtual host 'shop': "),
            std::string::npos)
      << imported.out;
  EXPECT_NE(imported.out.find("3 made, 0 changed, 2 equal"), std::string::npos) << imported.out;
  EXPECT_EQ(run({"diff", "--all-vhosts"}, document).code, 0);
}

TEST_F(DefinitionsCommand, VhostsAndPoliciesSayWhatChanged) {
  const auto tool = [&](const std::vector<std::string>& words) {
    Process process("segue", words, {"SEGUE_ROUTER=" + cluster_.endpoint("r1")});
    EXPECT_EQ(process.wait(), 0) << process.stderr_text();
    return process.stdout_text();
  };
  EXPECT_EQ(tool({"vhost", "create", "v"}), "virtual host v: created\n");
  EXPECT_EQ(tool({"vhost", "create", "v"}), "virtual host v: unchanged\n");
  EXPECT_EQ(tool({"vhost", "create", "v", "--update", "--max-queues", "3", "--json"}),
            "{\"virtual_host\":\"v\",\"outcome\":\"changed\"}\n");
  EXPECT_EQ(tool({"vhost", "delete", "v"}), "virtual host v: deleted\n");
  EXPECT_EQ(tool({"vhost", "delete", "v"}), "virtual host v: absent\n");
  const std::vector<std::string> set = {
      "policy",    "set",       "p",          "--apply-to",
      "exchanges", "--pattern", "^amq.topic", "alternate-exchange=lost"};
  EXPECT_EQ(tool(set), "policy p: created\n");
  EXPECT_EQ(tool(set), "policy p: unchanged\n");
  EXPECT_NE(tool({"exchange", "list"}).find("lost (policy p)"), std::string::npos);
  EXPECT_NE(tool({"exchange", "list", "--json"})
                .find("\"effective\":[{\"name\":\"alternate-exchange\",\"value\":\"lost\","
                      "\"origin\":\"policy p\"}]"),
            std::string::npos);
  EXPECT_EQ(tool({"policy", "set", "p", "--pattern", ".", "max-length=5"}), "policy p: replaced\n");
  EXPECT_EQ(tool({"policy", "delete", "p", "--json"}),
            "{\"policy\":\"p\",\"outcome\":\"deleted\"}\n");
  EXPECT_EQ(tool({"policy", "delete", "p"}), "policy p: absent\n");
}

TEST_F(DefinitionsCommand, ConsumeTellsOfMessagesThatItSettledTooLate) {
  Connection connection = cluster_.connect();
  QueueOptions slow;
  slow.arguments["x-consumer-timeout"] = 300;
  ASSERT_TRUE(connection.admin().declare_queue("slow", slow));
  const std::string body(300'000, 'x');
  ASSERT_TRUE(connection.publisher().publish_confirmed(Message::to_queue("slow", body)).get());
  // Nobody reads what it writes, so it hangs until the message has gone back.
  Process consume("segue", {"consume", "slow", "--until-empty", "--prefetch", "1"},
                  {"SEGUE_ROUTER=" + cluster_.endpoint("r1")});
  consume.close_input();
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (connection.admin().queue_status("slow")->delivered_total < 2 &&
         std::chrono::steady_clock::now() < deadline) {
  }
  EXPECT_EQ(consume.wait(), 1);
  EXPECT_NE(consume.stderr_text().find("settle"), std::string::npos) << consume.stderr_text();
  EXPECT_NE(consume.stderr_text().find("come again"), std::string::npos) << consume.stderr_text();
}

}  // namespace
}  // namespace segue::client
