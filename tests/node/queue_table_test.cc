#include "node/queue_table.h"

#include <gtest/gtest.h>

#include "tests/node/queue_host_fixture.h"

namespace segue::node {
namespace {

TEST(QueueTable, AnIdleQueueIsSmall) {
  EXPECT_LE(sizeof(HostedQueue), 608u);
}

TEST(QueueTable, ListsHoldEachQueueOnceAndForgetWhatIsErased) {
  QueueTable table;
  HostedQueue& one = table.find_or_add(QueueId{1}, ShardId{0});
  HostedQueue& two = table.find_or_add(QueueId{2}, ShardId{0});
  HostedQueue& three = table.find_or_add(QueueId{3}, ShardId{0});
  for (HostedQueue* queue : {&one, &two, &three, &one}) table.note_memory(*queue);
  EXPECT_EQ(table.in_memory().size(), 3u);
  table.erase(one);
  EXPECT_EQ(table.in_memory().size(), 2u);
  EXPECT_EQ(&table.find_or_add(QueueId{2}, ShardId{0}), &two);
  table.in_memory().remove(three);
  table.in_memory().remove(three);
  ASSERT_EQ(table.in_memory().size(), 1u);
  EXPECT_EQ(&table.in_memory()[0], &two);
  EXPECT_EQ(table.find(QueueId{1}), nullptr);
}

TEST(QueueTable, OnlyQueuesThatSomebodyReadsAreWoken) {
  QueueTable table;
  HostedQueue& queue = table.find_or_add(QueueId{1}, ShardId{0});
  table.wake(queue);
  EXPECT_TRUE(table.ready().empty());
  queue.make_readers().gets.push_back({});
  table.wake(queue);
  EXPECT_EQ(table.ready().size(), 1u);
  EXPECT_EQ(table.ready().take_all().size(), 1u);
  EXPECT_TRUE(table.ready().empty());
}

class ManyQueues : public QueueHostTest {};

TEST_F(ManyQueues, AreDeclaredUsedAndRecoveredAndTheRestIsDropped) {
  constexpr std::uint64_t kMany = 20'000;
  for (std::uint64_t queue = 1; queue <= kMany; ++queue) declare(queue);
  for (std::uint64_t queue = 1; queue <= kMany; queue += 1000) publish({"a"}, {queue});
  for (int i = 0; i < 5; ++i) tick();
  EXPECT_EQ(host->state().queues(), kMany);
  EXPECT_EQ(host->state().ready(), 20u);
  host->begin_shutdown([] {});
  settle_down();
  definitions.resize(kMany / 2);
  open();
  EXPECT_EQ(host->state().queues(), kMany / 2);
  EXPECT_EQ(host->state().ready(), 10u);
  open();
  EXPECT_EQ(host->state().ready(), 10u);
}

}  // namespace
}  // namespace segue::node
