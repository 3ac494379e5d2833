// Line 4 of docs/semantics.md: one copy of a body in the log of each shard.

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "tests/semantics/semantics_fixture.h"

namespace segue::client {
namespace {

class LogCopies : public Semantics {
 protected:
  /// `count` queues of one shard.
  std::vector<std::string> queues_of_a_shard(std::size_t count, const Table& arguments = {}) {
    std::map<std::uint32_t, std::vector<std::string>> by_shard;
    while (true) {
      const std::string name = "q" + std::to_string(++made_);
      queue(name, arguments);
      const auto status = admin().queue_status(name);
      auto& queues = by_shard[status->shard];
      queues.push_back(name);
      node_ = status->node;
      if (queues.size() == count) return queues;
    }
  }
  /// Where the text stands in the log of the last queue's node: offsets in its files, one after the
  /// other.
  std::vector<std::size_t> places_of(const std::string& text) {
    std::vector<std::filesystem::path> files;
    const std::filesystem::path directory = cluster().data_dir(node_) + "/wal";
    for (const auto& entry : std::filesystem::directory_iterator(directory)) {
      files.push_back(entry.path());
    }
    std::sort(files.begin(), files.end());
    std::vector<std::size_t> places;
    std::size_t before = 0;
    for (const auto& path : files) {
      std::ifstream file(path, std::ios::binary);
      const std::string bytes((std::istreambuf_iterator<char>(file)), {});
      for (std::size_t at = bytes.find(text); at != std::string::npos;
           at = bytes.find(text, at + 1)) {
        places.push_back(before + at);
      }
      before += bytes.size();
    }
    return places;
  }
  static std::string body_of(const std::string& marker) {
    return "<" + marker + ">" + std::string(100'000, 'x');
  }

  std::string node_;
  int made_ = 0;
};

TEST_F(LogCopies, Line04FiftyQueuesOfAShardCostTheLogOneBody) {
  const std::vector<std::string> queues = queues_of_a_shard(50);
  for (const std::string& name : queues) bind({"amq.fanout", name, ""});
  publish_routed("", queues[0], body_of("one queue"));
  publish_routed("amq.fanout", "", body_of("fifty queues"));
  publish_routed("", queues[0], body_of("the end"));
  const auto one = places_of("<one queue>");
  const auto fifty = places_of("<fifty queues>");
  const auto end = places_of("<the end>");
  ASSERT_EQ(one.size(), 1u);
  ASSERT_EQ(fifty.size(), 1u);
  ASSERT_EQ(end.size(), 1u);
  const std::size_t for_one = fifty[0] - one[0];
  const std::size_t for_fifty = end[0] - fifty[0];
  EXPECT_GT(for_one, 100'000u);
  // Some numbers for each queue, and nothing else.
  EXPECT_LT(for_fifty, for_one + 50 * 100);
  for (const std::string& name : queues) wait_for_ready(name, name == queues[0] ? 3 : 1);
}

TEST_F(LogCopies, Line04OneBodyAlsoWithPrioritiesTransientQueuesAndRefusals) {
  const std::vector<std::string> plain = queues_of_a_shard(2);
  const std::string node = node_;
  const std::uint32_t shard = admin().queue_status(plain[0])->shard;
  const auto add = [&](const Table& arguments, bool durable) {
    while (true) {
      const std::string name = "q" + std::to_string(++made_);
      queue(name, arguments, durable);
      if (admin().queue_status(name)->shard == shard) return name;
    }
  };
  const std::vector<std::string> others = {
      add({{"x-max-priority", 5}}, true), add({}, false),
      add({{"x-max-length", 0}, {"x-overflow", "reject-publish"}}, true)};
  for (const std::string& name : plain) bind({"amq.fanout", name, ""});
  for (const std::string& name : others) bind({"amq.fanout", name, ""});
  Message message = Message::to_exchange("amq.fanout", "", body_of("mixed"));
  message.header.properties.priority = 3;
  EXPECT_EQ(publish(std::move(message)).error, ErrorCode::kQueueFull) << "one has no room";
  for (const std::string& name : {plain[0], plain[1], others[0], others[1]}) {
    EXPECT_EQ(take(name).size(), 1u) << name;
  }
  node_ = node;
  EXPECT_EQ(places_of("<mixed>").size(), 1u);
}

}  // namespace
}  // namespace segue::client
