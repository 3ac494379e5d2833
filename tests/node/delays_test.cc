// Delayed publishes: messages that rest until their time has come.
#include <algorithm>
#include <map>
#include <random>

#include "tests/node/queue_host_fixture.h"

namespace segue::node {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using Bodies = std::vector<std::string>;

class Delays : public QueueHostTest {
 protected:
  struct Timed {
    std::string body;
    std::int64_t delay_ms = 0;
    std::int64_t deliver_at_ms = 0;
    std::uint32_t priority = 0;
    std::string expiration{};
  };
  void declare_with(std::uint64_t id, const std::map<std::string, std::int64_t>& numbers,
                    bool durable = true, const std::string& overflow = "") {
    v1::QueueDefinition definition = define(id, durable);
    for (const auto& [name, value] : numbers) {
      (*definition.mutable_arguments())[name].set_int_value(value);
    }
    if (!overflow.empty()) {
      (*definition.mutable_arguments())["x-overflow"].set_string_value(overflow);
    }
    definitions.back() = definition;
    host->add_queue(definition);
  }
  /// One batch. Gives its id.
  std::uint64_t publish_timed(const std::vector<Timed>& messages, std::uint64_t queue = 1) {
    v1::MessageBatch batch;
    Bodies bodies;
    for (const Timed& message : messages) {
      v1::MessageHeader& header = *batch.add_headers();
      header.set_routing_key("key");
      v1::Properties& properties = *header.mutable_properties();
      properties.set_delay_ms(message.delay_ms);
      properties.set_deliver_at_ms(message.deliver_at_ms);
      properties.set_priority(message.priority);
      properties.set_expiration(message.expiration);
      batch.add_header_index(static_cast<std::uint32_t>(bodies.size()));
      batch.add_sizes(static_cast<std::uint32_t>(message.body.size()));
      bodies.push_back(message.body);
    }
    v1::ShardPublish message = publish_of(bodies, {queue});
    message.set_batch(batch.SerializeAsString());
    message.set_batch_id(++last_batch);
    message.set_resumes(true);
    host->on_publish(kRouter, message, joined(bodies));
    for (int i = 0; i < 5; ++i) turn();
    return last_batch;
  }
  void pass(milliseconds time) {
    clock.advance(time);
    host->on_tick(clock.now(), clock.wall_ms());
    for (int i = 0; i < 40; ++i) turn();
  }
  std::uint64_t cancel(std::uint64_t first, std::uint64_t last, std::uint64_t queue = 1) {
    v1::QueueRequest message;
    message.set_queue_id(queue);
    v1::Range& places = *message.mutable_cancel_delayed()->add_places();
    places.set_first(first);
    places.set_last(last);
    return request(message).reply.purged();
  }
  /// All is on disk, and of the lane nothing in memory any more.
  void restart_from_disk() {
    reopen();
    settle_down();
  }
};

TEST_F(Delays, AMessageRestsUntilItsTimeHasCome) {
  for (const bool durable : {true, false}) {
    const std::uint64_t queue = durable ? 1 : 2;
    declare(queue, durable);
    const std::int64_t now = clock.wall_ms();
    const auto batch = publish_timed(
        {{"now"}, {"later", 1000}, {"sooner", 300}, {"at", 0, now + 600}, {"past", 0, now - 5}},
        queue);
    EXPECT_NE(confirm_of(batch), nullptr);
    EXPECT_EQ(status(queue).ready(), 2u);
    EXPECT_EQ(status(queue).delayed(), 3u);
    EXPECT_EQ(status(queue).unacked(), 0u);
    EXPECT_EQ(host->state().ready(), 2u);
    EXPECT_EQ(drain(queue), (Bodies{"now", "past"}));
    pass(milliseconds(299));
    EXPECT_EQ(drain(queue), Bodies());
    pass(milliseconds(1));
    EXPECT_EQ(drain(queue), Bodies{"sooner"});
    pass(milliseconds(300));
    EXPECT_EQ(drain(queue), Bodies{"at"});
    pass(milliseconds(400));
    EXPECT_EQ(drain(queue), Bodies{"later"});
    EXPECT_EQ(status(queue).delayed(), 0u);
  }
}

TEST_F(Delays, OfDelayAndDeliverAtTheLaterCounts) {
  declare(1);
  const std::int64_t now = clock.wall_ms();
  publish_timed({{"a", 500, now + 100}, {"b", 100, now + 500}});
  pass(milliseconds(499));
  EXPECT_EQ(drain(), Bodies());
  pass(milliseconds(1));
  EXPECT_EQ(drain(), (Bodies{"a", "b"}));
}

TEST_F(Delays, ThoseOfOneTimeComeInTheOrderOfTheirArrival) {
  declare(1);
  subscribe(1, 1);
  for (int i = 0; i < 10; ++i) publish_timed({{"x" + std::to_string(i), 1000 - i}});
  publish_timed({{"a", 50}, {"b", 50}, {"c", 20}});
  pass(seconds(2));
  Bodies wanted{"c", "a", "b"};
  for (int i = 9; i >= 0; --i) wanted.push_back("x" + std::to_string(i));
  EXPECT_EQ(take_bodies(1), wanted);
}

TEST_F(Delays, TheLoopIsToldWhenTheNextOneIsDue) {
  declare(1);
  EXPECT_EQ(host->next_turn_in(), std::nullopt);
  publish_timed({{"a", 700}});
  EXPECT_EQ(host->next_turn_in(), milliseconds(700));
  pass(milliseconds(300));
  EXPECT_EQ(host->next_turn_in(), milliseconds(400));
  EXPECT_FALSE(host->wants_turn());
  pass(milliseconds(400));
  EXPECT_EQ(host->next_turn_in(), std::nullopt);
}

TEST_F(Delays, TheySurviveARestartAndFireOnce) {
  declare(1);
  publish_timed({{"a", 1000}, {"b", 500}, {"c", 100'000}});
  open();  // a crash: the log has them
  settle_down();
  EXPECT_EQ(status(1).delayed(), 3u);
  EXPECT_EQ(drain(), Bodies());
  pass(milliseconds(500));
  EXPECT_EQ(status(1).ready(), 1u);
  open();  // it has fired, and nobody took it
  settle_down();
  EXPECT_EQ(status(1).ready(), 1u);
  EXPECT_EQ(status(1).delayed(), 2u);
  restart_from_disk();
  EXPECT_EQ(drain(), Bodies{"b"});
  clock.advance(seconds(50));
  restart_from_disk();  // "a" came due while the node was away
  EXPECT_EQ(drain(), Bodies{"a"});
  EXPECT_EQ(status(1).delayed(), 1u);
  EXPECT_EQ(status(1).ready(), 0u);
}

TEST_F(Delays, ATransientQueueLosesThemWithItsNode) {
  declare(1, false);
  publish_timed({{"a", 1000}});
  open();
  settle_down();
  EXPECT_EQ(status(1).delayed(), 0u);
  pass(seconds(2));
  EXPECT_EQ(drain(), Bodies());
}

TEST_F(Delays, ThoseOnDiskAreReadAndComeInOrder) {
  declare(1);
  std::mt19937 random(7);
  std::vector<std::pair<std::int64_t, int>> order;
  for (int i = 0; i < 300; ++i) {
    const std::int64_t delay = 1000 + static_cast<std::int64_t>(random() % 5000);
    publish_timed({{"m" + std::to_string(i), delay}});
    order.emplace_back(delay, i);
  }
  restart_from_disk();
  publish_timed({{"new", 2000}});
  order.emplace_back(2000 + 0, 300);
  subscribe(1, 1);
  for (int i = 0; i < 100; ++i) pass(milliseconds(100));
  std::sort(order.begin(), order.end());
  Bodies wanted;
  for (const auto& [delay, i] : order) wanted.push_back(i == 300 ? "new" : "m" + std::to_string(i));
  const Bodies came = take_bodies(1);
  ASSERT_EQ(came.size(), wanted.size());
  EXPECT_EQ(came, wanted);
}

TEST_F(Delays, WhatIsCancelledDoesNotCome) {
  declare(1);
  publish_timed({{"a", 1000}, {"b", 1000}, {"c", 1000}, {"d", 1000}});
  EXPECT_EQ(cancel(2, 3), 2u);
  EXPECT_EQ(cancel(2, 3), 0u);
  EXPECT_EQ(cancel(100, 200), 0u);
  EXPECT_EQ(status(1).delayed(), 2u);
  restart_from_disk();
  EXPECT_EQ(status(1).delayed(), 2u);
  EXPECT_EQ(cancel(1, 1), 1u);
  open();
  settle_down();
  EXPECT_EQ(status(1).delayed(), 1u);
  pass(seconds(2));
  EXPECT_EQ(drain(), Bodies{"d"});
  EXPECT_EQ(cancel(1, 100), 0u);
}

TEST_F(Delays, ABrowseOfTheDelayedShowsThem) {
  declare(1);
  publish_timed({{"now"}, {"later", 1000, 0, 0, "1"}, {"last", 5000}});
  v1::QueueRequest message;
  message.set_queue_id(1);
  message.mutable_browse()->set_delayed(true);
  auto page = request(message);
  EXPECT_EQ(page.bodies, "laterlast");
  EXPECT_EQ(page.reply.browse().through(), 2u);
  message.mutable_browse()->set_delayed(false);
  EXPECT_EQ(request(message).bodies, "now");
}

TEST_F(Delays, PurgeLeavesThemAndIfEmptySeesThem) {
  declare(1);
  publish_timed({{"now"}, {"later", 1000}});
  EXPECT_EQ(purge(1).reply.purged(), 1u);
  EXPECT_EQ(status(1).delayed(), 1u);
  v1::QueueRequest message;
  message.set_queue_id(1);
  message.mutable_check_delete()->set_if_empty(true);
  EXPECT_TRUE(request(message).reply.has_error());
  host->remove_queue(QueueId{1});
  settle_down();
  definitions.clear();
  open();
  declare(2);
  pass(seconds(2));
  EXPECT_EQ(drain(2), Bodies());
}

TEST_F(Delays, LimitsCountThemWhenTheyAreReady) {
  declare_with(1, {{"x-max-length", 2}});
  publish_timed({{"a", 100}, {"b", 200}, {"c", 300}});
  EXPECT_EQ(status(1).delayed(), 3u);
  pass(seconds(1));
  EXPECT_EQ(status(1).dropped_total(), 1u);
  EXPECT_EQ(drain(), (Bodies{"b", "c"}));
}

TEST_F(Delays, WithRejectPublishTheyWaitForRoom) {
  declare_with(1, {{"x-max-length", 2}}, true, "reject-publish");
  publish_timed({{"x"}, {"a", 100}, {"b", 200}, {"c", 300}});
  pass(seconds(1));
  EXPECT_EQ(status(1).ready(), 2u);
  EXPECT_EQ(status(1).delayed(), 2u);
  EXPECT_EQ(get(900, 1, true).messages[0].body, "x");
  pass(milliseconds(200));
  EXPECT_EQ(status(1).ready(), 2u);
  EXPECT_EQ(status(1).delayed(), 1u);
  EXPECT_EQ(drain(), (Bodies{"a", "b"}));
  pass(milliseconds(200));
  EXPECT_EQ(drain(), Bodies{"c"});
}

TEST_F(Delays, TimeToLiveBeginsWhenTheyAreReady) {
  declare_with(1, {{"x-message-ttl", 500}});
  publish_timed({{"a", 1000}, {"b", 1000, 0, 0, "200"}});
  for (int i = 0; i < 10; ++i) pass(milliseconds(100));
  EXPECT_EQ(status(1).ready(), 2u);
  pass(milliseconds(199));
  EXPECT_EQ(status(1).expired_total(), 0u);
  clock.advance(milliseconds(1));
  EXPECT_EQ(drain(), Bodies{"a"});
}

TEST_F(Delays, TheyCountByTheirPriorityWhenTheyAreReady) {
  declare_with(1, {{"x-max-priority", 5}});
  publish_timed({{"low", 100, 0, 1}, {"high", 200, 0, 5}, {"now", 0, 0, 3}});
  pass(seconds(1));
  EXPECT_EQ(drain(), (Bodies{"high", "now", "low"}));
}

TEST_F(Delays, WithoutRoomInTheLogTheyWait) {
  declare(1);
  publish_timed({{"a", 100}});
  disk.wal_full = true;
  pass(seconds(1));
  EXPECT_EQ(status(1).delayed(), 1u);
  disk.wal_full = false;
  pass(seconds(1));
  EXPECT_EQ(drain(), Bodies{"a"});
}

TEST_F(Delays, ADamagedOneDoesNotHoldUpTheOthers) {
  declare(1);
  publish_timed({{"a", 5100}, {"b", 5200}, {"c", 5300}});
  restart_from_disk();
  disk.corrupt.insert({delay_lane_id(QueueId{1}), Sequence{2}});
  pass(seconds(6));
  EXPECT_EQ(drain(), (Bodies{"a", "c"}));
  EXPECT_EQ(status(1).delayed(), 0u);
}

}  // namespace
}  // namespace segue::node
