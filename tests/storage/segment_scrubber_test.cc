// Complete segments are verified in the background, slowly, before anybody reads them.
#include "storage/segment_scrubber.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/storage/segment_fixture.h"

namespace segue::storage {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TimePoint at(Duration since_start) {
  return TimePoint(seconds(1000)) + since_start;
}

// ---- the policy

TEST(ScrubPolicy, ReadsNoFasterThanItsRate) {
  ScrubPolicy policy({.bytes_per_second = 1 << 20});
  std::uint64_t read = 0;
  for (int ms = 0; ms <= 10'000; ms += 5) {
    if (!policy.may_read(at(milliseconds(ms)))) continue;
    policy.read(300'000);  // some more than a slice
    read += 300'000;
  }
  EXPECT_LE(read, 10u << 20);
  EXPECT_GE(read, 9u << 20);
}

TEST(ScrubPolicy, SavesNothingUpWhileItIsIdle) {
  ScrubPolicy policy({.bytes_per_second = 1 << 20});
  EXPECT_FALSE(policy.may_read(at(seconds(0))));
  EXPECT_TRUE(policy.may_read(at(seconds(3600))));
  policy.read(ScrubPolicy::kSliceBytes);
  EXPECT_FALSE(policy.may_read(at(seconds(3600) + milliseconds(100))));
}

TEST(ScrubPolicy, AHugeMessageIsPaidForBeforeTheNext) {
  ScrubPolicy policy({.bytes_per_second = 1 << 20});
  EXPECT_FALSE(policy.may_read(at(seconds(0))));
  EXPECT_TRUE(policy.may_read(at(seconds(1))));
  policy.read(16 << 20);
  EXPECT_FALSE(policy.may_read(at(seconds(10))));
  EXPECT_TRUE(policy.may_read(at(seconds(18))));
}

TEST(ScrubPolicy, ALowRateIsNotAStop) {
  ScrubPolicy policy({.bytes_per_second = 100});
  EXPECT_FALSE(policy.may_read(at(seconds(0))));
  EXPECT_TRUE(policy.may_read(at(seconds(2))));
}

TEST(ScrubPolicy, APassBeginsNoSoonerThanItsTimeAfterTheOneBefore) {
  ScrubPolicy policy({.bytes_per_second = 1 << 20, .between_passes = seconds(100)});
  EXPECT_FALSE(policy.may_read(at(seconds(0))));
  EXPECT_TRUE(policy.may_read(at(seconds(10))));
  policy.read(1000);
  policy.pass_ended(at(seconds(10)));
  EXPECT_FALSE(policy.may_read(at(seconds(99))));
  EXPECT_TRUE(policy.may_read(at(seconds(101))));
  // A pass that takes longer is followed by the next at once.
  policy.read(1000);
  policy.pass_ended(at(seconds(500)));
  EXPECT_TRUE(policy.may_read(at(seconds(501))));
  const ScrubStats stats = policy.stats(at(seconds(503)));
  EXPECT_EQ(stats.passes, 2u);
  EXPECT_EQ(stats.since_last_pass, seconds(3));
}

TEST(ScrubPolicy, APassThatFoundNothingToVerifyIsNoneAndIsSoonTriedAgain) {
  ScrubPolicy policy({.bytes_per_second = 1 << 20, .between_passes = seconds(3600)});
  EXPECT_FALSE(policy.may_read(at(seconds(0))));
  EXPECT_TRUE(policy.may_read(at(seconds(1))));
  policy.pass_ended(at(seconds(1)));
  EXPECT_EQ(policy.stats(at(seconds(2))).passes, 0u);
  EXPECT_FALSE(policy.may_read(at(seconds(9))));
  EXPECT_TRUE(policy.may_read(at(seconds(10))));
  policy.read(1000);
  policy.pass_ended(at(seconds(11)));
  EXPECT_EQ(policy.stats(at(seconds(12))).passes, 1u);
  EXPECT_FALSE(policy.may_read(at(seconds(3000))));
  EXPECT_TRUE(policy.may_read(at(seconds(3610))));
}

TEST(ScrubPolicy, IsOffWithoutARate) {
  ScrubPolicy policy({});
  EXPECT_FALSE(policy.may_read(at(seconds(0))));
  EXPECT_FALSE(policy.may_read(at(seconds(100))));
}

// ---- the scrubber

const QueueId kQueue{7};

class SegmentScrubberTest : public ::testing::Test {
 protected:
  SegmentScrubberTest() {
    EXPECT_TRUE(life_.put(kQueue, {run_of(1, 200)}).is_ok());
    EXPECT_TRUE(life_.put(QueueId{8}, {run_of(1, 100)}).is_ok());
    EXPECT_TRUE(life_.checkpoint().is_ok());
  }
  void flip(QueueId queue, std::uint64_t sequence) {
    const std::string part = "-" + std::to_string(queue.value) + "/";
    for (const std::string& path : files_.paths()) {
      if (path.find(part) == std::string::npos || !path.ends_with(".data")) continue;
      const std::size_t place = files_.content(path).find(body_of(sequence));
      if (place != std::string::npos) return files_.flip_bit(path, place * 8 + 3);
    }
    FAIL() << "no message " << sequence;
  }
  /// Polls through one more pass.
  void pass() {
    const std::uint64_t passes = scrubber_.stats(now_).passes;
    for (int i = 0; i < 1000 && scrubber_.stats(now_).passes == passes; ++i) {
      now_ += seconds(1);
      scrubber_.poll(now_);
      life_.executor().poll();
    }
    EXPECT_EQ(scrubber_.stats(now_).passes, passes + 1);
  }

  FaultyFileSystem files_;
  SegmentLife life_{files_, 4096};
  TimePoint now_ = at(seconds(0));
  SegmentScrubber scrubber_{life_.context(),
                            life_.executor(),
                            life_.store(),
                            {.bytes_per_second = 1 << 20, .between_passes = seconds(10)}};
};

TEST_F(SegmentScrubberTest, ReadsAllCompleteSegmentsOfAllQueues) {
  std::uint64_t sealed = 0;
  for (const QueueId queue : {kQueue, QueueId{8}}) {
    for (const auto& segment : life_.store().table(queue)->segments()) {
      if (segment->state != SegmentState::kSealed) continue;
      sealed += segment->written_end + SegmentFooter::kSize;
    }
  }
  ASSERT_GT(sealed, 10'000u);
  pass();
  EXPECT_EQ(scrubber_.stats(now_).bytes, sealed);
  EXPECT_EQ(scrubber_.stats(now_).found, 0u);
  EXPECT_FALSE(files_.exists("/data/quarantine"));
}

TEST_F(SegmentScrubberTest, SetsDamageAsideOnceAndLeavesTheMessageInItsQueue) {
  flip(kQueue, 20);
  flip(QueueId{8}, 30);
  pass();
  EXPECT_EQ(scrubber_.stats(now_).found, 2u);
  EXPECT_TRUE(life_.log().contains("event=message_corrupt queue=a/b queue_id=7 sequence=20 "));
  EXPECT_TRUE(life_.log().contains("queue_id=8 sequence=30 "));
  EXPECT_EQ(life_.store().worker().quarantine.count(), 2u);
  pass();
  EXPECT_EQ(scrubber_.stats(now_).found, 2u);
  EXPECT_EQ(life_.store().worker().quarantine.count(), 2u);
  EXPECT_EQ(life_.store().stored(kQueue).messages, 200u);
  const auto loaded = life_.get(kQueue, 20, 20);
  EXPECT_EQ(loaded->corrupt, std::vector<Sequence>{Sequence{20}});
  EXPECT_TRUE(loaded->not_set_aside.empty());
}

TEST_F(SegmentScrubberTest, TellsOfDamageInAFilesFrame) {
  const std::string data = "/data/shards/3/queues/a%2Fb-7/00000000000000000001.data";
  files_.flip_bit(data, 8 * 20);
  pass();
  EXPECT_TRUE(life_.log().contains("event=segment_damaged queue=a/b queue_id=7 path=" + data +
                                   " offset=0 part=header"));
  EXPECT_FALSE(life_.log().contains("part=footer"));
  EXPECT_EQ(scrubber_.stats(now_).found, 0u);
  files_.flip_bit(data, 8 * (files_.content(data).size() - SegmentFooter::kSize + 12));
  pass();
  EXPECT_TRUE(life_.log().contains("part=footer"));
  EXPECT_EQ(life_.get(kQueue, 1, 200)->corrupt.size(), 0u);
}

TEST_F(SegmentScrubberTest, SettledMessagesMayBeDamaged) {
  flip(kQueue, 20);
  life_.settle(kQueue, 20, 20);
  pass();
  EXPECT_EQ(scrubber_.stats(now_).found, 0u);
}

TEST_F(SegmentScrubberTest, GoesOnWhenASegmentIsRemovedUnderIt) {
  for (int i = 0; i < 3; ++i) scrubber_.poll(now_ += milliseconds(300));
  life_.settle(kQueue, 1, 150);
  life_.store().drop_queue(QueueId{8});
  pass();
  EXPECT_FALSE(life_.log().contains("segment_not_verified"));
}

TEST_F(SegmentScrubberTest, ADamagedIndexIsMadeAnewWithTheFlagsOfTheTable) {
  life_.settle(kQueue, 20, 20);
  ASSERT_TRUE(life_.checkpoint().is_ok());
  const std::string index = "/data/shards/3/queues/a%2Fb-7/00000000000000000001.index";
  const std::string whole = files_.content(index);
  for (std::uint64_t bit = 0; bit < 8 * IndexEntry::kSize; ++bit) {
    files_.flip_bit(index, 8 * IndexEntry::place(19) + bit);
  }
  pass();
  EXPECT_NE(files_.content(index), whole);  // nothing in the files tells that 20 is settled
  ASSERT_TRUE(life_.checkpoint().is_ok());
  EXPECT_EQ(files_.content(index), whole);
}

}  // namespace
}  // namespace segue::storage
