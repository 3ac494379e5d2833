#include "node/range_set.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <set>

namespace segue::node {
namespace {

using Ranges = std::vector<NumberRange>;

Ranges ranges_of(const RangeSet& set) {
  Ranges ranges;
  for (const auto& [first, last] : set.ranges()) ranges.push_back({first, last});
  return ranges;
}

TEST(RangeSet, JoinsRangesThatTouchOrOverlap) {
  RangeSet set;
  set.add({1, 3});
  set.add({4, 5});
  set.add({10, 12});
  set.add({5, 11});
  EXPECT_EQ(ranges_of(set), (Ranges{{1, 12}}));
  EXPECT_EQ(set.count(), 12u);
}

TEST(RangeSet, RemovingFromTheMiddleLeavesBothSides) {
  RangeSet set;
  set.add({1, 10});
  EXPECT_EQ(set.remove({4, 6}), 3u);
  EXPECT_EQ(ranges_of(set), (Ranges{{1, 3}, {7, 10}}));
  EXPECT_EQ(set.remove({0, 100}), 7u);
  EXPECT_TRUE(set.empty());
}

TEST(RangeSet, FindsTheRangeAtOrAboveANumber) {
  RangeSet set;
  set.add({5, 7});
  NumberRange found;
  ASSERT_TRUE(set.find_from(1, &found));
  EXPECT_EQ(found, (NumberRange{5, 7}));
  ASSERT_TRUE(set.find_from(6, &found));
  EXPECT_EQ(found, (NumberRange{5, 7}));
  EXPECT_FALSE(set.find_from(8, &found));
}

RC_GTEST_PROP(RangeSet, IsASetOfNumbers, ()) {
  RangeSet set;
  std::set<std::uint64_t> model;
  const auto steps = *rc::gen::container<std::vector<std::tuple<int, std::uint8_t, std::uint8_t>>>(
      rc::gen::tuple(rc::gen::inRange(0, 3), rc::gen::arbitrary<std::uint8_t>(),
                     rc::gen::inRange<std::uint8_t>(0, 20)));
  for (const auto& [what, first, length] : steps) {
    const NumberRange range{first, static_cast<std::uint64_t>(first) + length};
    if (what == 0) {
      set.add(range);
      for (auto n = range.first; n <= range.last; ++n) model.insert(n);
    } else if (what == 1) {
      std::uint64_t removed = 0;
      for (auto n = range.first; n <= range.last; ++n) removed += model.erase(n);
      RC_ASSERT(set.remove(range) == removed);
    } else {
      set.remove_below(first);
      std::erase_if(model, [&, bound = first](std::uint64_t n) { return n < bound; });
    }
    RC_ASSERT(set.count() == model.size());
    std::uint64_t before = 0;
    bool any = false;
    std::set<std::uint64_t> has;
    for (const auto& [low, high] : set.ranges()) {
      RC_ASSERT(low <= high);
      RC_ASSERT(!any || low > before + 1);
      any = true;
      before = high;
      for (auto n = low; n <= high; ++n) has.insert(n);
    }
    RC_ASSERT(has == model);
  }
}

}  // namespace
}  // namespace segue::node
