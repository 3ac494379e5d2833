#include "cli/demo/pace.h"

#include <gtest/gtest.h>

#include <thread>

namespace segue::cli::demo {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(DemoPace, AllowsByRateUpToTheLimit) {
  const TimePoint start{seconds(100)};
  Pace pace(2000, start);
  EXPECT_EQ(pace.allowed(start + seconds(5)), 0u);
  pace.set_limit(600);
  EXPECT_EQ(pace.allowed(start), 0u);
  EXPECT_EQ(pace.allowed(start + milliseconds(100)), 200u);
  EXPECT_EQ(pace.allowed(start + seconds(5)), 600u);
  pace.lift_rate();
  EXPECT_EQ(pace.allowed(start), 600u);
}

TEST(DemoPace, GivesOutNoMoreThanTheLimitToAllTogether) {
  Pace pace(1, SystemClock().now());
  pace.lift_rate();
  pace.set_limit(100);
  std::uint64_t taken = 0;
  while (taken < 100) {
    const std::uint64_t count = pace.take(7);
    ASSERT_GT(count, 0u);
    ASSERT_LE(count, 7u);
    taken += count;
  }
  EXPECT_EQ(taken, 100u);
  pace.stop();
  EXPECT_EQ(pace.take(1), 0u);
}

TEST(DemoPace, StopWakesWhoWaits) {
  Pace pace(1000, SystemClock().now());
  std::uint64_t got = 1;
  std::thread waiting([&] { got = pace.take(1); });
  pace.stop();
  waiting.join();
  EXPECT_EQ(got, 0u);
}

}  // namespace
}  // namespace segue::cli::demo
