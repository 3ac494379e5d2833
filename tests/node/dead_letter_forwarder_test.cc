// Dead letters between hosts: what arrives where, with links that break and nodes that crash.
#include "node/dead_letter_forwarder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "common/random.h"
#include "tests/node/dead_letter_world.h"

namespace segue::node {
namespace {

using Bodies = std::vector<std::string>;

/// Queue 1 on node 0 has an exchange that leads to queue 2 on node 1.
class DeadLetterForwarderTest : public ::testing::Test {
 protected:
  DeadLetterForwarderTest() : world(2) {
    world.declare(1, 0, {.arguments = {{"x-dead-letter-exchange", world.text("dlx")}}});
    world.declare(2, 1, {});
    world.set_route("dlx", {2});
  }
  void publish_and_reject(const std::string& body, std::uint64_t queue = 1) {
    world.publish(body, queue);
    world.turn(0);
    const auto got = world.get(queue);
    ASSERT_TRUE(got);
    EXPECT_EQ(got->body, body);
    world.settle(queue, got->number, v1::OUTCOME_REJECT);
    world.turn(0);
  }

  DeadLetterWorld world;
};

TEST_F(DeadLetterForwarderTest, ALetterArrivesAndLeavesItsQueue) {
  publish_and_reject("a");
  EXPECT_EQ(world.status(1).dead_lettering(), 1u);
  EXPECT_EQ(world.status(1).ready(), 0u);
  EXPECT_EQ(world.status(1).unacked(), 0u);
  world.settle_down();
  EXPECT_EQ(world.status(1).dead_lettering(), 0u);
  const auto got = world.get(2, true);
  ASSERT_TRUE(got);
  EXPECT_EQ(got->body, "a");
  EXPECT_EQ(got->header.exchange(), "dlx");
  EXPECT_EQ(got->header.properties().headers().at("x-last-death-queue").string_value(), "q1");
  EXPECT_FALSE(world.get(2));
}

TEST_F(DeadLetterForwarderTest, TheSettleIsAnsweredThoughTheTargetIsDown) {
  world.break_link(0, 1);
  world.publish("a", 1);
  world.turn(0);
  const std::uint64_t id = world.settle(1, world.get(1)->number, v1::OUTCOME_REJECT);
  EXPECT_FALSE(world.settled(1, id));
  world.turn(0);
  EXPECT_TRUE(world.settled(1, id));
  for (int i = 0; i < 50; ++i) {
    world.clock.advance(std::chrono::seconds(100));
    world.tick(0);
  }
  EXPECT_EQ(world.status(1).dead_lettering(), 1u);
  world.settle_down();
  EXPECT_EQ(world.drain(2), Bodies{"a"});
}

TEST_F(DeadLetterForwarderTest, OneThatWasStoredIsNotStoredAgainAfterTheAnswerWasLost) {
  publish_and_reject("a");
  world.turn(0);
  ASSERT_TRUE(world.carry(0, 1));
  world.turn(1);  // stored, the answer is not carried
  world.crash(0);
  EXPECT_EQ(world.status(1).dead_lettering(), 1u);
  world.settle_down();
  EXPECT_EQ(world.status(1).dead_lettering(), 0u);
  EXPECT_EQ(world.drain(2), Bodies{"a"});
}

TEST_F(DeadLetterForwarderTest, ATargetRemembersForWeeks) {
  publish_and_reject("a");
  world.turn(0);
  ASSERT_TRUE(world.carry(0, 1));
  world.turn(1);
  world.break_link(0, 1);
  for (int day = 0; day < 20; ++day) {
    world.clock.advance(std::chrono::hours(24));
    world.publish("other", 2);
    world.tick(1);
  }
  world.drain(2);
  world.settle_down();
  EXPECT_EQ(world.status(1).dead_lettering(), 0u);
  EXPECT_EQ(world.drain(2), Bodies{});
}

TEST_F(DeadLetterForwarderTest, LettersKeepTheOrderInWhichTheyDied) {
  for (const char* body : {"a", "b", "c", "d"}) world.publish(body, 1);
  world.turn(0);
  std::vector<std::uint64_t> numbers;
  for (int i = 0; i < 4; ++i) numbers.push_back(world.get(1)->number);
  for (const int which : {2, 0, 3, 1}) {
    world.settle(1, numbers[static_cast<std::size_t>(which)], v1::OUTCOME_REJECT);
    world.turn(0);
  }
  world.settle_down();
  EXPECT_EQ(world.drain(2), (Bodies{"c", "a", "d", "b"}));
}

TEST_F(DeadLetterForwarderTest, ATargetThatTakesNothingNowIsTriedAgain) {
  world.disk(1).wal_full = true;
  world.tick(1);
  publish_and_reject("a");
  publish_and_reject("b");
  world.settle_down();
  EXPECT_EQ(world.status(1).dead_lettering(), 2u);
  world.disk(1).wal_full = false;
  world.settle_down();
  EXPECT_EQ(world.status(1).dead_lettering(), 0u);
  EXPECT_EQ(world.drain(2), (Bodies{"a", "b"}));
}

TEST_F(DeadLetterForwarderTest, ATargetThatIsFullHoldsUpItsSourceAlone) {
  world.declare(3, 1, {});
  world.declare(5, 0, {.arguments = {{"x-dead-letter-exchange", world.text("other")}}});
  world.set_route("dlx", {2, 3});
  world.set_route("other", {3});
  world.full = {2};
  publish_and_reject("a");
  publish_and_reject("b", 5);
  publish_and_reject("c");
  world.settle_down();
  EXPECT_EQ(world.status(1).dead_lettering(), 2u);
  EXPECT_EQ(world.status(5).dead_lettering(), 0u);
  world.full = {};
  world.settle_down();
  EXPECT_EQ(world.status(1).dead_lettering(), 0u);
  EXPECT_EQ(world.drain(2), (Bodies{"a", "c"}));
  Bodies others = world.drain(3);
  std::sort(others.begin(), others.end());
  EXPECT_EQ(others, (Bodies{"a", "b", "c"}));
}

TEST_F(DeadLetterForwarderTest, ATargetThatComesLaterGetsItsOwn) {
  world.declare(3, 1, {});
  publish_and_reject("a");
  world.turn(0);
  ASSERT_TRUE(world.carry(0, 1));
  world.turn(1);
  world.crash(0);
  world.set_route("dlx", {2, 3});  // bound between the two sendings
  world.settle_down();
  EXPECT_EQ(world.drain(2), Bodies{"a"});
  EXPECT_EQ(world.drain(3), Bodies{"a"});
}

TEST_F(DeadLetterForwarderTest, OneThatGoesNowhereIsDroppedAfterAMoment) {
  world.set_route("dlx", {});
  publish_and_reject("a");
  world.turn(0);
  EXPECT_EQ(world.status(1).dead_lettering(), 1u);  // the catalog may be a moment behind
  world.settle_down();
  EXPECT_EQ(world.status(1).dead_lettering(), 0u);
  EXPECT_EQ(world.status(1).dead_letter_dropped(), 1u);
}

TEST_F(DeadLetterForwarderTest, SeveralTargetsGetOneEach) {
  world.declare(3, 0, {});
  world.declare(4, 1, {});
  world.set_route("dlx", {2, 3, 4});
  publish_and_reject("a");
  world.settle_down();
  for (const std::uint64_t queue : {2, 3, 4}) EXPECT_EQ(world.drain(queue), Bodies{"a"});
  EXPECT_EQ(world.status(1).dead_lettering(), 0u);
}

TEST_F(DeadLetterForwarderTest, AQueueMayHaveItselfAsTarget) {
  world.set_route("dlx", {1});
  publish_and_reject("a");
  world.settle_down();
  EXPECT_EQ(world.status(1).ready(), 1u);
  EXPECT_EQ(world.status(1).dead_lettering(), 0u);
  EXPECT_EQ(world.drain(1), Bodies{"a"});
}

TEST_F(DeadLetterForwarderTest, ATransientQueuesLettersAreNotTakenForThoseBeforeARestart) {
  world.declare(5, 0,
                {.durable = false, .arguments = {{"x-dead-letter-exchange", world.text("dlx")}}});
  publish_and_reject("a", 5);
  world.settle_down();
  world.crash(0);
  publish_and_reject("b", 5);
  world.settle_down();
  EXPECT_EQ(world.drain(2), (Bodies{"a", "b"}));
  EXPECT_EQ(world.status(5).dead_lettering(), 0u);
}

TEST_F(DeadLetterForwarderTest, APurgeLeavesLettersAndADeletionDoesNot) {
  world.break_link(0, 1);
  publish_and_reject("a");
  world.publish("b", 1);
  world.turn(0);
  world.crash(0);  // now the dead one stands among the ready ones
  world.break_link(0, 1);
  EXPECT_EQ(world.status(1).ready(), 1u);
  EXPECT_EQ(world.purge(1), 1u);
  EXPECT_EQ(world.status(1).dead_lettering(), 1u);
  world.settle_down();
  EXPECT_EQ(world.drain(2), Bodies{"a"});

  world.break_link(0, 1);
  publish_and_reject("c");
  world.remove(1);
  world.settle_down();
  EXPECT_EQ(world.drain(2), Bodies{});
}

TEST_F(DeadLetterForwarderTest, LettersOnDiskAreReadThere) {
  world.options.checkpoint_wal_bytes = 10'000;
  world.crash(0);
  world.break_link(0, 1);
  Bodies bodies;
  for (int i = 0; i < 200; ++i) {
    bodies.push_back(std::to_string(i) + std::string(1000, 'x'));
    publish_and_reject(bodies.back());
    world.publish("ready", 1);
    world.turn(0);
    world.drain(1);
    if (i % 20 == 0) world.tick(0);
  }
  for (int i = 0; i < 50; ++i) world.tick(0);
  world.crash(0);
  EXPECT_EQ(world.status(1).ready(), 0u);
  EXPECT_EQ(world.status(1).dead_lettering(), 200u);
  EXPECT_FALSE(world.disk(0).stored_sequences(QueueId{1}).empty());
  world.settle_down();
  EXPECT_EQ(world.drain(2), bodies);
  EXPECT_TRUE(world.disk(0).stored_sequences(QueueId{1}).empty());
}

TEST_F(DeadLetterForwarderTest, AMessageDepartsWithItsLastDelivery) {
  world.declare(6, 0,
                {.arguments = {{"x-dead-letter-exchange", world.text("dlx")},
                               {"x-delivery-limit", world.number(2)}}});
  world.publish("a", 6);
  world.turn(0);
  for (std::uint32_t count = 0; count < 3; ++count) {
    const auto got = world.get(6);
    ASSERT_TRUE(got);
    EXPECT_EQ(got->delivery_count, count);
    world.settle(6, got->number, v1::OUTCOME_RELEASE);  // does not count
    world.turn(0);
    world.settle(6, world.get(6)->number, v1::OUTCOME_REQUEUE);
    world.turn(0);
  }
  EXPECT_FALSE(world.get(6));
  world.settle_down();
  const auto got = world.get(2, true);
  ASSERT_TRUE(got);
  EXPECT_EQ(got->header.properties().headers().at("x-first-death-reason").string_value(),
            "delivery_limit");
}

TEST_F(DeadLetterForwarderTest, WithoutAnExchangeTheDeliveryLimitDrops) {
  world.declare(6, 0, {.arguments = {{"x-delivery-limit", world.number(0)}}});
  world.publish("a", 6);
  world.turn(0);
  const std::uint64_t id = world.settle(6, world.get(6)->number, v1::OUTCOME_REQUEUE);
  world.turn(0);
  EXPECT_TRUE(world.settled(6, id));
  EXPECT_FALSE(world.get(6));
  world.crash(0);
  EXPECT_EQ(world.status(6).ready(), 0u);
}

// ---- everything at random

std::uint64_t effort() {
  const char* const text = std::getenv("SEGUE_TEST_EFFORT");
  return text == nullptr ? 1 : std::max<std::uint64_t>(1, std::strtoull(text, nullptr, 10));
}

/// Two queues on two nodes that have dead letters, three that get them, on three nodes.
class DeadLetterProperty {
 public:
  explicit DeadLetterProperty(std::uint64_t seed) : random_(seed), world_(3) {
    world_.options.checkpoint_wal_bytes = seed % 2 == 0 ? 3000 : 1'000'000;
    for (std::uint32_t i = 0; i < 3; ++i) {
      world_.crash(i);
      world_.disk(i).commit_on_flush = false;
      world_.disk(i).finish_on_poll = false;
    }
    world_.declare(1, 0, {.arguments = {{"x-dead-letter-exchange", world_.text("x")}}});
    world_.declare(2, 1,
                   {.arguments = {{"x-dead-letter-exchange", world_.text("y")},
                                  {"x-delivery-limit", world_.number(1)}}});
    world_.declare(11, 0, {});
    world_.declare(12, 1, {});
    world_.declare(13, 2, {});
    world_.set_route("x", {11, 12, 13});
    world_.set_route("y", {11, 13});
  }

  void run() {
    for (int step = 0; step < 600; ++step) one_step();
    world_.settle_down();
    check();
  }

 private:
  struct Message {
    std::uint64_t queue = 0;
    std::uint64_t batch = 0;
    bool confirmed = false;
    std::uint64_t acked = 0;     // confirm id, in this life of the node
    std::uint64_t rejected = 0;  // the same
    bool ack_sent = false;
    bool ack_done = false;
    bool dead = false;     // that was answered
    bool may_die = false;  // a reject was sent
  };

  std::uint64_t pick(std::uint64_t bound) { return random_.below(bound); }

  void one_step() {
    const auto node = static_cast<std::uint32_t>(pick(3));
    const auto other = static_cast<std::uint32_t>(pick(3));
    const std::uint64_t source = 1 + pick(2);
    switch (pick(16)) {
      case 0:
      case 1: {
        const std::string body = std::to_string(++made_) + std::string(pick(200), 'x');
        Message& message = messages_[body];
        message.queue = source;
        message.batch = world_.publish(body, source);
        break;
      }
      case 2:
      case 3:
        take(source);
        break;
      case 4:
      case 5:
        settle_one(source);
        break;
      case 6:
        world_.disk(node).commit(1 + pick(4));
        break;
      case 7:
        world_.disk(node).finish(1 + pick(3));
        break;
      case 8:
      case 9:
        world_.carry(node, other);
        break;
      case 10:
        world_.turn(node);
        note_answers();
        world_.answer(node);
        break;
      case 11:
        world_.clock.advance(std::chrono::milliseconds(50));
        world_.tick(node);
        break;
      case 12:
        if (pick(4) == 0) world_.break_link(node, other);
        break;
      case 13:
        world_.mend_link(node, other);
        break;
      case 14:
        if (pick(6) == 0) crash(node);
        break;
      default:
        for (std::uint32_t i = 0; i < 3; ++i) {
          world_.disk(i).commit();
          world_.turn(i);
        }
        note_answers();
    }
  }

  void take(std::uint64_t queue) {
    if (auto got = world_.get(queue)) out_[queue].push_back(*got);
    note_answers();
  }

  void settle_one(std::uint64_t queue) {
    auto& out = out_[queue];
    if (out.empty()) return;
    const std::size_t which = pick(out.size());
    const DeadLetterWorld::Got got = out[which];
    out.erase(out.begin() + static_cast<std::ptrdiff_t>(which));
    Message& message = messages_.at(got.body);
    switch (pick(4)) {
      case 0:
        message.ack_sent = true;
        message.acked = world_.settle(queue, got.number, v1::OUTCOME_ACK);
        break;
      case 1:
        world_.settle(queue, got.number, v1::OUTCOME_REQUEUE);
        break;
      default:
        message.may_die = true;
        message.rejected = world_.settle(queue, got.number, v1::OUTCOME_REJECT);
    }
  }

  void note_answers() {
    for (auto& [body, message] : messages_) {
      if (world_.confirmed(message.queue, message.batch)) message.confirmed = true;
      if (message.acked != 0 && world_.settled(message.queue, message.acked)) {
        message.ack_done = true;
      }
      if (message.rejected != 0 && world_.settled(message.queue, message.rejected)) {
        message.dead = true;
      }
    }
  }

  void crash(std::uint32_t node) {
    note_answers();
    world_.crash(node);
    if (node < 2) out_[node + 1].clear();
    for (auto& [body, message] : messages_) {
      if (message.queue == node + 1) message.acked = message.rejected = 0;
    }
  }

  void check() {
    note_answers();
    // What was out goes back when its session ends, gets without an answer included.
    world_.host(0).on_peer_lost(kRouter);
    world_.host(1).on_peer_lost(kRouter);
    for (std::uint32_t i = 0; i < 3; ++i) {
      world_.disk(i).commit_on_flush = true;
      world_.disk(i).finish_on_poll = true;
    }
    world_.settle_down();
    std::map<std::uint64_t, std::multiset<std::string>> in;
    for (const std::uint64_t queue : {1, 2, 11, 12, 13}) {
      if (queue < 10) {
        EXPECT_EQ(world_.status(queue).dead_lettering(), 0u);
      }
      for (const std::string& body : world_.drain(queue)) in[queue].insert(body);
    }
    for (const auto& [body, message] : messages_) {
      const std::size_t source = in[message.queue].count(body);
      const std::vector<std::uint64_t> targets = message.queue == 1
                                                     ? std::vector<std::uint64_t>{11, 12, 13}
                                                     : std::vector<std::uint64_t>{11, 13};
      const std::size_t dead = in[targets[0]].count(body);
      for (const std::uint64_t target : targets) {
        EXPECT_EQ(in[target].count(body), dead) << body << " in " << target;
      }
      EXPECT_LE(source + dead, 1u) << body;
      if (dead > 0) {
        EXPECT_TRUE((message.may_die || message.queue == 2) && !message.ack_done) << body;
      }
      if (message.dead) {
        EXPECT_EQ(dead, 1u) << body;
      }
      if (message.confirmed && !message.ack_sent) {
        EXPECT_EQ(source + dead, 1u) << body;
      }
    }
  }

  SeededRandom random_;
  DeadLetterWorld world_;
  std::map<std::string, Message> messages_;
  std::map<std::uint64_t, std::vector<DeadLetterWorld::Got>> out_;
  std::uint64_t made_ = 0;
};

TEST(DeadLetterProperty, EveryLetterIsInEachTargetOnceWhateverCrashes) {
  for (std::uint64_t seed = 1; seed <= 60 * effort(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    DeadLetterProperty(seed).run();
    if (::testing::Test::HasFailure()) return;
  }
}

}  // namespace
}  // namespace segue::node
