#include "node/dedupe_memory.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "node/dedupe_window.h"
#include "tests/fakes/capture_logger.h"

namespace segue::node {
namespace {

class DedupeMemoryTest : public ::testing::Test {
 protected:
  DedupeWindow& window(std::uint64_t queue, int ids) {
    HostedQueue& hosted = queues.find_or_add(QueueId{queue}, ShardId{0});
    hosted.dedupe = std::make_unique<DedupeWindow>(memory);
    queues.dedupes().add(hosted);
    hosted.dedupe->set_limits({1'000'000, 1'000'000}, 0);
    for (int i = 0; i < ids; ++i) hosted.dedupe->add(id(i), i);
    return *hosted.dedupe;
  }
  static DedupeId id(int number) { return DedupeId::of(std::to_string(number)); }
  void tick(std::int64_t wall_ms) { all.on_tick(TimePoint{} + std::chrono::seconds(1), wall_ms); }

  MemoryBudget memory{2 << 20};
  const int fits = static_cast<int>(memory.ids_limit() / DedupeWindow::kEntryBytes);
  QueueTable queues;
  CaptureLogger log;
  DedupeMemory all{queues, memory, log.logger()};
};

TEST_F(DedupeMemoryTest, WhatFitsStays) {
  DedupeWindow& one = window(1, fits / 2);
  DedupeWindow& two = window(2, fits / 2);
  tick(fits);
  EXPECT_EQ(one.entries() + two.entries(), static_cast<std::size_t>(fits / 2 * 2));
  EXPECT_TRUE(log.lines().empty());
}

TEST_F(DedupeMemoryTest, TheOldestOfTheLargestGo) {
  DedupeWindow& small = window(1, fits / 10);
  DedupeWindow& large = window(2, fits);
  DedupeWindow& larger = window(3, fits + fits / 2);
  tick(fits);
  EXPECT_EQ(small.entries(), static_cast<std::size_t>(fits / 10));
  EXPECT_LE(small.bytes() + large.bytes() + larger.bytes(), memory.ids_limit());
  EXPECT_GT(small.bytes() + large.bytes() + larger.bytes(), memory.ids_limit() * 9 / 10);
  EXPECT_NEAR(static_cast<double>(large.entries()), static_cast<double>(larger.entries()), 2);
  EXPECT_FALSE(large.knows(id(0), fits));
  EXPECT_TRUE(large.knows(id(fits - 1), fits));
  EXPECT_TRUE(log.contains("deduplication_windows_full"));
  const std::size_t told = log.lines().size();
  larger.add(id(-1), fits);
  larger.add(id(-2), fits);
  tick(fits);
  EXPECT_EQ(log.lines().size(), told) << "once a minute";
}

TEST_F(DedupeMemoryTest, WhatIsOverGoesFirst) {
  DedupeWindow& one = window(1, fits);
  window(2, 10);
  tick(1'000'000 + fits / 2);
  EXPECT_LE(one.entries(), static_cast<std::size_t>(fits / 2));
  EXPECT_TRUE(one.knows(id(fits - 1), 1'000'000 + fits / 2));
}

}  // namespace
}  // namespace segue::node
