#include "node/unacked.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>

namespace segue::node {
namespace {

constexpr QueueId kQueue{4};

TEST(Unacked, GivesBackSequencesByDeliveryNumber) {
  Unacked unacked;
  unacked.add(1, {kQueue, Sequence{101}, 10, 100}, false);
  std::vector<Unacked::Run> taken;
  EXPECT_EQ(unacked.take({3, 5}, taken), 3u);
  ASSERT_EQ(taken.size(), 1u);
  EXPECT_EQ(taken[0].sequences(), (NumberRange{103, 105}));
  EXPECT_EQ(taken[0].bytes, 30u);
  EXPECT_EQ(unacked.count(), 7u);
  EXPECT_EQ(unacked.bytes(), 70u);
  EXPECT_EQ(unacked.take({3, 5}, taken), 0u);
}

TEST(Unacked, TakesWhatThereIsOfARangeOfAnySize) {
  Unacked unacked;
  unacked.add(1, {kQueue, Sequence{1}, 2, 2}, false);
  unacked.add(3, {kQueue, Sequence{50}, 2, 2}, false);
  std::vector<Unacked::Run> taken;
  EXPECT_EQ(unacked.take({2, UINT64_MAX}, taken), 3u);
  EXPECT_EQ(taken.size(), 2u);
  EXPECT_EQ(unacked.count(), 1u);
}

TEST(Unacked, KeepsEachMessagesOwnBytesWhenAskedTo) {
  Unacked unacked;
  unacked.add(1, {kQueue, Sequence{1}, 1, 1000}, true);
  unacked.add(2, {kQueue, Sequence{2}, 1, 10}, true);
  unacked.add(3, {kQueue, Sequence{3}, 1, 10}, true);
  std::vector<Unacked::Run> taken;
  unacked.take({2, 2}, taken);
  EXPECT_EQ(unacked.bytes(), 1010u);
  unacked.take({1, 1}, taken);
  EXPECT_EQ(unacked.bytes(), 10u);
}

RC_GTEST_PROP(Unacked, SettlesEachNumberOnce, ()) {
  Unacked unacked;
  std::map<std::uint64_t, std::uint64_t> model;  // number -> sequence
  std::uint64_t number = 1;
  std::uint64_t sequence = 1;
  std::uint64_t bytes_in = 0;
  std::uint64_t bytes_out = 0;
  const auto steps = *rc::gen::container<std::vector<std::tuple<bool, std::uint8_t, std::uint8_t>>>(
      rc::gen::tuple(rc::gen::arbitrary<bool>(), rc::gen::arbitrary<std::uint8_t>(),
                     rc::gen::inRange<std::uint8_t>(1, 12)));
  for (const auto& [add, at, length] : steps) {
    if (add) {
      if (at % 2 == 0) sequence += 5;
      unacked.add(number, {kQueue, Sequence{sequence}, length, std::uint64_t{at} * length},
                  at % 3 == 0);
      bytes_in += std::uint64_t{at} * length;
      for (std::uint32_t i = 0; i < length; ++i) model[number + i] = sequence + i;
      number += length;
      sequence += length;
    } else {
      const std::uint64_t low = at % number;
      std::vector<Unacked::Run> taken;
      const std::uint64_t count = unacked.take({low, low + length}, taken);
      std::vector<std::uint64_t> expected;
      for (auto it = model.lower_bound(low); it != model.end() && it->first <= low + length;) {
        expected.push_back(it->second);
        it = model.erase(it);
      }
      std::vector<std::uint64_t> got;
      for (const auto& run : taken) {
        bytes_out += run.bytes;
        for (std::uint32_t i = 0; i < run.count; ++i) got.push_back(run.first.value + i);
      }
      RC_ASSERT(got == expected);
      RC_ASSERT(count == expected.size());
    }
    RC_ASSERT(unacked.count() == model.size());
    RC_ASSERT(unacked.bytes() == bytes_in - bytes_out);
    RC_ASSERT(!model.empty() || unacked.bytes() == 0u);
  }
}

}  // namespace
}  // namespace segue::node
