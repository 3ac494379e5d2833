#include "node/lease_book.h"

#include <gtest/gtest.h>

#include <map>

#include "common/random.h"
#include "node/consumer.h"

namespace segue::node {
namespace {

TimePoint at(int milliseconds) {
  return TimePoint(std::chrono::milliseconds(milliseconds));
}

class LeaseBookTest : public ::testing::Test {
 protected:
  /// Numbers of the consumer that are due.
  std::vector<std::uint64_t> take(int now, Consumer& of) {
    std::vector<std::uint64_t> numbers;
    for (const LeaseBook::Due& due : book.take_due(at(now))) {
      EXPECT_EQ(due.consumer, &of);
      for (const NumberRange& range : due.numbers) {
        for (std::uint64_t n = range.first; n <= range.last; ++n) numbers.push_back(n);
      }
    }
    return numbers;
  }

  LeaseBook book;
  Consumer one{PeerId{1}, 1};
};

using Numbers = std::vector<std::uint64_t>;

TEST_F(LeaseBookTest, GivesEachWhenItIsDueAndOnce) {
  book.set(one, {1, 2}, at(10));
  book.set(one, {3, 3}, at(20));
  EXPECT_EQ(take(9, one), Numbers{});
  EXPECT_EQ(take(10, one), (Numbers{1, 2}));
  EXPECT_EQ(take(19, one), Numbers{});
  EXPECT_EQ(take(50, one), (Numbers{3}));
  EXPECT_TRUE(book.empty());
}

TEST_F(LeaseBookTest, ExtendingOneLeavesItsNeighbours) {
  book.set(one, {1, 5}, at(10));
  book.set(one, {3, 3}, at(30));
  EXPECT_EQ(take(10, one), (Numbers{1, 2, 4, 5}));
  EXPECT_EQ(take(29, one), Numbers{});
  EXPECT_EQ(take(30, one), (Numbers{3}));
}

TEST_F(LeaseBookTest, ForgetsWhatWasSettledAndConsumersThatEnd) {
  book.set(one, {1, 5}, at(10));
  book.set(one, {6, 9}, at(20));
  book.settled_below(one, 6);
  EXPECT_EQ(take(15, one), Numbers{});
  book.settled_below(one, 10);
  EXPECT_TRUE(book.empty());
  {
    Consumer two(PeerId{1}, 2);
    two.lease(book, {1, 1}, at(1));
    EXPECT_FALSE(book.empty());
  }
  EXPECT_TRUE(book.empty());
}

TEST_F(LeaseBookTest, AgreesWithAPlainModel) {
  SeededRandom random(7);
  std::map<std::uint64_t, int> model;
  std::uint64_t next = 1;
  int now = 0;
  for (int i = 0; i < 20'000; ++i) {
    now += static_cast<int>(random.below(3));
    const int until = now + 1 + static_cast<int>(random.below(40));
    if (random.below(2) == 0) {
      const std::uint64_t last = next + random.below(6);
      book.set(one, {next, last}, at(until));
      for (; next <= last; ++next) model[next] = until;
    } else if (!model.empty()) {
      const std::uint64_t low = model.begin()->first + random.below(10);
      const std::uint64_t high = std::min(next - 1, low + random.below(5));
      if (low <= high) {
        book.set(one, {low, high}, at(until));
        for (std::uint64_t n = low; n <= high; ++n) model[n] = until;
      }
    }
    if (random.below(50) == 0 && !model.empty()) {
      const std::uint64_t below = model.begin()->first + random.below(4);
      book.settled_below(one, below);
      // Only whole leases go: what is left of one that was cut is the consumer's to know.
      for (std::uint64_t n = model.begin()->first; n < below; ++n) model[n] = -1;
    }
    Numbers due;
    for (const std::uint64_t n : take(now, one)) {
      const auto known = model.find(n);  // else it was settled
      if (known != model.end() && known->second != -1) due.push_back(n);
    }
    Numbers expected;
    for (auto entry = model.begin(); entry != model.end();) {
      if (entry->second != -1 && entry->second <= now) expected.push_back(entry->first);
      entry = entry->second <= now && entry->second != -1 ? model.erase(entry) : std::next(entry);
    }
    ASSERT_EQ(due, expected) << "step " << i;
    while (!model.empty() && model.begin()->second == -1) model.erase(model.begin());
  }
}

}  // namespace
}  // namespace segue::node
