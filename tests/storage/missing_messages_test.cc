#include "storage/missing_messages.h"

#include <gtest/gtest.h>

namespace segue::storage {
namespace {

using Loss = MissingMessages::Loss;
const QueueId kQueue{4};

MissingSegment segment(std::uint64_t first, std::uint64_t last, std::uint32_t valid) {
  return {kQueue, "/q/" + std::to_string(first), Sequence{first}, Sequence{last}, valid};
}

TEST(MissingMessages, WhatIsNotInTheLogIsLost) {
  MissingMessages missing;
  missing.add(segment(1, 100, 60));
  missing.add(segment(101, 200, 50));
  missing.add(segment(201, 300, 1));
  missing.found_in_log(kQueue, Sequence{1}, Sequence{70});
  missing.found_in_log(kQueue, Sequence{191}, Sequence{250});
  EXPECT_EQ(missing.losses(), (std::vector<Loss>{{kQueue, 40, 1, "/q/101"}}));
}

TEST(MissingMessages, CountsWhatTheLogHasTwiceOnce) {
  MissingMessages missing;
  missing.add(segment(1, 100, 50));
  for (const std::uint64_t first : {1, 11, 5}) {
    missing.found_in_log(kQueue, Sequence{first}, Sequence{first + 19});
  }
  EXPECT_EQ(missing.losses(), (std::vector<Loss>{{kQueue, 20, 1, "/q/1"}}));
}

TEST(MissingMessages, ManySingleSettlesAreJoined) {
  MissingMessages missing;
  missing.add(segment(1, 100'000, 100'000));
  for (std::uint64_t i = 0; i < 100'000; ++i) {
    const Sequence settled{1 + i * 7919 % 100'000};
    if (settled.value != 500) missing.found_in_log(kQueue, settled, settled);
  }
  EXPECT_EQ(missing.losses(), (std::vector<Loss>{{kQueue, 1, 1, "/q/1"}}));
}

TEST(MissingMessages, ASegmentOfSettledMessagesAndADeletedQueueLoseNothing) {
  MissingMessages missing;
  missing.add(segment(1, 100, 0));
  EXPECT_TRUE(missing.empty());
  missing.add(segment(101, 200, 5));
  missing.forget(kQueue);
  EXPECT_TRUE(missing.losses().empty());
}

TEST(MissingMessages, TheHighestSequenceIsARangesEndLikeAnyOther) {
  MissingMessages missing;
  missing.add(segment(1, 10, 10));
  missing.found_in_log(kQueue, Sequence{5}, Sequence{~0ull});
  missing.found_in_log(kQueue, Sequence{6}, Sequence{7});
  EXPECT_EQ(missing.losses(), (std::vector<Loss>{{kQueue, 4, 1, "/q/1"}}));
}

}  // namespace
}  // namespace segue::storage
