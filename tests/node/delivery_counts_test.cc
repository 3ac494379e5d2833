#include "node/delivery_counts.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>

namespace segue::node {
namespace {

TEST(DeliveryCounts, KeepsEqualNeighboursInOneSpan) {
  DeliveryCounts counts;
  for (std::uint64_t i = 1; i <= 1000; ++i) counts.increment({i, i});
  EXPECT_EQ(counts.spans().size(), 1u);
  counts.increment({500, 500});
  EXPECT_EQ(counts.spans().size(), 3u);
  EXPECT_EQ(counts.of(499), 1u);
  EXPECT_EQ(counts.of(500), 2u);
  EXPECT_EQ(counts.of(1001), 0u);
}

TEST(DeliveryCounts, ForgetsWhatIsErased) {
  DeliveryCounts counts;
  counts.increment({1, 10});
  counts.erase({3, 5});
  EXPECT_EQ(counts.of(2), 1u);
  EXPECT_EQ(counts.of(4), 0u);
  EXPECT_EQ(counts.of(6), 1u);
  EXPECT_FALSE(counts.any_in({3, 5}));
  EXPECT_TRUE(counts.any_in({5, 6}));
}

RC_GTEST_PROP(DeliveryCounts, CountEachMessage, ()) {
  DeliveryCounts counts;
  std::map<std::uint64_t, std::uint32_t> model;
  const auto steps = *rc::gen::container<std::vector<std::tuple<bool, std::uint8_t, std::uint8_t>>>(
      rc::gen::tuple(rc::gen::arbitrary<bool>(), rc::gen::inRange<std::uint8_t>(1, 60),
                     rc::gen::inRange<std::uint8_t>(0, 20)));
  for (const auto& [up, first, length] : steps) {
    const NumberRange range{first, static_cast<std::uint64_t>(first) + length};
    if (up) {
      counts.increment(range);
      for (auto n = range.first; n <= range.last; ++n) ++model[n];
    } else {
      counts.erase(range);
      for (auto n = range.first; n <= range.last; ++n) model.erase(n);
    }
    for (std::uint64_t n = 0; n < 90; ++n) {
      const auto at = model.find(n);
      RC_ASSERT(counts.of(n) == (at == model.end() ? 0u : at->second));
      RC_ASSERT(counts.any_in({n, n}) == (at != model.end()));
    }
    for (auto at = counts.spans().begin(); at != counts.spans().end(); ++at) {
      const auto next = std::next(at);
      if (next == counts.spans().end()) break;
      RC_ASSERT(at->second.last < next->first);
    }
  }
}

}  // namespace
}  // namespace segue::node
