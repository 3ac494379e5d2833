#include "cli/latency_histogram.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <vector>

namespace segue::cli {
namespace {

TEST(LatencyHistogram, IsEmptyAtFirst) {
  const LatencyHistogram histogram;
  EXPECT_EQ(histogram.count(), 0u);
  EXPECT_EQ(histogram.quantile(0.99), 0u);
  EXPECT_EQ(histogram.min(), 0u);
  EXPECT_EQ(histogram.max(), 0u);
  EXPECT_EQ(histogram.mean(), 0);
}

TEST(LatencyHistogram, IsExactForSmallValues) {
  LatencyHistogram histogram;
  for (std::uint64_t value = 1; value <= 100; ++value) histogram.record(value);
  EXPECT_EQ(histogram.quantile(0.5), 50u);
  EXPECT_EQ(histogram.quantile(0.99), 99u);
  EXPECT_EQ(histogram.quantile(1), 100u);
  EXPECT_EQ(histogram.quantile(0), 1u);
  EXPECT_DOUBLE_EQ(histogram.mean(), 50.5);
}

TEST(LatencyHistogram, CoversEveryValueOfSixtyFourBits) {
  LatencyHistogram histogram;
  histogram.record(UINT64_MAX);
  EXPECT_EQ(histogram.max(), UINT64_MAX);
  EXPECT_EQ(histogram.quantile(0.5), UINT64_MAX);
  EXPECT_EQ(LatencyHistogram::bucket_of(UINT64_MAX), LatencyHistogram::bucket_count() - 1);
  EXPECT_EQ(LatencyHistogram::bucket_top(LatencyHistogram::bucket_count() - 1), UINT64_MAX);
}

TEST(LatencyHistogram, BucketsAreSideBySide) {
  for (std::size_t bucket = 0; bucket + 1 < LatencyHistogram::bucket_count(); ++bucket) {
    const std::uint64_t top = LatencyHistogram::bucket_top(bucket);
    ASSERT_EQ(LatencyHistogram::bucket_of(top), bucket);
    ASSERT_EQ(LatencyHistogram::bucket_of(top + 1), bucket + 1);
  }
}

TEST(LatencyHistogram, CountsAValueManyTimesAtOnce) {
  LatencyHistogram histogram;
  histogram.record(10, 99);
  histogram.record(1000, 1);
  histogram.record(5000, 0);
  EXPECT_EQ(histogram.count(), 100u);
  EXPECT_EQ(histogram.quantile(0.99), 10u);
  EXPECT_EQ(histogram.max(), 1000u);
}

TEST(LatencyHistogram, MergesAsIfAllWereRecordedInOne) {
  LatencyHistogram one;
  LatencyHistogram other;
  LatencyHistogram both;
  for (std::uint64_t value = 1; value < 100'000; value = value * 5 / 3 + 1) {
    (value % 2 == 0 ? one : other).record(value);
    both.record(value);
  }
  one.merge(other);
  EXPECT_EQ(one.count(), both.count());
  EXPECT_EQ(one.min(), both.min());
  EXPECT_EQ(one.max(), both.max());
  for (const double quantile : {0.1, 0.5, 0.9, 0.999}) {
    EXPECT_EQ(one.quantile(quantile), both.quantile(quantile));
  }
}

RC_GTEST_PROP(LatencyHistogram, QuantilesAreWithinOnePercentOfTheSortedValues, ()) {
  const auto values = *rc::gen::nonEmpty(rc::gen::container<std::vector<std::uint64_t>>(
      rc::gen::oneOf(rc::gen::inRange<std::uint64_t>(0, 1000),
                     rc::gen::inRange<std::uint64_t>(0, 1ull << 50))));
  LatencyHistogram histogram;
  for (const std::uint64_t value : values) histogram.record(value);
  std::vector<std::uint64_t> sorted = values;
  std::sort(sorted.begin(), sorted.end());
  const auto tenths = *rc::gen::inRange<std::size_t>(1, 11);
  const std::size_t rank = (sorted.size() * tenths + 9) / 10;
  const std::uint64_t exact = sorted[rank - 1];
  const std::uint64_t told = histogram.quantile(static_cast<double>(tenths) / 10);
  RC_ASSERT(told >= exact);
  RC_ASSERT(told - exact <= exact / 100);
}

}  // namespace
}  // namespace segue::cli
