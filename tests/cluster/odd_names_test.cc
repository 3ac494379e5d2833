// Names that would hurt a broker that makes paths, lines or patterns of them, all the way:
// declared, bound, published to, consumed, deleted, through restarts.

#include <gtest/gtest.h>

#include <filesystem>
#include <set>

#include "tests/fakes/test_cluster.h"

namespace segue {
namespace {

constexpr std::chrono::milliseconds kLong{60'000};

std::vector<std::string> odd_names() {
  std::vector<std::string> names = {
      "/",
      "..",
      ".",
      "../../../../tmp/escaped",
      "/etc/passwd",
      "a/b/../c",
      std::string("nul\0inside", 10),
      std::string("\0", 1),
      "line\nbreak\r\n",
      "tab\tand space ",
      "\x01\x1b[31mred",
      "%2e%2e%2f",
      "Case",
      "case",
      "CASE",
      "\xf0\x9f\x90\xb0\xf0\x9f\x8f\xb3\xef\xb8\x8f\xe2\x80\x8d\xf0\x9f\x8c\x88",  // emoji, joined
      "\xc3\xa9",   // e with acute, one code point
      "e\xcc\x81",  // the same to the eye, two
      "#",
      "*.#.*",
      "$(reboot); `id` '\"\\",
      "con",
      "-rf",
      std::string(255, 'n'),
      std::string(254, 'n') + "/",
  };
  // 255 bytes of four each, and three more.
  std::string emoji;
  while (emoji.size() + 4 <= 255) emoji += "\xf0\x9f\x98\x80";
  names.push_back(emoji + "abc");
  return names;
}

std::string printable(const std::string& name) {
  std::string text;
  for (const char byte : name.substr(0, 24)) {
    text += byte >= ' ' && byte < 127 ? byte : '?';
  }
  return text;
}

class OddNames : public testing::Test {
 protected:
  void start() {
    cluster_.start_all();
    ASSERT_TRUE(cluster_.wait_ready()) << cluster_.logs();
    connection_.emplace(cluster_.connect());
  }
  void restart_by(int signal) {
    EXPECT_TRUE(connection_->close(kLong));
    for (const std::string& id : cluster_.node_ids()) {
      cluster_.process(id).kill(signal);
      cluster_.process(id).wait();
    }
    for (const std::string& id : cluster_.node_ids()) cluster_.start(id);
    ASSERT_TRUE(cluster_.wait_ready()) << cluster_.logs();
    connection_.emplace(cluster_.connect());
  }
  client::Admin& admin() { return connection_->admin(); }
  void publish(const std::string& name, const std::string& body) {
    const auto direct =
        connection_->publisher().publish_confirmed(client::Message::to_queue(name, body)).get();
    ASSERT_TRUE(direct) << printable(name) << ": " << direct.error().to_string();
    EXPECT_FALSE(direct.value().unroutable) << printable(name);
    const auto routed = connection_->publisher()
                            .publish_confirmed(client::Message::to_exchange(name, name, body))
                            .get();
    ASSERT_TRUE(routed) << printable(name) << ": " << routed.error().to_string();
    EXPECT_FALSE(routed.value().unroutable) << printable(name);
  }
  void expect_messages(const std::string& name, const std::vector<std::string>& bodies) {
    auto consumer = connection_->subscribe(name);
    ASSERT_TRUE(consumer) << printable(name) << ": " << consumer.error().to_string();
    for (const std::string& body : bodies) {
      const auto delivery = consumer.value().next(kLong);
      ASSERT_TRUE(delivery) << printable(name) << ": " << delivery.error().to_string();
      EXPECT_EQ(delivery.value().body(), body);
      EXPECT_EQ(delivery.value().routing_key(), name);
      ASSERT_TRUE(delivery.value().ack_confirmed().get()) << printable(name);
    }
  }

  TestCluster cluster_{{.nodes = 2, .shards = 8}};
  std::optional<client::Connection> connection_;
};

TEST_F(OddNames, GoAllTheWayAndThroughRestarts) {
  ASSERT_NO_FATAL_FAILURE(start());
  const std::vector<std::string> names = odd_names();
  const std::set<std::string> distinct(names.begin(), names.end());
  ASSERT_EQ(distinct.size(), names.size());
  for (const std::string& name : names) {
    const auto declared = admin().declare_queue(name);
    ASSERT_TRUE(declared) << printable(name) << ": " << declared.error().to_string();
    EXPECT_TRUE(declared.value().created) << printable(name);
    ASSERT_TRUE(admin().declare_exchange(name)) << printable(name);
    ASSERT_TRUE(admin().bind({name, name, name})) << printable(name);
    ASSERT_NO_FATAL_FAILURE(publish(name, "1 " + name));
  }
  // From checkpoints and files of their own, then from the log.
  ASSERT_NO_FATAL_FAILURE(restart_by(SIGTERM));
  for (const std::string& name : names) ASSERT_NO_FATAL_FAILURE(publish(name, "2 " + name));
  ASSERT_NO_FATAL_FAILURE(restart_by(SIGKILL));

  const auto queues = admin().list_all_queues();
  ASSERT_TRUE(queues) << queues.error().to_string();
  std::set<std::string> listed;
  for (const auto& queue : queues.value()) {
    listed.insert(queue.name);
    EXPECT_EQ(queue.ready, 4u) << printable(queue.name);
  }
  EXPECT_EQ(listed, distinct);
  for (const std::string& name : names) {
    ASSERT_NO_FATAL_FAILURE(
        expect_messages(name, {"1 " + name, "1 " + name, "2 " + name, "2 " + name}));
  }
  for (const std::string& name : names) {
    ASSERT_TRUE(admin().unbind({name, name, name})) << printable(name);
    ASSERT_TRUE(admin().delete_exchange(name)) << printable(name);
    const auto deleted = admin().delete_queue(name);
    ASSERT_TRUE(deleted) << printable(name) << ": " << deleted.error().to_string();
    EXPECT_EQ(deleted.value(), 0u) << printable(name);
  }
  ASSERT_NO_FATAL_FAILURE(restart_by(SIGKILL));
  EXPECT_TRUE(admin().list_all_queues().value().empty());
  EXPECT_FALSE(std::filesystem::exists("/tmp/escaped"));
}

TEST_F(OddNames, OnesThatAreTooLongOrNoTextAreRefusedInASentence) {
  ASSERT_NO_FATAL_FAILURE(start());
  for (const std::string& name : {std::string(256, 'n'), std::string("\xff\xfe"),
                                  std::string("cut \xf0\x9f\x98"), std::string("\xc0\x80")}) {
    const auto declared = admin().declare_queue(name);
    ASSERT_FALSE(declared) << printable(name);
    EXPECT_FALSE(declared.error().to_string().empty());
    EXPECT_FALSE(admin().declare_exchange(name)) << printable(name);
    EXPECT_FALSE(connection_->publisher().publish(client::Message::to_queue(name, "x")));
  }
  // The connection is as good as before.
  EXPECT_TRUE(admin().declare_queue("fine"));
  EXPECT_EQ(connection_->reconnects(), 0u);
}

}  // namespace
}  // namespace segue
