#include "client/settle_collector.h"

#include <gtest/gtest.h>

namespace segue::client {
namespace {

constexpr auto kAck = v1::OUTCOME_ACK;
constexpr auto kRequeue = v1::OUTCOME_REQUEUE;

using Ranges = std::vector<SettledRange>;

TEST(SettleCollector, JoinsNeighboursOfOneOutcome) {
  SettleCollector collector;
  for (std::uint64_t tag = 1; tag <= 5; ++tag) collector.add({tag, tag, kAck});
  collector.add({6, 9, kRequeue});
  collector.add({10, 10, kAck});
  EXPECT_EQ(collector.tags(), 10u);
  EXPECT_EQ(collector.take(), (Ranges{{1, 5, kAck}, {6, 9, kRequeue}, {10, 10, kAck}}));
  EXPECT_TRUE(collector.empty());
  EXPECT_EQ(collector.tags(), 0u);
  EXPECT_EQ(collector.take(), Ranges{});
}

TEST(SettleCollector, JoinsWhatCameOutOfOrder) {
  SettleCollector collector;
  for (const std::uint64_t tag : {7u, 3u, 5u, 4u, 6u, 1u}) collector.add({tag, tag, kAck});
  EXPECT_EQ(collector.take(), (Ranges{{1, 1, kAck}, {3, 7, kAck}}));
}

TEST(SettleCollector, SendsWhatIsExtendedBeforeWhatIsSettled) {
  SettleCollector collector;
  collector.add({3, 3, v1::OUTCOME_EXTEND});
  collector.add({1, 4, kAck});
  collector.add({5, 5, v1::OUTCOME_EXTEND});
  EXPECT_EQ(collector.take(),
            (Ranges{{3, 3, v1::OUTCOME_EXTEND}, {5, 5, v1::OUTCOME_EXTEND}, {1, 4, kAck}}));
}

TEST(SettleCollector, LeavesATagThatWasSettledTwiceForTheBrokerToRefuse) {
  SettleCollector collector;
  collector.add({1, 3, kAck});
  collector.add({2, 2, kAck});
  EXPECT_EQ(collector.take(), (Ranges{{1, 3, kAck}, {2, 2, kAck}}));
}

}  // namespace
}  // namespace segue::client
