// Disk space comes back whatever consumers acknowledge, through real processes.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "tests/fakes/process.h"
#include "tests/fakes/test_cluster.h"

namespace segue::client {
namespace {

constexpr std::chrono::milliseconds kLong{60'000};
constexpr int kMessages = 20'000;
constexpr std::size_t kBytes = 1'000;
constexpr std::uint64_t kSlack = 256 << 10;  // gc.min_bytes below

TestCluster::Options small_segments() {
  TestCluster::Options options{.routers = 1, .nodes = 1, .shards = 2};
  options.yaml = std::string("gc: {min_bytes: 256KiB, min_messages: 200}\n") + kSmallFiles;
  return options;
}

class Garbage : public ::testing::Test {
 protected:
  /// Bytes of all segment files.
  std::uint64_t segment_bytes() const {
    std::uint64_t bytes = 0;
    std::error_code error;
    for (auto at = std::filesystem::recursive_directory_iterator(
             cluster_.data_dir("n1") + "/shards", error);
         at != std::filesystem::recursive_directory_iterator(); at.increment(error)) {
      const std::string extension = at->path().extension();
      if (extension != ".data" && extension != ".index") continue;
      const std::uint64_t size = at->file_size(error);
      if (!error) bytes += size;
    }
    return bytes;
  }

  /// Waits until the queue's files are within the bound; the bytes at the end.
  std::uint64_t wait_for_bound(std::uint64_t valid_messages) const {
    const std::uint64_t bound = 2 * valid_messages * (kBytes + 200) + kSlack;
    const auto deadline = std::chrono::steady_clock::now() + kLong;
    std::uint64_t bytes = segment_bytes();
    while (bytes > bound && std::chrono::steady_clock::now() < deadline) bytes = segment_bytes();
    EXPECT_LE(bytes, bound) << valid_messages << " messages are left";
    return bytes;
  }

  static std::string body(int i) {
    std::string text = std::to_string(i) + " ";
    text.resize(kBytes, 'x');
    return text;
  }
  static int number_of(std::string_view text) { return std::atoi(std::string(text).c_str()); }

  Connection connect() const {
    ConnectionOptions options = cluster_.connection_options();
    options.full_timeout = kLong;
    options.reconnect_max = std::chrono::milliseconds(200);
    return Connection::open(options).value();
  }

  void publish_all(Connection& connection) {
    QueueOptions options;
    if (priorities_ > 0) options.arguments["x-max-priority"] = priorities_ - 1;
    ASSERT_TRUE(connection.admin().declare_queue("q", options));
    MessageHeader header;
    header.routing_key = "q";
    for (int i = 0; i < kMessages; ++i) {
      if (priorities_ > 0) header.properties.priority = i % priorities_;
      ASSERT_TRUE(connection.publisher().publish(header, body(i)));
    }
    ASSERT_TRUE(connection.publisher().wait_for_confirms(kLong));
  }

  /// Takes everything, acks what `acked` says, and leaves the rest with the consumer.
  template <typename Acked>
  Consumer ack_some(Connection& connection, Acked acked) {
    ConsumerOptions options;
    options.prefetch = 0;
    Consumer consumer = connection.subscribe("q", options).value();
    for (int i = 0; i < kMessages; ++i) {
      const auto delivery = consumer.next(kLong);
      EXPECT_TRUE(delivery) << i;
      if (!delivery) break;
      if (!acked(number_of(delivery->body()))) continue;
      if (i + 1 < kMessages) {
        delivery->ack();
      } else {
        EXPECT_TRUE(delivery->ack_confirmed().get());  // so are all before it
      }
    }
    return consumer;
  }

  /// Takes everything and gives it back, the last one first; takes it again, as it comes, and
  /// leaves it to the end of the connection to give it back.
  void requeue_all() {
    Connection connection = connect();
    ConsumerOptions options;
    options.prefetch = 0;
    Consumer consumer = connection.subscribe("q", options).value();
    std::vector<Delivery> taken;
    for (int i = 0; i < kMessages; ++i) {
      auto delivery = consumer.next(kLong);
      ASSERT_TRUE(delivery) << i;
      ASSERT_EQ(number_of(delivery->body()), i);
      taken.push_back(std::move(*delivery));
    }
    for (auto at = taken.rbegin(); at != taken.rend(); ++at) at->requeue();
    std::set<int> again;
    for (int i = 0; i < kMessages; ++i) {
      const auto delivery = consumer.next(kLong);
      ASSERT_TRUE(delivery) << i;
      again.insert(number_of(delivery->body()));
    }
    EXPECT_EQ(again.size(), static_cast<std::size_t>(kMessages));
  }

  template <typename Acked>
  void expect_left(Connection& connection, Acked acked) {
    std::set<int> left;
    for (int i = 0; i < kMessages; ++i) {
      if (!acked(i)) left.insert(i);
    }
    std::vector<int> order(left.begin(), left.end());
    const int priorities = std::max(1, priorities_);
    std::stable_sort(order.begin(), order.end(),
                     [=](int a, int b) { return a % priorities > b % priorities; });
    Consumer consumer = connection.subscribe("q").value();
    for (const int number : order) {
      const auto delivery = consumer.next(kLong);
      ASSERT_TRUE(delivery) << number;
      ASSERT_EQ(delivery->body(), body(number));
      delivery->ack();
    }
    EXPECT_FALSE(consumer.next(std::chrono::milliseconds(100)));
  }

  template <typename Acked>
  void collect(Acked acked, int storms = 0) {
    cluster_.start_all();
    ASSERT_TRUE(cluster_.wait_ready()) << cluster_.logs();
    Connection connection = connect();
    publish_all(connection);
    for (int i = 0; i < storms; ++i) ASSERT_NO_FATAL_FAILURE(requeue_all());
    Consumer consumer = ack_some(connection, acked);
    std::uint64_t left = 0;
    for (int i = 0; i < kMessages; ++i) left += acked(i) ? 0 : 1;
    wait_for_bound(left);
    cluster_.kill("n1");
    cluster_.start("n1");
    ASSERT_TRUE(cluster_.wait_ready()) << cluster_.logs();
    wait_for_bound(left);
    consumer.close();
    expect_left(connection, acked);
  }

  TestCluster cluster_{small_segments()};
  int priorities_ = 0;  // that the queue has
};

TEST_F(Garbage, OneMessageInAThousandDoesNotHoldTheOthers) {
  collect([](int i) { return i % 1000 != 0; });
}

TEST_F(Garbage, EverySecondMessageDoesNotHoldTheOthers) {
  collect([](int i) { return i % 2 != 0; });
}

TEST_F(Garbage, TheFirstMessageDoesNotHoldTheOthers) {
  collect([](int i) { return i != 0; });
}

/// Nine of ten, without a pattern, the last one among them.
bool most_at_random(int i) {
  const std::uint32_t mixed = static_cast<std::uint32_t>(i) * 2'654'435'761u;
  return (mixed >> 8) % 10 != 0 || i + 1 == kMessages;
}

TEST_F(Garbage, OneOfTenAtRandomDoesNotHoldTheOthers) {
  collect(most_at_random);
}

TEST_F(Garbage, WhatIsRequeuedAgainAndAgainDoesNotHoldTheOthers) {
  collect(most_at_random, 3);
}

TEST_F(Garbage, PrioritiesTogetherKeepTheBoundOfOneQueue) {
  priorities_ = 10;
  collect(most_at_random);
}

TEST_F(Garbage, OneMessageOfAPriorityInAThousandDoesNotHoldTheOthers) {
  priorities_ = 10;
  collect([](int i) { return i % 1000 > 9; });
}

TEST_F(Garbage, IsSeenAndCollectedThroughTheCommandLine) {
  cluster_.start_all();
  ASSERT_TRUE(cluster_.wait_ready()) << cluster_.logs();
  const auto run = [this](const std::vector<std::string>& words) {
    Process process("segue", words, {"SEGUE_ROUTER=" + cluster_.endpoint("r1")});
    process.close_input();
    const auto code = process.wait();
    return std::tuple(code.value_or(-1), process.stdout_text(), process.stderr_text());
  };
  const auto has = [](const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
  };
  Connection connection = connect();
  ASSERT_TRUE(connection.admin().declare_queue("empty"));
  const auto [none, no_files, no_trouble] = run({"segments", "empty"});
  EXPECT_EQ(none, 0) << no_trouble;
  EXPECT_TRUE(has(no_files, "no files")) << no_files;

  publish_all(connection);
  // What is acked before it is stored makes no garbage.
  const auto deadline = std::chrono::steady_clock::now() + kLong;
  for (std::uint64_t stored = 0; stored < kMessages / 2;) {
    ASSERT_LT(std::chrono::steady_clock::now(), deadline) << stored << " stored";
    const auto listed = connection.admin().list_all_segments("q");
    ASSERT_TRUE(listed) << listed.error().to_string();
    stored = 0;
    for (const auto& segment : listed->segments) stored += segment.messages;
  }
  // A third of each of these files is garbage: within the bound.
  Consumer consumer = ack_some(connection, [](int i) { return i % 3 == 0; });
  const auto [shown, files, trouble] = run({"segments", "q"});
  EXPECT_EQ(shown, 0) << trouble;
  EXPECT_TRUE(has(files, " full ") || has(files, " sealed ")) << files;  // as the checkpoints come
  EXPECT_TRUE(has(files, "#....")) << files;
  EXPECT_FALSE(has(std::get<1>(run({"segments", "q", "--json"})), "\"generation\":1"));

  const auto [paused, pauses, pause_trouble] = run({"gc", "pause"});
  EXPECT_EQ(paused, 0) << pause_trouble;
  EXPECT_TRUE(has(pauses, "PAUSED")) << pauses;
  const auto [refused, nothing, reason] = run({"gc", "run", "q"});
  EXPECT_EQ(refused, 1) << nothing;
  EXPECT_TRUE(has(reason, "resume it first")) << reason;
  EXPECT_EQ(std::get<0>(run({"gc", "resume"})), 0);
  const auto [collected, figures, run_trouble] = run({"gc", "run", "q", "--wait", "--json"});
  EXPECT_EQ(collected, 0) << run_trouble;
  EXPECT_FALSE(has(figures, "\"copies\":0,")) << figures;
  EXPECT_TRUE(has(figures, "\"running\":false")) << figures;
  EXPECT_TRUE(has(std::get<1>(run({"segments", "q", "--json"})), "\"generation\":1"));
  EXPECT_TRUE(has(std::get<1>(run({"segments", "q"})), " sealed "));
  for (const char* command : {"status", "run", "pause", "resume"}) {
    EXPECT_EQ(std::get<0>(run({"gc", command, "absent"})), 1) << command;
    EXPECT_EQ(std::get<0>(run({"gc", command, ""})), 64) << command;
  }
  EXPECT_EQ(std::get<0>(run({"segments", "absent"})), 1);
}

}  // namespace
}  // namespace segue::client
