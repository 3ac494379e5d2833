// Queues with priorities (30): lanes of one queue, from the outside.

#include "tests/node/queue_host_fixture.h"

namespace segue::node {
namespace {

using Bodies = std::vector<std::string>;

class QueuePriorities : public QueueHostTest {
 protected:
  void declare_with_priorities(std::uint64_t id, bool durable = true, int most = 5) {
    define(id, durable);
    (*definitions.back().mutable_arguments())["x-max-priority"].set_int_value(most);
    host->add_queue(definitions.back());
  }
  /// Bodies as "2a": of priority 2.
  std::uint64_t publish(const Bodies& bodies, std::uint64_t queue) {
    v1::ShardPublish message = publish_of(bodies, {queue});
    v1::MessageBatch batch;
    batch.ParseFromString(message.batch());
    batch.clear_headers();
    for (std::size_t i = 0; i < bodies.size(); ++i) {
      batch.add_headers()->mutable_properties()->set_priority(
          static_cast<std::uint32_t>(bodies[i][0] - '0'));
      batch.add_header_index(static_cast<std::uint32_t>(i));
    }
    message.set_batch(batch.SerializeAsString());
    message.set_batch_id(++last_batch);
    message.set_resumes(true);
    host->on_publish(kRouter, message, joined(bodies));
    return last_batch;
  }
  std::string get_one(std::uint64_t queue, bool no_ack = true) {
    const auto got = get(90, queue, no_ack);
    return got.messages.empty() ? "" : got.messages[0].body;
  }
  RecordingOutput::Replied browse(std::uint64_t queue, std::uint64_t after,
                                  std::uint64_t max_bytes = 0) {
    v1::QueueRequest message;
    message.set_queue_id(queue);
    message.mutable_browse()->set_after(after);
    message.mutable_browse()->set_max_bytes(max_bytes);
    return request(message);
  }
  Bodies browse_all(std::uint64_t queue, std::uint64_t max_bytes = 0) {
    Bodies bodies;
    std::uint64_t after = 0;
    for (int pages = 0; pages < 100; ++pages) {
      const auto page = browse(queue, after, max_bytes);
      for (const std::string& body : bodies_of(page)) bodies.push_back(body);
      if (!page.reply.browse().more()) return bodies;
      EXPECT_GT(page.reply.browse().through(), after);
      after = page.reply.browse().through();
    }
    ADD_FAILURE() << "endless";
    return bodies;
  }
  static Bodies bodies_of(const RecordingOutput::Replied& browsed) {
    v1::MessageBatch batch;
    EXPECT_TRUE(batch.ParseFromString(browsed.reply.delivery().batch()));
    Bodies bodies;
    std::size_t at = 0;
    for (const std::uint32_t size : batch.sizes()) {
      bodies.push_back(browsed.bodies.substr(at, size));
      at += size;
    }
    return bodies;
  }
};

TEST_F(QueuePriorities, TheHighestIsServedFirstAndOneLevelInOrder) {
  declare_with_priorities(1);
  publish({"1a", "3a", "1b", "0a", "3b"}, 1);
  publish({"2a", "3c"}, 1);
  settle_down();
  EXPECT_EQ(status(1).ready(), 7u);
  subscribe(1, 1);
  settle_down();
  EXPECT_EQ(take_bodies(1), (Bodies{"3a", "3b", "3c", "2a", "1a", "1b", "0a"}));
}

TEST_F(QueuePriorities, WhatComesLaterOvertakesWhatWaits) {
  declare_with_priorities(1);
  subscribe(1, 1, {.prefetch = 1});
  publish({"1a", "1b"}, 1);
  settle_down();
  EXPECT_EQ(take_bodies(1), (Bodies{"1a"}));
  publish({"4a"}, 1);
  settle_down();
  settle(1, 1, 1);
  settle_down();
  EXPECT_EQ(take_bodies(1), (Bodies{"4a"}));
  settle(1, 2, 2);
  settle_down();
  EXPECT_EQ(take_bodies(1), (Bodies{"1b"}));
}

TEST_F(QueuePriorities, AboveTheHighestCountsAsTheHighest) {
  declare_with_priorities(1, true, 2);
  publish({"2a", "9b", "2c"}, 1);
  settle_down();
  EXPECT_EQ(get_one(1), "2a");
  EXPECT_EQ(get_one(1), "9b");
  EXPECT_EQ(get_one(1), "2c");
}

TEST_F(QueuePriorities, WhatComesBackStandsInItsOldPlace) {
  declare_with_priorities(1);
  publish({"1a", "3a", "3b", "1b"}, 1);
  settle_down();
  subscribe(1, 1, {.prefetch = 3});
  settle_down();
  EXPECT_EQ(take_bodies(1), (Bodies{"3a", "3b", "1a"}));
  settle(1, 1, 3, v1::OUTCOME_REQUEUE);
  settle_down();
  const auto again = take(1);
  ASSERT_EQ(again.size(), 3u);
  EXPECT_EQ(again[0].body, "3a");
  EXPECT_EQ(again[1].body, "3b");
  EXPECT_EQ(again[2].body, "1a");
  EXPECT_TRUE(again[0].redelivered && again[2].redelivered);
  EXPECT_EQ(again[2].delivery_count, 1u);
}

TEST_F(QueuePriorities, AllOfItIsThereAfterARestart) {
  declare_with_priorities(1);
  declare_with_priorities(2, false);
  publish({"1a", "3a", "1b", "0a", "3b"}, 1);
  publish({"1a", "3a"}, 2);
  settle_down();
  EXPECT_EQ(get_one(1), "3a");
  settle_down();
  open();
  EXPECT_EQ(status(1).ready(), 4u);
  EXPECT_EQ(status(2).ready(), 0u);
  EXPECT_EQ(host->state().queues(), 2u);
  EXPECT_EQ(host->highest_queue(), QueueId{2});
  publish({"3c", "2a"}, 1);
  settle_down();
  for (const char* body : {"3b", "3c", "2a", "1a", "1b", "0a", ""}) EXPECT_EQ(get_one(1), body);
}

TEST_F(QueuePriorities, FromDiskTheHighestComesFirstToo) {
  options.memory_limit = 1 << 20;
  open();
  declare_with_priorities(1, true, 2);
  const std::string fill(5'000, 'x');
  for (int i = 0; i < 600; ++i) {
    publish({std::to_string(i % 3) + ":" + std::to_string(1000 + i) + fill}, 1);
    tick();
  }
  for (int i = 0; i < 50; ++i) tick(std::chrono::seconds(1));
  ASSERT_EQ(status(1).ready(), 600u);
  ASSERT_GT(status(1).disk_bytes(), 0u);
  EXPECT_LT(status(1).memory_bytes(), 1u << 20);
  subscribe(1, 1);
  std::vector<std::string> seen;
  for (int i = 0; i < 2'000 && seen.size() < 600; ++i) {
    tick();
    for (SeenMessage& message : take(1)) {
      seen.push_back(message.body.substr(0, 6));
      settle(1, message.number, message.number);
    }
  }
  ASSERT_EQ(seen.size(), 600u);
  for (int i = 0; i < 600; ++i) {
    const int priority = 2 - i / 200;
    EXPECT_EQ(seen[static_cast<std::size_t>(i)],
              std::to_string(priority) + ":" + std::to_string(1000 + priority + 3 * (i % 200)));
  }
}

TEST_F(QueuePriorities, PurgeDeleteAndCountsMeanAllOfThem) {
  declare_with_priorities(1);
  publish({"1a", "3a", "0a", "5a"}, 1);
  settle_down();
  subscribe(1, 1, {.prefetch = 1});
  settle_down();
  EXPECT_EQ(status(1).ready(), 3u);
  EXPECT_EQ(status(1).unacked(), 1u);
  EXPECT_EQ(status(1).enqueued_total(), 4u);
  v1::QueueRequest conditions;
  conditions.set_queue_id(1);
  conditions.mutable_check_delete()->set_if_empty(true);
  EXPECT_EQ(request(conditions).reply.error().code(), 406u);
  EXPECT_EQ(purge(1).reply.purged(), 3u);
  EXPECT_EQ(status(1).ready(), 0u);
  host->remove_queue(QueueId{1});
  settle_down();
  definitions.clear();
  open();
  EXPECT_EQ(host->state().queues(), 0u);
  EXPECT_EQ(host->state().ready(), 0u);
}

TEST_F(QueuePriorities, BrowseReadsFromTheHighestDown) {
  declare_with_priorities(1, true, 9);
  EXPECT_EQ(browse_all(1), Bodies{});
  publish({"1a", "3a", "0a", "9a", "1b", "0b"}, 1);
  settle_down();
  const Bodies expected{"9a", "3a", "1a", "1b", "0a", "0b"};
  EXPECT_EQ(browse_all(1), expected);
  EXPECT_EQ(browse_all(1, 1), expected);  // a message for each page
  EXPECT_EQ(bodies_of(browse(1, ~0ull)), Bodies{});
  EXPECT_EQ(status(1).ready(), 6u);
}

TEST_F(QueuePriorities, AQueueThatTheCatalogDoesNotNameIsDroppedWithItsLanes) {
  declare_with_priorities(1);
  publish({"1a", "3a"}, 1);
  settle_down();
  definitions.clear();  // deleted while the node was down
  open();
  EXPECT_EQ(host->state().ready(), 0u);
  EXPECT_EQ(host->state().queues(), 0u);
}

TEST_F(QueuePriorities, PeersCannotNameALane) {
  declare_with_priorities(1);
  publish({"3a"}, 1);
  settle_down();
  const std::uint64_t lane = lane_id(QueueId{1}, 3).value;
  EXPECT_EQ(get(90, lane).reply.error().code(), 404u);
  subscribe(7, lane);
  ASSERT_FALSE(output->events.empty());
  EXPECT_EQ(output->events.back().second.cancelled().code(), 404u);
  const std::uint64_t batch = QueueHostTest::publish({"x"}, {lane});
  settle_down();
  ASSERT_NE(confirm_of(batch), nullptr);
  EXPECT_EQ(status(1).ready(), 1u);
}

}  // namespace
}  // namespace segue::node
