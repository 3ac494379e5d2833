#include "node/consumer.h"

#include <gtest/gtest.h>

#include "node/consumer_ring.h"
#include "node/queue_table.h"
#include "tests/node/batches.h"

namespace segue::node {
namespace {

class ConsumerTest : public ::testing::Test {
 protected:
  Consumer& with(std::uint32_t prefetch, std::uint64_t prefetch_bytes = 0, std::uint64_t window = 0,
                 bool no_ack = false) {
    v1::Subscribe terms;
    terms.set_prefetch_count(prefetch);
    terms.set_prefetch_bytes(prefetch_bytes);
    terms.set_window_bytes(window);
    terms.set_no_ack(no_ack);
    consumer.subscribe(queue, terms);
    return consumer;
  }

  QueueTotals totals;
  HostedQueue queue{QueueId{1}, ShardId{0}, totals};
  Consumer consumer{PeerId{1}, 5};
};

TEST_F(ConsumerTest, TakesAsManyMessagesAsItsPrefetch) {
  with(3);
  const MessageRun run = run_of(1, make_batch(10, 10));
  EXPECT_EQ(consumer.admits(run), 3u);
  EXPECT_EQ(consumer.deliver(QueueId{1}, run.part(0, 3), true), 1u);
  EXPECT_FALSE(consumer.has_credit());
  EXPECT_EQ(consumer.admits(run), 0u);
  std::vector<Unacked::Run> taken;
  consumer.unacked().take({2, 2}, taken);
  EXPECT_TRUE(consumer.has_credit());
  EXPECT_EQ(consumer.admits(run), 1u);
  EXPECT_EQ(consumer.next_number(), 4u);
}

TEST_F(ConsumerTest, PrefetchInBytesLetsOneLargerMessageThrough) {
  with(0, 100);
  const MessageRun small = run_of(1, make_batch(10, 30));
  EXPECT_EQ(consumer.admits(small), 3u);
  const MessageRun large = run_of(20, make_batch({std::string(500, 'x'), "y"}));
  EXPECT_EQ(consumer.admits(large), 1u);
  consumer.deliver(QueueId{1}, small.part(0, 1), true);
  EXPECT_EQ(consumer.admits(large), 0u);
  EXPECT_EQ(consumer.admits(small), 2u);
}

TEST_F(ConsumerTest, TheWindowOpensWhenDeliveriesAreReceived) {
  with(0, 0, 1000);
  const MessageRun run = run_of(1, make_batch(10, 436));  // 500 bytes each, as they are counted
  EXPECT_EQ(consumer.admits(run), 2u);
  consumer.deliver(QueueId{1}, run.part(0, 2), true);
  EXPECT_FALSE(consumer.has_credit());
  consumer.received(1);
  EXPECT_FALSE(consumer.has_credit());
  consumer.received(2);
  EXPECT_TRUE(consumer.has_credit());
}

TEST_F(ConsumerTest, NoAckIgnoresThePrefetch) {
  with(1, 1, 0, true);
  const MessageRun run = run_of(1, make_batch(10, 10));
  EXPECT_EQ(consumer.admits(run), 10u);
  consumer.deliver(QueueId{1}, run, false);
  EXPECT_TRUE(consumer.has_credit());
  EXPECT_TRUE(consumer.unacked().empty());
}

TEST(ConsumerRing, ServesHigherPrioritiesFirstAndEqualOnesInTurn) {
  QueueTotals totals;
  HostedQueue queue(QueueId{1}, ShardId{0}, totals);
  Consumer low(PeerId{1}, 1);
  Consumer high_one(PeerId{1}, 2);
  Consumer high_two(PeerId{1}, 3);
  v1::Subscribe terms;
  low.subscribe(queue, terms);
  terms.set_priority(5);
  high_one.subscribe(queue, terms);
  high_two.subscribe(queue, terms);
  ConsumerRing ring;
  ring.offer(low);
  ring.offer(high_one);
  ring.offer(high_two);
  ring.offer(high_one);  // is in it already
  EXPECT_EQ(ring.front(), &high_one);
  EXPECT_EQ(ring.front_group_size(), 2u);
  ring.rotate();
  EXPECT_EQ(ring.front(), &high_two);
  ring.withdraw(high_two);
  ring.withdraw(high_one);
  EXPECT_EQ(ring.front(), &low);
  ring.offer(high_two);
  EXPECT_EQ(ring.front(), &high_two);
  ring.withdraw(low);
  ring.withdraw(high_two);
  EXPECT_EQ(ring.front(), nullptr);
}

}  // namespace
}  // namespace segue::node
