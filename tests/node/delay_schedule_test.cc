#include "node/delay_schedule.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <set>

namespace segue::node {
namespace {

using Due = DelaySchedule::Due;

Due due(std::int64_t ms, std::uint64_t sequence) {
  return {ms, Sequence{sequence}};
}

TEST(DelaySchedule, GivesTheFirstOfThoseThatCame) {
  DelaySchedule schedule;
  EXPECT_EQ(schedule.first(), nullptr);
  schedule.add(due(30, 1));
  schedule.add(due(10, 2));
  schedule.add(due(10, 3));
  ASSERT_NE(schedule.first(), nullptr);
  EXPECT_EQ(*schedule.first(), due(10, 2));
  EXPECT_EQ(*schedule.after(due(10, 2)), due(10, 3));
  EXPECT_EQ(schedule.after(due(30, 1)), nullptr);
  schedule.remove(due(10, 2));
  EXPECT_EQ(*schedule.first(), due(10, 3));
  EXPECT_FALSE(schedule.wants_scan());
}

TEST(DelaySchedule, FindsByScansWhatItForgot) {
  DelaySchedule schedule(8);
  for (std::uint64_t i = 1; i <= 20; ++i) {
    schedule.add(due(static_cast<std::int64_t>(100 - i), i));
  }
  EXPECT_LE(schedule.size(), 8u);
  EXPECT_EQ(*schedule.first(), due(80, 20));
  schedule.forget();
  EXPECT_EQ(schedule.first(), nullptr);
  EXPECT_TRUE(schedule.wants_scan());
  schedule.begin_scan();
  EXPECT_FALSE(schedule.wants_scan());
  for (std::uint64_t i = 1; i <= 20; ++i) {
    schedule.offer(due(static_cast<std::int64_t>(100 - i), i));
  }
  schedule.end_scan();
  EXPECT_EQ(*schedule.first(), due(80, 20));
  EXPECT_LT(schedule.horizon(), DelaySchedule::kEnd);
}

/// Against a plain set of all that waits: whatever comes, goes, is forgotten and scanned, in pieces
/// between which others come, the first one told is the first of all, or a scan is wanted.
RC_GTEST_PROP(DelaySchedule, IsTheOrderOfAPlainSet, ()) {
  DelaySchedule schedule(static_cast<std::size_t>(*rc::gen::inRange(1, 12)));
  std::set<Due> all;
  std::vector<Due> fired;
  std::vector<Due> to_offer;  // of the scan that is under way
  std::uint64_t next_sequence = 1;
  const int steps = *rc::gen::inRange(0, 200);
  for (int step = 0; step < steps; ++step) {
    switch (*rc::gen::inRange(0, 8)) {
      case 0:
      case 1:
      case 2: {
        const Due one = due(*rc::gen::inRange(0, 30), next_sequence++);
        all.insert(one);
        schedule.add(one);
        break;
      }
      case 3:
        if (all.empty()) break;
        all.erase(std::next(all.begin(), *rc::gen::inRange<std::ptrdiff_t>(
                                             0, static_cast<std::ptrdiff_t>(all.size()))));
        break;  // cancelled: the schedule is not told
      case 4:
        if (!schedule.scanning() && *rc::gen::inRange(0, 4) == 0) schedule.forget();
        break;
      case 5:
        if (!schedule.wants_scan()) break;
        schedule.begin_scan();
        to_offer.assign(all.begin(), all.end());
        break;
      case 6:
        if (!schedule.scanning()) break;
        if (to_offer.empty()) {
          schedule.end_scan();
        } else {
          if (to_offer.back() < schedule.below()) schedule.offer(to_offer.back());
          to_offer.pop_back();
        }
        break;
      default: {
        while (schedule.first() != nullptr && !all.contains(*schedule.first())) {
          schedule.remove(*schedule.first());
        }
        const Due* const first = schedule.first();
        if (first == nullptr) {
          RC_ASSERT(all.empty() || schedule.wants_scan() || schedule.scanning());
          break;
        }
        RC_ASSERT(*first == *all.begin());
        all.erase(all.begin());
        schedule.remove(*first);
      }
    }
  }
}

}  // namespace
}  // namespace segue::node
