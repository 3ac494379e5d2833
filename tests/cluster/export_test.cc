// `segue export` and `segue import` with real nodes.

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include "tests/fakes/test_cluster.h"

namespace segue::client {
namespace {

constexpr std::chrono::milliseconds kLong{60'000};
constexpr int kMessages = 6'000;

struct Ran {
  std::optional<int> code;
  std::string out;
  std::string err;
};

class Export : public ::testing::Test {
 protected:
  Export() {
    TestCluster::Options options{.routers = 1, .nodes = 1, .shards = 2};
    options.yaml = kSmallFiles;
    cluster_.emplace(options);
    cluster_->start_all();
    EXPECT_TRUE(cluster_->wait_ready()) << cluster_->logs();
    ConnectionOptions wanted = cluster_->connection_options();
    wanted.full_timeout = kLong;
    connection_.emplace(Connection::open(wanted).value());
    EXPECT_TRUE(connection_->admin().declare_queue("q"));
    EXPECT_TRUE(connection_->admin().declare_queue("copy"));
  }

  std::string path(const std::string& name) const { return cluster_->directory() + "/" + name; }

  /// With an input, from a file: a command that ends early leaves some of it unread.
  Ran segue(const std::vector<std::string>& arguments, const std::string& input = {}) {
    std::string command = "exec " + std::string(SEGUE_BIN_DIR) + "/segue";
    for (const std::string& argument : arguments) command += " '" + argument + "'";
    command += " -r " + cluster_->endpoint("r1");
    std::ofstream(path("input"), std::ios::binary) << input;
    Process process("/bin/sh", {"-c", command + " < " + path("input")});
    const auto code = process.wait(kLong);
    return {code, process.stdout_text(), process.stderr_text()};
  }

  static Message message(int number) {
    Message made = Message::to_queue("q", std::to_string(number) + " ");
    made.body.resize(900 + static_cast<std::size_t>(number % 100), 'x');
    made.header.properties.headers["n"] = number % 7;
    made.header.properties.message_id = "id-" + std::to_string(number % 5);
    made.header.properties.delivery_mode = 2;
    return made;
  }

  void publish(int first, int end) {
    for (int i = first; i < end; ++i) ASSERT_TRUE(connection_->publisher().publish(message(i)));
    ASSERT_TRUE(connection_->publisher().wait_for_confirms(kLong));
  }

  /// Takes all that the queue has: messages first..end in order, as they were published.
  void expect_holds(const std::string& queue, int first, int end, bool redelivered = false) {
    ASSERT_EQ(connection_->admin().queue_status(queue).value().ready,
              static_cast<std::uint64_t>(end - first))
        << queue;
    Consumer consumer = connection_->subscribe(queue).value();
    for (int i = first; i < end; ++i) {
      const auto delivery = consumer.next(kLong);
      ASSERT_TRUE(delivery) << i;
      ASSERT_EQ(delivery->body(), message(i).body) << i;
      ASSERT_EQ(delivery->properties(), message(i).header.properties) << i;
      ASSERT_EQ(delivery->routing_key(), queue) << i;
      ASSERT_EQ(delivery->redelivered(), redelivered) << i;
      delivery->ack();
    }
  }

  std::optional<TestCluster> cluster_;
  std::optional<Connection> connection_;
};

TEST_F(Export, LeavesALongQueueAsItWasAndTheCopyIsTheSame) {
  ASSERT_NO_FATAL_FAILURE(publish(0, kMessages));
  const Ran made = segue({"export", "q"});
  ASSERT_EQ(made.code, 0) << made.err;
  EXPECT_NE(made.err.find("exported 6,000 messages of 'q'"), std::string::npos) << made.err;
  const Ran imported = segue({"import", "copy"}, made.out);
  ASSERT_EQ(imported.code, 0) << imported.out << imported.err;
  EXPECT_EQ(imported.out, "imported 6,000 messages into 'copy'\n");
  expect_holds("copy", 0, kMessages);
  expect_holds("q", 0, kMessages);
}

TEST_F(Export, HasWhatConsumersHoldAndWithRemoveOnlyTheRest) {
  ASSERT_NO_FATAL_FAILURE(publish(0, 300));
  ConsumerOptions few;
  few.prefetch = 100;
  std::optional<Consumer> consumer(connection_->subscribe("q", few).value());
  std::vector<Delivery> held;
  while (held.size() < 100) held.push_back(consumer->next(kLong).value());
  const Ran all = segue({"export", "q"});
  ASSERT_EQ(all.code, 0) << all.err;
  EXPECT_NE(all.err.find("exported 300 messages"), std::string::npos) << all.err;
  const Ran first = segue({"export", "q", "--count", "10"});
  EXPECT_NE(first.err.find("exported 10 messages"), std::string::npos) << first.err;

  const Ran rest = segue({"export", "q", "--remove"});
  ASSERT_EQ(rest.code, 0) << rest.err;
  EXPECT_NE(rest.err.find("exported 200 messages"), std::string::npos) << rest.err;
  ASSERT_EQ(segue({"import", "copy"}, rest.out).code, 0);
  expect_holds("copy", 100, 300);
  for (const Delivery& delivery : held) delivery.requeue();
  consumer.reset();
  expect_holds("q", 0, 100, true);
  EXPECT_EQ(segue({"export", "q", "--remove"}).code, 0);  // an empty one
}

TEST_F(Export, ImportsWhatComesBeforeDamageAndGoesOnBehindIt) {
  ASSERT_NO_FATAL_FAILURE(publish(0, kMessages));
  const Ran made = segue({"export", "q"});
  ASSERT_EQ(made.code, 0) << made.err;
  std::string damaged = made.out;
  damaged[damaged.size() / 2] = static_cast<char>(damaged[damaged.size() / 2] ^ 1);
  const Ran stopped = segue({"import", "copy"}, damaged);
  EXPECT_EQ(stopped.code, 74) << stopped.out << stopped.err;
  EXPECT_NE(stopped.err.find("is damaged at offset "), std::string::npos) << stopped.err;
  const std::string mark = "--skip ";
  const auto at = stopped.err.find(mark);
  ASSERT_NE(at, std::string::npos) << stopped.err;
  const int imported = std::atoi(stopped.err.c_str() + at + mark.size());
  EXPECT_GT(imported, 0);
  EXPECT_LT(imported, kMessages);
  EXPECT_EQ(connection_->admin().queue_status("copy").value().ready,
            static_cast<std::uint64_t>(imported));
  const Ran rest = segue({"import", "copy", "--skip", std::to_string(imported)}, made.out);
  EXPECT_EQ(rest.code, 0) << rest.err;
  expect_holds("copy", 0, kMessages);

  const std::string all = std::to_string(kMessages);
  EXPECT_EQ(segue({"import", "copy", "--skip", all}, made.out).code, 0);
  const Ran beyond = segue({"import", "copy", "--skip", std::to_string(kMessages + 1)}, made.out);
  EXPECT_EQ(beyond.code, 64);
  EXPECT_NE(beyond.err.find("--skip " + std::to_string(kMessages + 1)), std::string::npos);
  EXPECT_NE(beyond.err.find("has: "), std::string::npos) << beyond.err;

  const Ran cut = segue({"import", "copy"}, made.out.substr(0, made.out.size() - 10));
  EXPECT_EQ(cut.code, 74) << cut.err;
  EXPECT_NE(cut.err.find("is cut short"), std::string::npos) << cut.err;
  EXPECT_EQ(segue({"import", "copy"}, "no stream").code, 74);
}

TEST_F(Export, SaysWhichQueueIsNotThereAndPublishesNothing) {
  ASSERT_NO_FATAL_FAILURE(publish(0, 10));
  const Ran made = segue({"export", "q"});
  ASSERT_EQ(made.code, 0) << made.err;
  EXPECT_EQ(segue({"export", "nowhere"}).code, 1);
  const Ran nowhere = segue({"import", "nowhere"}, made.out);
  EXPECT_EQ(nowhere.code, 1);
  EXPECT_NE(nowhere.err.find("nowhere"), std::string::npos) << nowhere.err;
  EXPECT_EQ(segue({"import"}, made.out).code, 0);  // into the one that the stream names
  EXPECT_EQ(segue({"import", "--route"}, made.out).code, 0);
  EXPECT_EQ(connection_->admin().queue_status("q").value().ready, 30u);
  EXPECT_EQ(segue({"import", "q", "--route"}, made.out).code, 64);
}

TEST_F(Export, RemovesNothingThatCouldNotBeWritten) {
  ASSERT_NO_FATAL_FAILURE(publish(0, 2'000));
  for (const char* const output : {" > /dev/full", " >&-"}) {
    Process shell("/bin/sh", {"-c", std::string(SEGUE_BIN_DIR) + "/segue export q --remove -r " +
                                        cluster_->endpoint("r1") + output});
    EXPECT_EQ(shell.wait(kLong), 74) << output << shell.stderr_text();
    EXPECT_EQ(connection_->admin().queue_status("q").value().ready, 2'000u) << output;
  }
}

}  // namespace
}  // namespace segue::client
