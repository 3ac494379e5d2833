// The `segue` program as people and scripts use it, against real processes.

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <optional>

#include "common/zmq_socket.h"
#include "tests/fakes/process.h"
#include "tests/fakes/test_cluster.h"

namespace segue {
namespace {

using Words = std::vector<std::string>;

struct Ran {
  std::optional<int> code;
  std::string out;
  std::string err;
};

/// `segue up` with one node in a directory of its own, on a port that is free.
class SegueTool : public testing::Test {
 protected:
  SegueTool()
      : up_("segue", {"up", "--nodes", "1", "--data-dir", directory_.path() + "/data", "--endpoint",
                      "ipc://" + directory_.path() + "/r1"}) {}

  void SetUp() override { ASSERT_TRUE(up_.wait_for_stdout("READY")) << up_.stderr_text(); }

  Ran run(const Words& arguments, const std::string& input = {}) {
    Process process("segue", arguments, {"SEGUE_ROUTER=" + router()});
    process.write_input(input);
    process.close_input();
    const auto code = process.wait();
    return {code, process.stdout_text(), process.stderr_text()};
  }
  /// What bash makes of the first completion of these words: how many words, and the first.
  std::string complete(const std::string& line) {
    const std::string script = directory_.write("complete", run({"completion", "bash"}).out);
    Process bash("/bin/bash",
                 {"-c",
                  "source \"$0\"; COMP_WORDS=(segue " + line +
                      "); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _segue; eval "
                      "\"set -- ${COMPREPLY[0]}\"; printf '%s|%s' $# \"$1\"",
                  script},
                 {"SEGUE_ROUTER=" + router(), "PATH=" SEGUE_BIN_DIR ":/usr/bin:/bin"});
    EXPECT_EQ(bash.wait(), 0) << bash.stderr_text();
    return bash.stdout_text();
  }
  std::string router() const { return "ipc://" + directory_.path() + "/r1"; }

  const TempDir directory_;
  Process up_;
};

// A node is missed only after two minutes, unless its socket tells.
constexpr const char* kSlowLinks = "timeouts:\n  link_heartbeat: 60s\n";

std::string file_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

TEST_F(SegueTool, GivesAFileBackByteForByte) {
  std::string text = "\n\n\r\n" + std::string(3, '\0') + "\n";
  for (int byte = 0; byte < 256; ++byte) text += static_cast<char>(byte);
  text += "\n" + std::string(std::size_t{1} << 20, 'x') + "\n";
  for (int i = 0; i < 3000; ++i) text += "line " + std::to_string(i) + "\n";
  ASSERT_EQ(run({"queue", "declare", "lines"}).code, 0);
  for (const bool last_newline : {true, false}) {
    if (!last_newline) text.pop_back();
    const std::string file = directory_.write("in", text);
    const Ran published = run({"publish", "--queue", "lines", "--lines", "--confirm", file});
    ASSERT_EQ(published.code, 0) << published.err;
    EXPECT_NE(published.out.find("3,007 published, 3,007 confirmed"), std::string::npos)
        << published.out;
    const Ran consumed = run({"consume", "lines", "--count", "3007"});
    EXPECT_EQ(consumed.code, 0) << consumed.err;
    EXPECT_TRUE(consumed.out == text);
  }
  const Ran empty = run({"get", "lines"});
  EXPECT_EQ(empty.code, 3);
}

TEST(SegueConsume, WithACountFailsWhenMessagesThatItTookComeAgain) {
  TestCluster cluster({.routers = 1, .nodes = 1, .shards = 2});
  cluster.start_all();
  ASSERT_TRUE(cluster.wait_ready()) << cluster.logs();
  const std::vector<std::string> environment{"SEGUE_ROUTER=" + cluster.endpoint("r1")};
  client::Connection connection = cluster.connect();
  ASSERT_TRUE(connection.admin().declare_queue("q"));
  client::MessageHeader header;
  header.routing_key = "q";
  for (int i = 1; i <= 150; ++i) {
    ASSERT_TRUE(connection.publisher().publish(header, "line " + std::to_string(i) + "."));
  }
  ASSERT_TRUE(connection.publisher().wait_for_confirms(std::chrono::seconds(30)));
  Process consume("segue", {"consume", "q", "--count", "200"}, environment);
  ASSERT_TRUE(consume.wait_for_stdout("line 150.")) << consume.stderr_text();
  cluster.kill("n1");
  cluster.start("n1");
  const auto code = consume.wait();
  ASSERT_TRUE(code.has_value());
  EXPECT_NE(*code, 0);
  EXPECT_NE(consume.stderr_text().find("come again"), std::string::npos) << consume.stderr_text();
}

TEST_F(SegueTool, TakesNoMoreThanTheCountAndLeavesTheRestUntouched) {
  ASSERT_EQ(run({"queue", "declare", "q"}).code, 0);
  std::string text;
  for (int i = 0; i < 100; ++i) text += std::to_string(i) + "\n";
  ASSERT_EQ(run({"publish", "--queue", "q", "--lines"}, text).code, 0);
  EXPECT_EQ(run({"consume", "q", "--count", "3", "--prefetch", "2"}).out, "0\n1\n2\n");
  const Ran next = run({"consume", "q", "--count", "1", "--no-ack", "--ndjson"});
  EXPECT_NE(next.out.find("\"redelivered\":false"), std::string::npos) << next.out;
  EXPECT_NE(next.out.find("\"body\":\"3\""), std::string::npos) << next.out;
  const Ran rest = run({"consume", "q", "--until-empty"});
  EXPECT_EQ(rest.code, 0);
  EXPECT_EQ(rest.out.substr(0, 4), "4\n5\n");
  const Ran none = run({"consume", "q", "--count", "2", "--idle", "100ms"});
  EXPECT_EQ(none.code, 3);
  EXPECT_EQ(none.err, "segue: 0 of 2 messages came from 'q'\n");
}

TEST_F(SegueTool, GivesAWholeBodyBackByteForByte) {
  std::string body("two\nlines, \0 and no end", 23);
  ASSERT_EQ(run({"queue", "declare", "raw"}).code, 0);
  const std::string file = directory_.write("body", body);
  for (int i = 0; i < 3; ++i) ASSERT_EQ(run({"publish", "--queue", "raw", file}).code, 0);
  EXPECT_EQ(run({"get", "raw", "--raw"}).out, body);
  EXPECT_EQ(run({"consume", "raw", "--count", "2", "--raw"}).out, body + body);
  EXPECT_EQ(run({"consume", "raw", "--raw", "--ndjson"}).code, 64);
}

TEST_F(SegueTool, SaysWhetherItMadeOrTookAwayAnything) {
  EXPECT_EQ(run({"exchange", "declare", "e"}).out, "exchange e created (direct)\n");
  EXPECT_EQ(run({"exchange", "declare", "e"}).out,
            "exchange e was there already, with equal settings (direct)\n");
  EXPECT_EQ(run({"exchange", "declare", "e", "--type", "fanout"}).code, 1);
  EXPECT_EQ(run({"exchange", "delete", "e"}).out, "exchange e deleted\n");
  EXPECT_EQ(run({"exchange", "delete", "e"}).out, "exchange e is not there\n");
  const Ran gone = run({"queue", "delete", "q"});
  EXPECT_EQ(gone.out, "queue q is not there\n");
  EXPECT_EQ(gone.code, 0);
  ASSERT_EQ(run({"queue", "declare", "q"}).code, 0);
  ASSERT_EQ(run({"publish", "--queue", "q", "--body", "1"}).code, 0);
  EXPECT_EQ(run({"queue", "purge", "q"}).out, "1 message purged from q\n");
  EXPECT_EQ(run({"purge", "q"}).out, "0 messages purged from q\n");
  ASSERT_EQ(run({"publish", "--queue", "q", "--body", "1"}).code, 0);
  EXPECT_EQ(run({"queue", "delete", "q"}).out, "queue q deleted with 1 message\n");
}

TEST_F(SegueTool, SaysWhatItWaitsForAndWhenItGoesOn) {
  TestCluster cluster({.routers = 1, .nodes = 1, .shards = 4});
  cluster.start_all();
  ASSERT_TRUE(cluster.wait_ready()) << cluster.logs();
  const std::string use = "SEGUE_ROUTER=" + cluster.endpoint("r1");
  ASSERT_EQ(Process("segue", {"queue", "declare", "q"}, {use}).wait(), 0);
  cluster.kill("n1");
  Process publish("segue", {"publish", "--queue", "q", "--body", "x"}, {use});
  EXPECT_TRUE(publish.wait_for_stderr("segue: waiting: node n1 is not reachable"))
      << publish.stderr_text();
  EXPECT_TRUE(
      publish.wait_for_stderr("queue q); publishes are kept until it takes them, at most "
                              "30s"))
      << publish.stderr_text();
  Process consume("segue", {"consume", "q", "--count", "1", "--timeout", "60s"}, {use});
  EXPECT_TRUE(consume.wait_for_stderr("segue: waiting: node n1 is down (shard "))
      << consume.stderr_text();
  cluster.start("n1");
  EXPECT_EQ(publish.wait(), 0) << publish.stderr_text();
  EXPECT_EQ(consume.wait(), 0) << consume.stderr_text();
  EXPECT_EQ(consume.stdout_text(), "x\n");

  cluster.kill("r1");
  Process again("segue", {"publish", "--queue", "q", "--body", "y", "--timeout", "60s"}, {use});
  EXPECT_TRUE(
      again.wait_for_stderr("segue: waiting: no router answers at " + cluster.endpoint("r1")))
      << again.stderr_text();
  cluster.start("r1");
  EXPECT_TRUE(again.wait_for_stderr("segue: going on: a router answers")) << again.stderr_text();
  EXPECT_EQ(again.wait(), 0);
}

TEST_F(SegueTool, AGetSaysThatTheQueuesNodeIsAway) {
  TestCluster cluster({.routers = 1, .nodes = 1, .shards = 1});
  cluster.start_all();
  ASSERT_TRUE(cluster.wait_ready()) << cluster.logs();
  const std::string use = "SEGUE_ROUTER=" + cluster.endpoint("r1");
  ASSERT_EQ(Process("segue", {"queue", "declare", "q"}, {use}).wait(), 0);
  cluster.kill("n1");
  Process get("segue", {"get", "q", "--timeout", "1s"}, {use});
  EXPECT_EQ(get.wait(), 75);
  EXPECT_NE(get.stderr_text().find("cannot get from 'q': shard 0 is unavailable: its node n1 does "
                                   "not answer (SHARD_UNAVAILABLE)"),
            std::string::npos)
      << get.stderr_text();
}

TEST_F(SegueTool, CompletesQueueNamesQuotedAndExpandsNone) {
  const std::string trap = directory_.path() + "/trap";
  const std::string name = "it's $(touch " + trap + ") \\x41\n";
  ASSERT_EQ(run({"queue", "declare", name}).code, 0);
  for (const char* line : {"queue purge it", "purge it", "publish --body x --queue it"}) {
    EXPECT_EQ(complete(line), "1|" + name) << line;
  }
  EXPECT_FALSE(std::filesystem::exists(trap));
}

TEST_F(SegueTool, CompletesExchangesAndTheirTypes) {
  EXPECT_EQ(complete("publish --exchange amq.to"), "1|amq.topic");
  EXPECT_EQ(complete("publish -e amq.to"), "1|amq.topic");
  EXPECT_EQ(complete("binding list --exchange amq.to"), "1|amq.topic");
  EXPECT_EQ(complete("exchange declare x --type fa"), "1|fanout");
  EXPECT_EQ(complete("exchange declare x -t to"), "1|topic");
  EXPECT_EQ(complete("exchange delete amq.to"), "1|amq.topic");
}

TEST_F(SegueTool, CompletesArgumentsByTheirPlace) {
  ASSERT_EQ(run({"queue", "declare", "only"}).code, 0);
  for (const char* line :
       {"segments o", "gc run o", "gc status o", "gc pause --json o", "gc resume o", "consume o",
        "get o", "queue show --timeout 1s o", "queue show --timeout = 1s o", "queue delete x o",
        "binding create amq.topic o", "binding create -k key amq.topic o"}) {
    EXPECT_EQ(complete(line), "1|only") << line;
  }
  EXPECT_EQ(complete("binding create amq.to"), "1|amq.topic");
  EXPECT_EQ(complete("binding delete --key k amq.to"), "1|amq.topic");
  EXPECT_EQ(complete("completion z"), "1|zsh");
  EXPECT_EQ(complete("queue declare o"), "0|");
  EXPECT_EQ(complete("--h"), "1|--help");
  EXPECT_EQ(complete("--v"), "1|--version");
}

TEST_F(SegueTool, ListsNamesSoThatAScriptCanTellThemApart) {
  const Words names = {"a", "b\nc", "b\\x0ac", "d e"};
  for (const std::string& name : names) ASSERT_EQ(run({"queue", "declare", name}).code, 0);
  EXPECT_EQ(run({"queue", "list", "--names"}).out, "a\nb\\x0ac\nb\\\\x0ac\nd e\n");
  EXPECT_NE(run({"exchange", "list", "--names"}).out.find("amq.topic\n"), std::string::npos);
}

TEST_F(SegueTool, TellsThatABindingIsNotThere) {
  ASSERT_EQ(run({"queue", "declare", "q"}).code, 0);
  ASSERT_EQ(run({"binding", "create", "amq.topic", "q", "--key", "a"}).code, 0);
  const Ran other = run({"binding", "delete", "amq.topic", "q", "--key", "b"});
  EXPECT_EQ(other.code, 0);
  EXPECT_EQ(other.out, "binding 'amq.topic' to 'q' with key 'b' is not there\n");
  EXPECT_EQ(run({"binding", "delete", "amq.topic", "q", "--key", "a"}).out,
            "unbound 'amq.topic' to 'q' with key 'a'\n");
  EXPECT_EQ(run({"binding", "delete", "amq.topic", "q", "--key", "a"}).out,
            "binding 'amq.topic' to 'q' with key 'a' is not there\n");
}

TEST_F(SegueTool, RefusesWholeNumbersThatDoNotFitInNdjson) {
  ASSERT_EQ(run({"queue", "declare", "q"}).code, 0);
  const std::string good = "{\"body\": \"x\", \"properties\": {\"headers\": {\"n\": 1e30}}}\n";
  const std::string bad =
      "{\"body\": \"x\", \"properties\": {\"headers\": {\"n\": 9223372036854775808}}}\n";
  const Ran wrong = run({"publish", "--queue", "q", "--ndjson"}, good + bad);
  EXPECT_EQ(wrong.code, 64);
  EXPECT_NE(wrong.err.find("segue: standard input:2: \"headers\": \"n\": the whole number "
                           "9223372036854775808 does not fit"),
            std::string::npos)
      << wrong.err;
}

TEST_F(SegueTool, PublishesWhatStandsBeforeABadLineAndNamesIt) {
  ASSERT_EQ(run({"queue", "declare", "q"}).code, 0);
  const std::string good = "{\"body\": \"x\"}\n";
  const std::string file = directory_.write("lines", good + good + "{\n" + good);
  const Ran wrong = run({"publish", "--queue", "q", "--ndjson", file});
  EXPECT_EQ(wrong.code, 64);
  EXPECT_EQ(wrong.err.find("segue: " + file + ":3: "), 0u) << wrong.err;
  EXPECT_NE(wrong.err.find("published: 2 messages before this line; nothing from it on"),
            std::string::npos)
      << wrong.err;
  EXPECT_EQ(run({"consume", "q", "--until-empty"}).out, "x\nx\n");
}

TEST_F(SegueTool, AConsumersTimeoutAndPriorityCanBeGiven) {
  ASSERT_EQ(run({"queue", "declare", "q"}).code, 0);
  ASSERT_EQ(
      run({"publish", "--queue", "q", "--body", "x", "--message-id", "m1", "--group-id", "g"}).code,
      0);
  const Ran found = run({"browse", "q", "--filter", "group-id=g", "--filter", "message-id=m1"});
  EXPECT_EQ(found.code, 0) << found.err;
  EXPECT_EQ(run({"browse", "q", "--filter", "group-id=h"}).code, 3);
  const Ran taken =
      run({"consume", "q", "--count", "1", "--consumer-timeout", "30s", "--priority", "-5"});
  EXPECT_EQ(taken.out, "x\n") << taken.err;
  EXPECT_EQ(run({"consume", "q", "--consumer-timeout", "0"}).code, 64);
  EXPECT_EQ(run({"consume", "q", "--priority", "high"}).code, 64);
}

TEST_F(SegueTool, NamesTheReasonOnceWhenNoRouterAnswers) {
  for (const Words& command : {Words{"queue", "list"}, Words{"bench", "--count", "1"}}) {
    Words words = command;
    for (const char* word : {"--router", "ipc:///no/such", "--timeout", "300ms"}) {
      words.emplace_back(word);
    }
    const Ran lost = run(words);
    EXPECT_EQ(lost.code, 69);
    EXPECT_EQ(lost.err.substr(0, lost.err.find('\n')),
              "segue: cannot connect to ipc:///no/such (from --router): nothing listens there "
              "(DISCONNECTED)");
  }
}

TEST_F(SegueTool, UpTellsWhichNodesHoldNoShards) {
  EXPECT_EQ(up_.stderr_text().find("no shards"), std::string::npos) << up_.stderr_text();
  EXPECT_EQ(up_.terminate(), 0);
  Process again("segue", {"up", "--nodes", "3", "--data-dir", directory_.path() + "/data",
                          "--endpoint", router()});
  EXPECT_TRUE(again.wait_for_stdout("READY")) << again.stderr_text();
  EXPECT_NE(again.stderr_text().find("note: n2, n3 hold no shards and will store nothing"),
            std::string::npos)
      << again.stderr_text();
}

TEST_F(SegueTool, HintsAtTheVhostWhenThatIsWrong) {
  const Ran wrong = run({"queue", "list", "--vhost", "v"});
  EXPECT_EQ(wrong.code, 1);
  EXPECT_NE(wrong.err.find("no virtual host 'v'"), std::string::npos) << wrong.err;
  EXPECT_NE(wrong.err.find("segue vhost list"), std::string::npos) << wrong.err;
}

TEST_F(SegueTool, UpTakesHostAndPortAndLeavesNothingBehindWhenItIsRefused) {
  const std::string data = directory_.path() + "/new";
  Process wrong("segue", {"up", "--data-dir", data, "-e", "nonsense"});
  EXPECT_EQ(wrong.wait(), 64);
  EXPECT_NE(wrong.stderr_text().find("option --endpoint: expected"), std::string::npos)
      << wrong.stderr_text();
  Process missing("segue", {"up", "--data-dir", data, "--config", "/no/such/file"});
  EXPECT_EQ(missing.wait(), 74);
  EXPECT_FALSE(std::filesystem::exists(data));
  // host:port is understood: what is wrong is that the port is taken.
  ZmqContext context;
  ZmqSocket taken(context, ZmqSocket::Kind::kRouter, {});
  ASSERT_TRUE(taken.bind("tcp://127.0.0.1:*").is_ok());
  const std::string endpoint = taken.bound_endpoint();
  Process up("segue", {"up", "--nodes", "1", "--data-dir", data, "-e", endpoint.substr(6)});
  EXPECT_EQ(up.wait(), 69) << up.stderr_text();
  EXPECT_EQ(up.stderr_text(), "segue: the router cannot listen on " + endpoint +
                                  ": Address already in use; stop what listens there (another "
                                  "cluster?) or give another endpoint\n");
  EXPECT_FALSE(std::filesystem::exists(data));
}

TEST_F(SegueTool, RefusesWhatCannotBeMeant) {
  const Ran unnamed = run({"queue", "declare", ""});
  EXPECT_EQ(unnamed.code, 64);
  EXPECT_NE(unnamed.err.find("leave NAME out"), std::string::npos) << unnamed.err;
  const Ran nothing = run({"bench", "--seconds", "0"});
  EXPECT_EQ(nothing.code, 64);
  EXPECT_NE(nothing.err.find("--seconds"), std::string::npos) << nothing.err;
}

TEST_F(SegueTool, TellsOfOneMember) {
  for (const char* member : {"r1", "n1"}) {
    const Ran up = run({"status", "--member", member});
    EXPECT_EQ(up.code, 0) << up.err;
    EXPECT_NE(up.out.find(std::string(" ") + member + " is up for "), std::string::npos) << up.out;
  }
  const Ran unknown = run({"status", "--member", "n9"});
  EXPECT_EQ(unknown.code, 64);
  EXPECT_EQ(unknown.err, "segue: there is no router or node 'n9'; there are r1, n1\n");
}

TEST_F(SegueTool, TellsHowManyMessagesWerePurged) {
  ASSERT_EQ(run({"queue", "declare", "q"}).code, 0);
  ASSERT_EQ(run({"publish", "--queue", "q", "--body", "x"}).code, 0);
  EXPECT_EQ(run({"purge", "q", "--json"}).out, "{\"queue\":\"q\",\"messages\":1}\n");
}

TEST_F(SegueTool, TellsWhichCollectionsArePaused) {
  ASSERT_EQ(run({"queue", "declare", "q"}).code, 0);
  EXPECT_NE(run({"gc", "status", "q"}).out.find("Queue q: its garbage is collected once"),
            std::string::npos);
  EXPECT_NE(run({"gc", "pause", "q"}).out.find("paused; `segue gc resume q` goes on"),
            std::string::npos);
  const Ran status = run({"gc", "status", "q", "--json"});
  EXPECT_NE(status.out.find("\"queue\":\"q\",\"queue_paused\":true,\"queue_running\":false"),
            std::string::npos)
      << status.out;
  EXPECT_NE(run({"gc", "status", "--json"}).out.find("\"paused_queues\":1"), std::string::npos);
  const Ran all = run({"gc", "run", "--wait"});
  EXPECT_EQ(all.code, 0);
  EXPECT_NE(all.err.find("left out: 1 queue that is paused by itself"), std::string::npos)
      << all.err;
  EXPECT_NE(run({"gc", "resume", "q"}).out.find("not paused"), std::string::npos);
}

TEST_F(SegueTool, RoutesThroughAnExchange) {
  ASSERT_EQ(run({"queue", "declare", "a"}).code, 0);
  ASSERT_EQ(run({"exchange", "declare", "events", "--type", "topic"}).code, 0);
  ASSERT_EQ(run({"binding", "create", "events", "a", "--key", "order.*"}).code, 0);
  EXPECT_EQ(run({"publish", "-e", "events", "-k", "order.new", "--body", "yes", "-c"}).code, 0);
  const Ran lost = run({"publish", "-e", "events", "-k", "other", "--body", "no", "-c"});
  EXPECT_EQ(lost.code, 1);
  EXPECT_NE(lost.err.find("reached no queue"), std::string::npos);
  EXPECT_EQ(run({"get", "a"}).out, "yes\n");
  EXPECT_NE(run({"binding", "list", "--json"}).out.find("\"routing_key\":\"order.*\""),
            std::string::npos);
  EXPECT_EQ(run({"binding", "delete", "events", "a", "--key", "order.*"}).code, 0);
  EXPECT_EQ(run({"exchange", "delete", "events"}).code, 0);
}

TEST_F(SegueTool, CopiesMessagesAsNdjsonWithTheirProperties) {
  ASSERT_EQ(run({"queue", "declare", "one"}).code, 0);
  ASSERT_EQ(run({"publish", "--queue", "one", "--ndjson"},
                "{\"body_base64\": \"AP8=\", \"properties\": {\"message_id\": \"m\", "
                "\"headers\": {\"n\": 1}}}\n\n{\"body\": \"text\"}\n")
                .code,
            0);
  const Ran lines = run({"consume", "one", "--count", "2", "--ndjson"});
  EXPECT_NE(lines.out.find("\"body_base64\":\"AP8=\""), std::string::npos) << lines.out;
  EXPECT_NE(lines.out.find("\"headers\":{\"n\":1}"), std::string::npos) << lines.out;
  ASSERT_EQ(run({"publish", "--ndjson", "--queue", "one"}, lines.out).code, 0);
  EXPECT_EQ(run({"consume", "one", "--count", "2", "--ndjson"}).out, lines.out);
  ASSERT_EQ(run({"queue", "declare", "other"}).code, 0);
  ASSERT_EQ(run({"publish", "--ndjson", "--queue", "other"}, lines.out).code, 0);
  EXPECT_EQ(run({"consume", "other", "--count", "2"}).out, std::string("\0\xFF\ntext\n", 8));
  ASSERT_EQ(run({"publish", "--ndjson"}, lines.out).code, 0);
  EXPECT_EQ(run({"consume", "one", "--count", "2"}).out, std::string("\0\xFF\ntext\n", 8));
  const Ran wrong = run({"publish", "--queue", "one", "--ndjson"}, "{\"body\": 1}\n");
  EXPECT_EQ(wrong.code, 64);
  EXPECT_EQ(wrong.err,
            "segue: standard input:1: \"body\" must be a string\n"
            "  published: 0 messages before this line; nothing from it on\n");
}

TEST_F(SegueTool, RefusesInASentenceAndWithItsExitCode) {
  ASSERT_EQ(run({"queue", "declare", "q"}).code, 0);
  const Ran other = run({"queue", "declare", "q", "--transient"});
  EXPECT_EQ(other.code, 1);
  EXPECT_NE(other.err.find("PRECONDITION_FAILED"), std::string::npos);
  EXPECT_EQ(run({"get", "missing"}).code, 1);
  EXPECT_EQ(run({"publish", "--queue", "missing", "--body", "x"}).code, 1);
  EXPECT_EQ(run({"publish", "--queue", "q", "/no/such/file", "--lines"}).code, 74);
  EXPECT_EQ(run({"status", "--router", "tcp://127.0.0.1:1", "--timeout", "200ms"}).code, 69);
  EXPECT_EQ(run({"queue", "delete", "q"}).out, "queue q deleted with 0 messages\n");
}

TEST_F(SegueTool, TellsTheClustersStateForPeopleAndPrograms) {
  const Ran text = run({"status", "--shards"});
  EXPECT_EQ(text.code, 0);
  EXPECT_NE(text.out.find("Cluster local"), std::string::npos);
  const Ran json = run({"status", "--json"});
  EXPECT_EQ(json.code, 0);
  EXPECT_NE(json.out.find("\"healthy\":true"), std::string::npos) << json.out;
  EXPECT_NE(json.out.find("\"nodes\":[{\"id\":\"n1\""), std::string::npos) << json.out;
}

TEST_F(SegueTool, SaysAtOnceThatAKilledNodeIsDown) {
  TestCluster cluster({.routers = 1, .nodes = 2, .shards = 8, .yaml = kSlowLinks});
  cluster.start_all();
  ASSERT_TRUE(cluster.wait_ready()) << cluster.logs();
  const Words status = {"status", "--router", cluster.endpoint("r1")};
  ASSERT_EQ(run(status).code, 0);
  cluster.kill("n1");
  // The router is told by its socket: long before the heartbeats, a minute here, would tell.
  Ran down = run(status);
  for (int i = 0; i < 100 && down.code == 0; ++i) down = run(status);
  EXPECT_EQ(down.code, 1);
  EXPECT_NE(down.out.find("leader n1 (DOWN: nothing can be declared)"), std::string::npos)
      << down.out;
  EXPECT_NE(down.out.find("n1    DOWN for "), std::string::npos) << down.out;
  EXPECT_NE(down.out.find(" of n1 take no publishes: node n1 is not reachable"), std::string::npos)
      << down.out;
}

TEST_F(SegueTool, LeavesWhatWasNotWrittenInTheQueueWhenTheReaderGoes) {
  ASSERT_EQ(run({"queue", "declare", "q"}).code, 0);
  // More than the pipe holds and the prefetch lets on its way.
  std::string text;
  for (int i = 0; i < 3000; ++i) text += std::string(999, 'x') + "\n";
  const std::string file = directory_.write("in", text);
  ASSERT_EQ(run({"publish", "--queue", "q", "--lines", file}).code, 0);
  Process pipe("/bin/sh",
               {"-c", "\"$0\" consume q | head -c 10 | wc -c; echo done",
                std::string(SEGUE_BIN_DIR) + "/segue"},
               {"SEGUE_ROUTER=" + router()});
  ASSERT_EQ(pipe.wait(), 0);
  EXPECT_NE(pipe.stdout_text().find("10\ndone"), std::string::npos) << pipe.stdout_text();
  const Ran rest = run({"consume", "q", "--until-empty"});
  EXPECT_EQ(rest.code, 0);
  EXPECT_GT(rest.out.size(), std::size_t{1'000'000});
  // All of it when the reader went before the first write was whole; never more.
  EXPECT_LE(rest.out.size(), text.size());
}

TEST_F(SegueTool, MeasuresAndLeavesNoQueueBehind) {
  const Ran ran = run({"bench", "--count", "2000", "--consumers", "1", "--queues", "3", "--json"});
  EXPECT_EQ(ran.code, 0) << ran.out << ran.err;
  for (const char* field :
       {"\"published\":2000", "\"confirmed\":2000", "\"rejected\":0", "\"consumed\":2000",
        "\"publish_per_s\":", "\"consume_per_s\":", "\"confirm_latency_us\":{\"p50\":",
        "\"end_to_end_latency_us\":{\"p50\":", "\"cpu_seconds\":"}) {
    EXPECT_NE(ran.out.find(field), std::string::npos) << field << " in " << ran.out;
  }
  // Of this cluster's own processes, whatever else runs on this machine.
  for (const char* process : {"\"n1\":", "\"r1\":"}) {
    EXPECT_NE(ran.out.find(process, ran.out.find("cluster_cpu_seconds")), std::string::npos)
        << process << " in " << ran.out;
  }
  EXPECT_EQ(run({"queue", "list", "--names"}).out, "");
}

TEST_F(SegueTool, UpStopsCleanlyAndFindsItsDataAgain) {
  ASSERT_EQ(run({"queue", "declare", "kept"}).code, 0);
  ASSERT_EQ(run({"publish", "--queue", "kept", "--body", "still here"}).code, 0);
  Process second("segue", {"up", "--data-dir", directory_.path() + "/data"});
  EXPECT_EQ(second.wait(), 73);
  EXPECT_NE(second.stderr_text().find("another `segue up`"), std::string::npos);
  EXPECT_EQ(up_.terminate(), 0);
  Process again("segue", {"up", "--data-dir", directory_.path() + "/data", "--endpoint", router()});
  ASSERT_TRUE(again.wait_for_stdout("READY")) << again.stderr_text();
  EXPECT_EQ(run({"get", "kept"}).out, "still here\n");
  EXPECT_EQ(again.terminate(), 0);
}

TEST_F(SegueTool, UpLeavesNoProcessBehindWhenItIsKilled) {
  const std::string log = file_text(directory_.path() + "/data/logs/n1.log");
  EXPECT_NE(log.find("node_ready"), std::string::npos) << log;
  up_.kill_now();
  // The node's lock is free again only when the node is gone.
  Process again("segue", {"up", "--data-dir", directory_.path() + "/data", "--endpoint", router()});
  EXPECT_TRUE(again.wait_for_stdout("READY")) << again.stderr_text();
}

}  // namespace
}  // namespace segue
