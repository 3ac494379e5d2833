#include "storage/segment_body_pool.h"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

namespace segue::storage {
namespace {

TEST(SegmentBodyPool, UsesABufferAgainOnceItIsLetGo) {
  SegmentBodyPool pool;
  auto first = pool.take(800'000);
  char* const place = first.get();
  auto second = pool.take(800'000);
  EXPECT_NE(second.get(), place);
  first.reset();
  EXPECT_EQ(pool.take(790'000).get(), place);  // of the same capacity
}

TEST(SegmentBodyPool, KeepsNoMoreThanItShall) {
  SegmentBodyPool pool(1u << 20);
  std::vector<std::shared_ptr<char[]>> used;
  for (int i = 0; i < 10; ++i) used.push_back(pool.take(300'000));
  used.clear();
  EXPECT_LE(pool.kept_bytes(), 1u << 20);
  EXPECT_GT(pool.kept_bytes(), 600'000u);
}

TEST(SegmentBodyPool, MakesRoomForOtherSizes) {
  SegmentBodyPool pool(1u << 20);
  std::vector<std::shared_ptr<char[]>> used;
  for (int i = 0; i < 5; ++i) used.push_back(pool.take(200'000));
  used.clear();
  auto other = pool.take(1'000'000);
  char* const place = other.get();
  other.reset();
  EXPECT_EQ(pool.take(1'000'000).get(), place);
}

TEST(SegmentBodyPool, LeavesSmallAndHugeOnesToTheAllocator) {
  SegmentBodyPool pool;
  pool.take(100).reset();
  pool.take(100u << 20).reset();
  EXPECT_EQ(pool.kept_bytes(), 0u);
}

TEST(SegmentBodyPool, BuffersMayOutliveItAndEndOnAnotherThread) {
  auto pool = std::make_optional<SegmentBodyPool>();
  auto buffer = pool->take(100'000);
  std::memset(buffer.get(), 'x', 100'000);
  pool.reset();
  std::thread([last = std::move(buffer)]() mutable {
    EXPECT_EQ(last[99'999], 'x');
    last.reset();
  }).join();
}

}  // namespace
}  // namespace segue::storage
