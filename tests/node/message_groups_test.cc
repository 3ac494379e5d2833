// Queues with message groups (24), from the outside.

#include "node/message_groups.h"

#include "tests/node/groups_fixture.h"

namespace segue::node {
namespace {

using Bodies = std::vector<std::string>;
using MessageGroupQueue = MessageGroupsTest;

TEST_F(MessageGroupQueue, OneGroupGoesToOneConsumerAndOthersInParallel) {
  for (const bool durable : {true, false}) {
    const std::uint64_t queue = durable ? 1 : 2;
    declare_groups(queue, durable);
    const std::uint64_t one = 10 * queue;
    const std::uint64_t two = one + 1;
    subscribe(one, queue, {.prefetch = 1});
    subscribe(two, queue, {.prefetch = 1});
    publish({"a1", "a2", "a3", "b1", "b2"}, queue);
    settle_down();
    EXPECT_EQ(take_bodies(one), (Bodies{"a1"}));
    EXPECT_EQ(take_bodies(two), (Bodies{"b1"}));
    EXPECT_EQ(status(queue).groups(), 2u);
    EXPECT_EQ(status(queue).ready(), 3u);
    settle(two, 1, 1);
    settle_down();
    EXPECT_EQ(take_bodies(two), (Bodies{"b2"})) << "a2 waits for a1";
    settle(two, 2, 2);
    settle_down();
    EXPECT_EQ(take_bodies(two), (Bodies{}));
    EXPECT_EQ(status(queue).groups(), 1u);
    settle(one, 1, 1);
    settle_down();
    const Bodies first = take_bodies(one);
    const Bodies second = take_bodies(two);
    EXPECT_EQ(first.size() + second.size(), 1u);
    EXPECT_EQ(first.empty() ? second : first, (Bodies{"a2"}));
  }
}

TEST_F(MessageGroupQueue, LaterMessagesOfAGroupFollowToItsConsumerWithinItsCredit) {
  declare_groups(1);
  subscribe(1, 1, {.prefetch = 3});
  subscribe(2, 1, {.prefetch = 3});
  publish({"a1"}, 1);
  settle_down();
  const std::uint64_t owner = output->deliveries.at(0).delivery.consumer();
  publish({"a2", "a3", "a4", "b1"}, 1);
  settle_down();
  EXPECT_EQ(take_bodies(owner), (Bodies{"a1", "a2", "a3"}));
  EXPECT_EQ(take_bodies(3 - owner), (Bodies{"b1"}));
  settle(owner, 1, 1);
  settle_down();
  EXPECT_EQ(take_bodies(owner), (Bodies{"a4"}));
}

TEST_F(MessageGroupQueue, MessagesWithoutAGroupAreServedAsEver) {
  declare_groups(1);
  subscribe(1, 1, {.prefetch = 2});
  publish({"-1", "-2", "-3"}, 1);
  settle_down();
  EXPECT_EQ(take_bodies(1), (Bodies{"-1", "-2"}));
  EXPECT_EQ(status(1).groups(), 0u);
  settle(1, 1, 1, v1::OUTCOME_REQUEUE);
  settle_down();
  EXPECT_EQ(take_bodies(1), (Bodies{"-1"}));
  settle(1, 2, 3);
  settle_down();
  EXPECT_EQ(take_bodies(1), (Bodies{"-3"}));
}

TEST_F(MessageGroupQueue, WhatIsRequeuedComesBeforeLaterOnesOfItsGroup) {
  declare_groups(1);
  publish({"a1", "a2", "a3", "a4"}, 1);
  subscribe(1, 1, {.prefetch = 2});
  settle_down();
  EXPECT_EQ(take_bodies(1), (Bodies{"a1", "a2"}));
  settle(1, 1, 1, v1::OUTCOME_REQUEUE);
  settle_down();
  EXPECT_EQ(take_bodies(1), (Bodies{"a1"})) << "a2 is out; a1 comes before a3";
  settle(1, 2, 3, v1::OUTCOME_RELEASE);
  settle_down();
  EXPECT_EQ(take_bodies(1), (Bodies{"a1", "a2"}));
}

TEST_F(MessageGroupQueue, WhatIsRequeuedOfAFreeGroupGoesToWhoeverIsNext) {
  declare_groups(1);
  publish({"a1", "a2"}, 1);
  subscribe(1, 1, {.prefetch = 1});
  settle_down();
  subscribe(2, 1, {.prefetch = 1, .priority = 1});
  settle(1, 1, 1, v1::OUTCOME_REQUEUE);
  settle_down();
  EXPECT_EQ(take_bodies(2), (Bodies{"a1"}));
}

TEST_F(MessageGroupQueue, AGroupWhoseConsumerIsLostGoesToTheNextFromItsFirstMessageOn) {
  declare_groups(1);
  publish({"a1", "a2", "a3", "a4"}, 1);
  subscribe(1, 1, {.prefetch = 3}, PeerId{7});
  settle_down();
  settle(1, 1, 1, v1::OUTCOME_ACK, 0, PeerId{7});
  settle_down();
  EXPECT_EQ(take_bodies(1, PeerId{7}), (Bodies{"a1", "a2", "a3", "a4"}));
  subscribe(2, 1, {.prefetch = 10});
  settle_down();
  EXPECT_EQ(take_bodies(2), (Bodies{}));
  host->on_peer_lost(PeerId{7});
  settle_down();
  EXPECT_EQ(take_bodies(2), (Bodies{"a2", "a3", "a4"}));
  EXPECT_EQ(status(1).groups(), 1u);
}

TEST_F(MessageGroupQueue, ACancelledConsumerKeepsItsGroupsUntilTheyAreSettled) {
  declare_groups(1, true, {{"x-single-active-consumer", 1}});
  publish({"a1", "a2", "b1"}, 1);
  subscribe(1, 1, {.prefetch = 1});
  subscribe(2, 1, {.prefetch = 10});
  settle_down();
  EXPECT_EQ(take_bodies(1), (Bodies{"a1"}));
  unsubscribe(1, false);
  settle_down();
  EXPECT_EQ(take_bodies(2), (Bodies{"b1"})) << "group a is with the first one";
  settle(1, 1, 1);
  settle_down();
  EXPECT_EQ(take_bodies(2), (Bodies{"a2"}));
}

TEST_F(MessageGroupQueue, AGroupOfADeadLetterGoesOn) {
  declare_groups(1, true, {{"x-delivery-limit", 0}});
  publish({"a1", "a2"}, 1);
  subscribe(1, 1, {.prefetch = 1});
  settle_down();
  settle(1, 1, 1, v1::OUTCOME_REQUEUE);  // one delivery too many
  settle_down();
  EXPECT_EQ(take_bodies(1), (Bodies{"a1", "a2"}));
}

TEST_F(MessageGroupQueue, WhatWasLookedPastExpiresAndIsDroppedAndPurged) {
  declare_groups(1, true, {{"x-message-ttl", 1000}});
  declare_groups(2, true, {{"x-max-length", 2}});
  declare_groups(3);
  for (std::uint64_t queue = 1; queue <= 3; ++queue) {
    subscribe(queue, queue, {.prefetch = 1});
    publish({"a1"}, queue);
    settle_down();
    publish({"a2", "a3", "a4"}, queue);
    settle_down();
    EXPECT_EQ(take_bodies(queue), (Bodies{"a1"}));
  }
  for (int i = 0; i < 30; ++i) tick();
  EXPECT_EQ(status(1).ready(), 0u);
  EXPECT_EQ(status(1).expired_total(), 3u);
  EXPECT_EQ(status(2).ready(), 2u);
  EXPECT_EQ(purge(3).reply.purged(), 3u);
  for (std::uint64_t queue = 1; queue <= 3; ++queue) {
    publish({"a5"}, queue);
    settle(queue, 1, 1);
    settle_down();
    EXPECT_EQ(take_bodies(queue), queue == 2 ? Bodies{"a3"} : Bodies{"a5"});
  }
}

TEST_F(MessageGroupQueue, AnExpiredMessageOfAFreeGroupIsNotDelivered) {
  declare_groups(1, true, {{"x-message-ttl", 1000}});
  publish({"a1", "a2"}, 1);
  subscribe(1, 1, {.prefetch = 2});
  settle_down();
  EXPECT_EQ(take_bodies(1), (Bodies{"a1", "a2"}));
  tick(std::chrono::milliseconds(2000));
  publish({"a3"}, 1);
  settle(1, 1, 2, v1::OUTCOME_REQUEUE);
  settle_down();
  EXPECT_EQ(take_bodies(1), (Bodies{"a3"}));
}

TEST_F(MessageGroupQueue, AGetTakesTheNextThatNoOtherHoldsBack) {
  declare_groups(1);
  subscribe(1, 1, {.prefetch = 1});
  publish({"a1", "a2", "b1", "b2", "-1"}, 1);
  settle_down();
  EXPECT_EQ(take_bodies(1), (Bodies{"a1"}));
  const auto one = get(90, 1);
  ASSERT_EQ(one.messages.size(), 1u);
  EXPECT_EQ(one.messages[0].body, "b1");
  EXPECT_EQ(get(91, 1).messages.at(0).body, "-1") << "b2 is the other session's";
  EXPECT_TRUE(get(91, 1).messages.empty());
  EXPECT_EQ(get(90, 1).messages.at(0).body, "b2") << "its own group";
  EXPECT_EQ(status(1).groups(), 2u);
  settle(90, 1, 1, v1::OUTCOME_REQUEUE);
  settle(90, 2, 2, v1::OUTCOME_REQUEUE);
  settle_down();
  EXPECT_EQ(get(91, 1, true).messages.at(0).body, "b1");
  EXPECT_EQ(get(91, 1, true).messages.at(0).body, "b2");
  settle(1, 1, 1);
  settle_down();
  EXPECT_EQ(take_bodies(1), (Bodies{"a2"}));
}

TEST_F(MessageGroupQueue, ConsumersWithoutAcksTakeAnyGroupInOrder) {
  declare_groups(1);
  subscribe(1, 1, {.prefetch = 1});
  publish({"a1", "a2", "b1"}, 1);
  settle_down();
  subscribe(2, 1, {.no_ack = true});
  settle_down();
  EXPECT_EQ(take_bodies(1), (Bodies{"a1"}));
  EXPECT_EQ(take_bodies(2), (Bodies{"b1"}));
  settle(1, 1, 1);
  settle_down();
  EXPECT_EQ(take_bodies(1).size() + take_bodies(2).size(), 1u);
}

TEST_F(MessageGroupQueue, ABusyGroupIsLookedPastToTheEndOfTheWindowAndNoFarther) {
  declare_groups(1);
  subscribe(1, 1, {.prefetch = 1});
  publish({"a1"}, 1);
  settle_down();
  std::vector<std::string> busy(500, "a2");
  for (std::size_t sent = 0; sent < MessageGroups::kWindow; sent += busy.size()) publish(busy, 1);
  publish({"b1"}, 1);
  settle_down();
  EXPECT_EQ(take_bodies(1), (Bodies{"a1"}));
  subscribe(2, 1, {.prefetch = 1});
  settle_down();
  EXPECT_EQ(take_bodies(2), (Bodies{})) << "b1 is behind the window";
  settle(1, 1, 1);
  settle_down();
  settle_down();
  // One message of group a is at one of them: the window has room to look at b1.
  const Bodies one = take_bodies(1);
  const Bodies two = take_bodies(2);
  ASSERT_EQ(one.size() + two.size(), 2u);
  EXPECT_EQ((one.empty() || one[0] == "a2") ? two.back() : one.back(), "b1");
}

TEST_F(MessageGroupQueue, AfterARestartGroupsAreServedFromTheirFirstUnsettledMessage) {
  declare_groups(1);
  subscribe(1, 1, {.prefetch = 2});
  publish({"a1", "a2", "a3", "b1"}, 1);
  settle_down();
  settle(1, 1, 1);
  settle_down();
  reopen();
  subscribe(2, 1, {.prefetch = 1});
  subscribe(3, 1, {.prefetch = 1});
  settle_down();
  EXPECT_EQ(take_bodies(2), (Bodies{"a2"}));
  EXPECT_EQ(take_bodies(3), (Bodies{"b1"}));
}

TEST_F(MessageGroupQueue, ALongQueueOnDiskIsServedInOrderOfEachGroup) {
  options.memory_limit = 8 << 20;
  options.checkpoint_wal_bytes = 1ull << 40;
  open();
  declare_groups(1);
  constexpr int kEach = 8000;
  std::map<char, int> sent;
  for (int i = 0; i < 4 * kEach; i += 64) {
    std::vector<std::string> bodies;
    for (int k = 0; k < 64; ++k) {
      const char group = static_cast<char>('a' + k % 4);
      std::string body = group + std::to_string(++sent[group]);
      body.resize(1024, ' ');
      bodies.push_back(body);
    }
    publish(bodies, 1);
    turn();
    turn();
    clock.advance(std::chrono::milliseconds(6));
  }
  for (std::uint64_t consumer = 1; consumer <= 4; ++consumer) {
    subscribe(consumer, 1, {.prefetch = 50});
  }
  std::map<char, int> last;
  std::map<char, std::uint64_t> owner;
  int came = 0;
  for (int idle = 0; idle < 50; ++idle) {
    turn();
    clock.advance(std::chrono::milliseconds(6));
    for (std::uint64_t consumer = 1; consumer <= 4; ++consumer) {
      for (const SeenMessage& message : take(consumer)) {
        ASSERT_EQ(std::stoi(message.body.substr(1)), ++last[message.body[0]]) << message.body[0];
        settle(consumer, message.number, message.number);
        ++came;
        idle = 0;
      }
    }
  }
  EXPECT_EQ(came, 4 * kEach);
  EXPECT_EQ(status(1).ready() + status(1).unacked(), 0u);
}

}  // namespace
}  // namespace segue::node
