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
