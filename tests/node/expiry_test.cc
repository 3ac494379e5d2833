// Time to live, of queues and of messages.
#include <map>
#include <random>

#include "tests/node/queue_host_fixture.h"

namespace segue::node {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using Bodies = std::vector<std::string>;

class Expiry : public QueueHostTest {
 protected:
  /// A queue whose messages live so long (-1: without an end).
  void declare_with_ttl(std::uint64_t id, std::int64_t ttl_ms, bool durable = true) {
    v1::QueueDefinition definition = define(id, durable);
    if (ttl_ms >= 0) {
      (*definition.mutable_arguments())["x-message-ttl"].set_int_value(ttl_ms);
      definitions.back() = definition;
    }
    host->add_queue(definition);
  }
  /// One batch; -1: a message without an expiration.
  void publish_timed(const std::vector<std::pair<std::string, std::int64_t>>& messages,
                     std::uint64_t queue = 1) {
    v1::MessageBatch batch;
    std::vector<std::string> bodies;
    for (const auto& [body, expiration] : messages) {
      v1::MessageHeader& header = *batch.add_headers();
      header.set_routing_key("key");
      if (expiration >= 0) {
        header.mutable_properties()->set_expiration(std::to_string(expiration));
      }
      batch.add_header_index(static_cast<std::uint32_t>(bodies.size()));
      batch.add_sizes(static_cast<std::uint32_t>(body.size()));
      bodies.push_back(body);
    }
    v1::ShardPublish message = publish_of(bodies, {queue});
    message.set_batch(batch.SerializeAsString());
    message.set_batch_id(++last_batch);
    message.set_resumes(true);
    host->on_publish(kRouter, message, joined(bodies));
    settle_down();
  }
  /// Ticks and turns for so long.
  void wait(milliseconds time) {
    for (; time > milliseconds(0); time -= milliseconds(100)) {
      tick(std::min(time, milliseconds(100)));
      for (int i = 0; i < 20; ++i) turn();
    }
  }
  /// Lets time pass and nothing else.
  void pass(milliseconds time) {
    clock.advance(time);
    host->on_tick(clock.now() - time, clock.wall_ms());
  }
  Bodies browse(std::uint64_t queue = 1) {
    Bodies bodies;
    v1::QueueRequest message;
    message.set_queue_id(queue);
    std::uint64_t after = 0;
    for (bool more = true; more;) {
      message.mutable_browse()->set_after(after);
      const auto page = request(message).reply;
      after = page.browse().through();
      more = page.browse().more();
      v1::MessageBatch batch;
      EXPECT_TRUE(batch.ParseFromString(page.delivery().batch()));
      for (const std::uint32_t size : batch.sizes()) bodies.push_back(std::to_string(size));
    }
    return bodies;
  }
};

TEST_F(Expiry, AMessageIsNotDeliveredOnceItHasExpired) {
  for (const bool durable : {true, false}) {
    const std::uint64_t queue = durable ? 1 : 2;
    declare_with_ttl(queue, 1000, durable);
    publish_timed({{"a", -1}, {"b", 300}, {"c", 5000}}, queue);
    pass(milliseconds(299));
    EXPECT_EQ(drain(queue), (Bodies{"a", "b", "c"}));
    publish_timed({{"a", -1}, {"b", 300}, {"c", 5000}}, queue);
    pass(milliseconds(300));
    EXPECT_EQ(drain(queue), (Bodies{"a", "c"}));
    publish_timed({{"a", -1}, {"b", 300}, {"c", 5000}}, queue);
    pass(milliseconds(1000));
    subscribe(queue, queue);
    settle_down();
    EXPECT_EQ(take_bodies(queue), (Bodies{}));
    const auto now = status(queue);
    EXPECT_EQ(now.ready(), 0u);
    EXPECT_EQ(now.expired_total(), 4u);
    EXPECT_EQ(now.bytes(), 0u);
  }
}

TEST_F(Expiry, MessagesGoWhereverTheyStandThoughNobodyReads) {
  for (const bool durable : {true, false}) {
    const std::uint64_t queue = durable ? 1 : 2;
    declare_with_ttl(queue, -1, durable);
    publish_timed({{"a", -1}, {"b", 300}, {"c", -1}, {"d", 2500}, {"e", 100}}, queue);
    wait(milliseconds(1600));
    EXPECT_EQ(status(queue).ready(), 3u);
    EXPECT_EQ(status(queue).bytes(), 3u);
    wait(milliseconds(2000));
    EXPECT_EQ(status(queue).ready(), 2u);
    EXPECT_EQ(drain(queue), (Bodies{"a", "c"}));
    EXPECT_EQ(status(queue).expired_total(), 3u);
  }
}

TEST_F(Expiry, OfAQueueThatIsOnDiskOnlyToo) {
  declare_with_ttl(1, -1);
  publish_timed({{"a", -1}, {"b", 300}, {"c", 4000}, {"d", -1}});
  reopen();
  wait(milliseconds(1600));
  EXPECT_EQ(status(1).ready(), 3u);
  EXPECT_EQ(disk.loads(), 0u);
  wait(milliseconds(4000));
  EXPECT_EQ(status(1).ready(), 2u);
  EXPECT_EQ(disk.loads(), 0u);
  EXPECT_EQ(drain(), (Bodies{"a", "d"}));
}

TEST_F(Expiry, TimeGoesOnWhileTheNodeIsDown) {
  declare_with_ttl(1, 1000);
  publish_timed({{"a", -1}});  // in the log
  clock.advance(milliseconds(600));
  open();
  publish_timed({{"b", -1}});
  pass(milliseconds(399));
  EXPECT_EQ(status(1).ready(), 2u);
  pass(milliseconds(1));
  EXPECT_EQ(drain(), (Bodies{"b"}));
}

TEST_F(Expiry, UnackedMessagesExpireWhenTheyComeBack) {
  declare_with_ttl(1, 1000);
  publish_timed({{"a", -1}, {"b", -1}, {"c", -1}});
  subscribe(1, 1, {.prefetch = 2});
  settle_down();
  EXPECT_EQ(take_bodies(1), (Bodies{"a", "b"}));
  wait(milliseconds(3000));
  EXPECT_EQ(status(1).unacked(), 2u);
  EXPECT_EQ(status(1).ready(), 0u);
  settle(1, 1, 1);
  settle(1, 2, 2, v1::OUTCOME_REQUEUE);
  settle_down();
  EXPECT_EQ(take_bodies(1), (Bodies{}));
  EXPECT_EQ(status(1).unacked(), 0u);
  EXPECT_EQ(status(1).expired_total(), 2u);
}

TEST_F(Expiry, WhatComesBackWhenNobodyReadsExpiresInMemoryAndOnDisk) {
  declare_with_ttl(1, -1);
  publish_timed({{"a", 500}, {"b", 500}});
  reopen();
  subscribe(1, 1);
  settle_down();
  EXPECT_EQ(take_bodies(1), (Bodies{"a", "b"}));
  wait(milliseconds(3000));
  EXPECT_EQ(status(1).unacked(), 2u);
  unsubscribe(1, true);
  wait(milliseconds(1600));
  EXPECT_EQ(status(1).ready(), 0u);
  EXPECT_EQ(status(1).expired_total(), 2u);
}

TEST_F(Expiry, WithoutAnyTimeAMessageIsDeliveredAtOnceOrNotAtAll) {
  declare_with_ttl(1, 0);
  declare_with_ttl(2, -1);
  subscribe(1, 1, {.prefetch = 1});
  subscribe(2, 2, {.prefetch = 1});
  settle_down();
  publish_timed({{"a", -1}, {"b", -1}}, 1);
  publish_timed({{"a", 0}, {"b", 0}, {"c", -1}}, 2);
  EXPECT_EQ(take_bodies(1), (Bodies{"a"}));
  EXPECT_EQ(take_bodies(2), (Bodies{"a"}));
  EXPECT_EQ(status(1).ready(), 0u);
  EXPECT_EQ(status(2).ready(), 1u);
  EXPECT_EQ(status(2).expired_total(), 1u);
  // A message that comes back has had its moment.
  settle(1, 1, 1, v1::OUTCOME_REQUEUE);
  settle_down();
  EXPECT_EQ(take_bodies(1), (Bodies{}));
  EXPECT_EQ(status(1).expired_total(), 2u);
}

TEST_F(Expiry, BrowsingLeavesOutWhatHasExpired) {
  declare_with_ttl(1, -1);
  publish_timed({{"1", -1}, {"22", 300}, {"333", -1}, {"4444", 300}});
  EXPECT_EQ(browse(), (Bodies{"1", "2", "3", "4"}));
  pass(milliseconds(300));
  EXPECT_EQ(browse(), (Bodies{"1", "3"}));
  publish_timed({{"22", 0}});
  EXPECT_EQ(browse(), (Bodies{"1", "3"}));
}

TEST_F(Expiry, ATimeToLiveThatChangesHoldsForWhatIsThere) {
  declare_with_ttl(1, 100'000);
  publish_timed({{"a", -1}, {"b", 700}});
  reopen();
  publish_timed({{"c", -1}, {"d", 700}});
  pass(milliseconds(500));
  v1::QueueDefinition changed = definitions[0];
  (*changed.mutable_arguments())["x-message-ttl"].set_int_value(600);
  host->add_queue(changed);
  pass(milliseconds(99));
  EXPECT_EQ(drain(), (Bodies{"a", "b", "c", "d"}));
  publish_timed({{"e", -1}});
  wait(milliseconds(2000));
  EXPECT_EQ(status(1).ready(), 0u);
}

TEST_F(Expiry, ATimeToLiveOfNothingThatComesLaterHoldsForWhatIsThere) {
  for (const bool reopened : {false, true}) {
    const std::uint64_t queue = reopened ? 2 : 1;
    declare_with_ttl(queue, -1);
    publish_timed({{"a", -1}, {"b", 100'000}}, queue);
    if (reopened) reopen();
    v1::QueueDefinition changed = definitions.back();
    (*changed.mutable_arguments())["x-message-ttl"].set_int_value(0);
    host->add_queue(changed);
    wait(milliseconds(2000));
    EXPECT_EQ(status(queue).ready(), 0u);
    EXPECT_EQ(status(queue).expired_total(), 2u);
  }
}

TEST_F(Expiry, APurgeAndExpiredMessagesOnTheirWayOutDoNotCountTwice) {
  declare_with_ttl(1, -1);
  publish_timed({{"a", -1}, {"b", 100}, {"c", -1}});
  disk.commit_on_flush = false;
  wait(milliseconds(1600));  // "b" is on its way out
  EXPECT_EQ(status(1).ready(), 2u);
  wait(milliseconds(2000));
  EXPECT_EQ(status(1).ready(), 2u);
  v1::QueueRequest message;
  message.set_queue_id(1);
  message.set_request_id(++last_request);
  message.mutable_purge();
  host->on_queue_request(kRouter, message);
  disk.commit_on_flush = true;
  EXPECT_EQ(reply_of(last_request).reply.purged(), 2u);
  settle_down();
  EXPECT_EQ(status(1).ready(), 0u);
  EXPECT_EQ(status(1).bytes(), 0u);
  open();
  settle_down();
  EXPECT_EQ(drain(), (Bodies{}));
}

TEST_F(Expiry, IsAsAPlainModelSaysWhateverHappens) {
  for (std::uint32_t seed = 1; seed <= 30; ++seed) {
    std::mt19937 random(seed);
    const auto below = [&](std::uint32_t limit) { return random() % limit; };
    const std::uint64_t queue = seed;
    const std::int64_t ttl = below(3) == 0 ? -1 : 200 + below(3000);
    const bool durable = below(4) != 0;
    declare_with_ttl(queue, ttl, durable);
    struct Message {
      std::string body;
      std::int64_t due;
    };
    std::vector<Message> model;  // what is in the queue, in order
    int numbered = 0;
    const auto live = [&](std::int64_t now) {
      Bodies bodies;
      for (const Message& message : model) {
        if (message.due > now) bodies.push_back(message.body);
      }
      return bodies;
    };
    for (int step = 0; step < 40; ++step) {
      switch (below(6)) {
        case 0:
        case 1: {
          std::vector<std::pair<std::string, std::int64_t>> batch;
          for (std::uint32_t i = 0; i <= below(12); ++i) {
            const std::int64_t own = below(2) == 0 ? -1 : 1 + below(3000);
            std::int64_t left = own < 0 ? ttl : ttl < 0 ? own : std::min(own, ttl);
            const std::string body = std::to_string(++numbered);
            batch.emplace_back(body, own);
            model.push_back({body, left < 0 ? segue::kNever : clock.wall_ms() + left});
          }
          publish_timed(batch, queue);
          break;
        }
        case 2: {
          const auto got = get(900, queue, true);
          const Bodies left = live(clock.wall_ms());
          const Bodies seen = got.messages.empty() ? Bodies{} : Bodies{got.messages[0].body};
          EXPECT_EQ(seen, left.empty() ? Bodies{} : Bodies{left[0]})
              << "seed " << seed << ", step " << step;
          if (!left.empty()) {
            std::erase_if(model, [&](const Message& one) { return one.body == left[0]; });
          }
          break;
        }
        case 3:
          wait(milliseconds(below(1500)));
          break;
        case 4:
          pass(milliseconds(below(300)));
          break;
        default:
          if (durable && below(2) == 0) reopen();
      }
    }
    wait(milliseconds(1500));
    settle_down();
    // What has expired since the last sweep may count still.
    EXPECT_GE(status(queue).ready(), live(clock.wall_ms()).size()) << "seed " << seed;
    EXPECT_LE(status(queue).ready(), live(clock.wall_ms() - 1200).size()) << "seed " << seed;
    EXPECT_EQ(drain(queue), live(clock.wall_ms())) << "seed " << seed;
  }
}

}  // namespace
}  // namespace segue::node
