#include "router/range_set.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <set>
#include <vector>

namespace segue::router {
namespace {

TEST(RangeSet, JoinsNeighbours) {
  RangeSet set;
  EXPECT_TRUE(set.insert(5));
  EXPECT_TRUE(set.insert(7));
  EXPECT_EQ(set.range_count(), 2u);
  EXPECT_TRUE(set.insert(6));
  EXPECT_EQ(set.range_count(), 1u);
  EXPECT_FALSE(set.insert(6));
  EXPECT_TRUE(set.insert(~0ull));
  EXPECT_TRUE(set.insert(0));
  EXPECT_FALSE(set.insert(~0ull));
  EXPECT_EQ(set.range_count(), 3u);
}

TEST(RangeSet, HoldsWhatASetHolds) {
  EXPECT_TRUE(rc::check([](const std::vector<std::uint8_t>& numbers) {
    RangeSet ranges;
    std::set<std::uint64_t> plain;
    for (const std::uint8_t number : numbers) {
      RC_ASSERT(ranges.insert(number) == plain.insert(number).second);
    }
    std::size_t runs = 0;
    for (std::uint64_t number = 0; number < 256; ++number) {
      RC_ASSERT(ranges.contains(number) == plain.contains(number));
      if (plain.contains(number) && !plain.contains(number + 1)) ++runs;
    }
    RC_ASSERT(ranges.range_count() == runs);
  }));
}

}  // namespace
}  // namespace segue::router
