#include "node/link_budget.h"

#include <gtest/gtest.h>

#include "tests/node/queue_host_fixture.h"

namespace segue::node {
namespace {

TEST(LinkBudget, LeavesAsMuchFreeAsASessionThatStopsReadingHolds) {
  LinkBudget budget(2000, 10);  // 1000 in common, 10 shares of 100
  LinkBudget::Session& first = budget.join(1);
  EXPECT_EQ(budget.room(first, 0), 500u);
  budget.add(first, 500);
  EXPECT_EQ(budget.room(first, 500), 0u);
  LinkBudget::Session& second = budget.join(2);
  EXPECT_EQ(budget.room(second, 0), 250u);
  budget.add(second, 250);
  EXPECT_EQ(budget.room(second, 250), 0u);
  budget.remove(first, 500);
  EXPECT_EQ(budget.room(first, 0), 375u);
  EXPECT_EQ(budget.room(second, 250), 250u);
}

TEST(LinkBudget, GivesASessionItsShareWhenNothingIsFree) {
  LinkBudget budget(2000, 10);
  LinkBudget::Session& large = budget.join(1);
  budget.add(large, 5000);
  EXPECT_EQ(budget.room(large, 5000), 0u);
  EXPECT_EQ(budget.room(large, 0), 0u);
  LinkBudget::Session& small = budget.join(2);
  EXPECT_EQ(budget.room(small, 0), 100u);
  budget.add(small, 100);
  EXPECT_EQ(budget.room(small, 100), 0u);
}

TEST(LinkBudget, LetsAConsumerHaveAMessageWhenOthersOfItsSessionDoNotRead) {
  LinkBudget budget(2000, 10);
  LinkBudget::Session& session = budget.join(1);
  budget.add(session, 600);
  EXPECT_EQ(budget.room(session, 600), 0u);
  EXPECT_EQ(budget.room(session, 0), 1u);
  budget.add(session, 400);
  EXPECT_EQ(budget.room(session, 0), 0u);
}

/// A host that may have 16,000 bytes on the way to a router in common, and 10 shares of 1,600; a
/// message of these tests costs 1,000.
class LinkBudgetOfAHost : public QueueHostTest {
 protected:
  static constexpr std::uint64_t kWindow = 1'000'000;

  LinkBudgetOfAHost() {
    options.peer_delivery_bytes = 32'000;
    options.peer_sessions = 10;
    open();
  }
  void fill(std::uint64_t queue, std::size_t count) {
    declare(queue);
    publish(std::vector<std::string>(count, std::string(936, 'x')), {queue});
    settle_down();
  }
  void consume(std::uint64_t consumer, std::uint64_t queue, std::uint64_t session) {
    subscribe(consumer, queue, {.no_ack = true, .window_bytes = kWindow, .session = session});
    settle_down();
  }
};

TEST_F(LinkBudgetOfAHost, BoundsWhatIsOnTheWayToAllSessionsOfARouter) {
  fill(1, 200);
  for (std::uint64_t session = 1; session <= 10; ++session) consume(session, 1, session);
  std::size_t sum = 0;
  for (std::uint64_t consumer = 1; consumer <= 10; ++consumer) {
    const std::size_t got = take(consumer).size();
    EXPECT_GE(got, 1u) << consumer;
    sum += got;
  }
  EXPECT_LE(sum, 42u);  // 32, and a message for each session
  EXPECT_GE(sum, 16u);
}

TEST_F(LinkBudgetOfAHost, ServesThoseThatReadBesideThoseThatDoNot) {
  fill(1, 200);
  fill(2, 100);
  for (std::uint64_t session = 1; session <= 9; ++session) consume(session, 1, session);
  consume(10, 2, 10);
  std::uint64_t got = 0;
  for (int round = 0; round < 100 && got < 100; ++round) {
    got += take(10).size();
    received(10, got);
    settle_down();
  }
  EXPECT_EQ(got, 100u);
}

TEST_F(LinkBudgetOfAHost, GoesOnAtAnotherQueueWhenSomethingBecomesFree) {
  fill(1, 100);
  fill(2, 100);
  consume(1, 1, 1);
  consume(2, 2, 2);
  const std::size_t first = take(1).size();
  const std::size_t second = take(2).size();
  EXPECT_EQ(first, 8u);
  EXPECT_EQ(second, 4u);
  // The first one ends, with all it had on the way.
  unsubscribe(1, true);
  settle_down();
  EXPECT_EQ(take(2).size(), 4u);
  received(2, 4);
  settle_down();
  EXPECT_EQ(take(2).size(), 4u);
}

TEST_F(LinkBudgetOfAHost, ServesEveryoneThatWaitedHoweverManyTheyAre) {
  options.peer_sessions = 2000;
  open();
  fill(1, 1100);
  // One session has everything, a thousand others their message each, and one more wants more.
  consume(1, 1, 1);
  for (std::uint64_t session = 2; session <= 1001; ++session) {
    subscribe(session, 1, {.no_ack = true, .window_bytes = kWindow, .session = session});
  }
  settle_down();
  for (std::uint64_t consumer = 1; consumer <= 1001; ++consumer) take(consumer);
  const std::uint64_t left = status(1).ready();
  ASSERT_GT(left, 0u);
  // All is received: whoever waits is served, until the queue is empty.
  for (std::uint64_t consumer = 1; consumer <= 1001; ++consumer) received(consumer, kWindow);
  settle_down();
  EXPECT_EQ(status(1).ready(), 0u);
  EXPECT_FALSE(host->wants_turn());
}

TEST_F(LinkBudgetOfAHost, TakesWhatADeletedQueueHadOnTheWayAsReceived) {
  fill(1, 100);
  fill(2, 100);
  consume(1, 1, 1);
  EXPECT_EQ(take(1).size(), 8u);
  consume(2, 2, 2);
  EXPECT_EQ(take(2).size(), 4u);
  host->remove_queue(QueueId{1});
  settle_down();
  EXPECT_EQ(take(2).size(), 4u);
}

TEST_F(LinkBudgetOfAHost, CountsEachRouterByItself) {
  fill(1, 100);
  consume(1, 1, 1);
  EXPECT_EQ(take(1).size(), 8u);
  subscribe(1, 1, {.no_ack = true, .window_bytes = kWindow, .session = 1}, PeerId{2});
  settle_down();
  EXPECT_EQ(take(1, PeerId{2}).size(), 8u);
  host->on_peer_lost(PeerId{2});
  settle_down();
  EXPECT_TRUE(take(1).empty());
}

}  // namespace
}  // namespace segue::node
