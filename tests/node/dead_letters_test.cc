#include "node/dead_letters.h"

#include <gtest/gtest.h>

#include <map>

#include "common/random.h"

namespace segue::node {
namespace {

DeadLetters::Range range_of(std::uint64_t first, std::uint64_t last, std::uint64_t number) {
  return {{first, last}, number, v1::DEAD_REASON_REJECTED, 7};
}

TEST(DeadLetters, ComeInTheOrderOfTheirNumbers) {
  DeadLetters dead;
  EXPECT_FALSE(dead.from_number(0));
  dead.add(range_of(10, 12, 1));
  dead.add(range_of(3, 3, 4));
  ASSERT_TRUE(dead.from_number(0));
  EXPECT_EQ(dead.from_number(0)->sequences, (NumberRange{10, 12}));
  EXPECT_EQ(dead.from_number(2)->sequences, (NumberRange{11, 12}));
  EXPECT_EQ(dead.from_number(2)->first_number, 2u);
  EXPECT_EQ(dead.from_number(4)->sequences, (NumberRange{3, 3}));
  EXPECT_EQ(dead.from_number(4)->time_ms, 7);
  EXPECT_FALSE(dead.from_number(5));
  EXPECT_EQ(dead.count(), 4u);
}

TEST(DeadLetters, OneThatIsDeadAlreadyKeepsItsNumber) {
  DeadLetters dead;
  dead.add(range_of(5, 6, 1));
  dead.add(range_of(4, 8, 3));
  EXPECT_EQ(dead.count(), 5u);
  EXPECT_EQ(dead.from_number(1)->sequences, (NumberRange{5, 6}));
  EXPECT_EQ(dead.from_number(3)->sequences, (NumberRange{4, 4}));
  EXPECT_EQ(dead.from_number(4)->sequences, (NumberRange{7, 8}));
  EXPECT_EQ(dead.from_number(4)->first_number, 6u);
}

TEST(DeadLetters, DoAsAPlainMapDoes) {
  SeededRandom random(3);
  for (int round = 0; round < 50; ++round) {
    DeadLetters dead;
    std::map<std::uint64_t, std::uint64_t> model;  // sequence by number
    std::uint64_t next = 1;
    for (int step = 0; step < 200; ++step) {
      const std::uint64_t first = 1 + random.below(100);
      const NumberRange range{first, first + random.below(10)};
      if (random.below(2) == 0) {
        dead.add({range, next, v1::DEAD_REASON_MAXLEN, 0});
        for (std::uint64_t at = range.first; at <= range.last; ++at, ++next) {
          bool known = false;
          for (const auto& [number, sequence] : model) known = known || sequence == at;
          if (!known) model[next] = at;
        }
      } else {
        dead.remove(range);
        std::erase_if(model, [&](const auto& entry) {
          return entry.second >= range.first && entry.second <= range.last;
        });
      }
      std::map<std::uint64_t, std::uint64_t> seen;
      for (auto at = dead.from_number(0); at; at = dead.from_number(at->last_number() + 1)) {
        for (std::uint64_t i = 0; i < at->sequences.count(); ++i) {
          seen[at->first_number + i] = at->sequences.first + i;
        }
      }
      ASSERT_EQ(seen, model);
      ASSERT_EQ(dead.count(), model.size());
      for (const auto& [number, sequence] : model) ASSERT_TRUE(dead.contains(sequence));
      ASSERT_FALSE(dead.contains(200));
    }
  }
}

}  // namespace
}  // namespace segue::node
