#include "storage/segment_gc_policy.h"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "common/random.h"

namespace segue::storage {
namespace {

constexpr std::uint64_t kMiB = 1u << 20;

/// Segments of 1,000 messages, made one after the other.
class Segments {
 public:
  Segments& add(std::uint64_t bytes, std::uint64_t valid_bytes,
                SegmentState state = SegmentState::kSealed) {
    const auto valid =
        static_cast<std::uint32_t>(valid_bytes == 0 ? 0 : 1 + 999 * valid_bytes / bytes);
    list_.push_back({Sequence{next_}, Sequence{next_ + 999}, state, SegmentWork::kNone, bytes,
                     valid_bytes, 1000, valid, bytes - bytes / 50});
    next_ += 1000;
    return *this;
  }
  std::vector<SegmentFigures>& list() { return list_; }
  std::optional<GcStep> next(std::uint64_t credit = 0) {
    return next_gc_step(list_, thresholds, credit);
  }

  GcThresholds thresholds;

 private:
  std::vector<SegmentFigures> list_;
  std::uint64_t next_ = 1;
};

using Kind = GcStep::Kind;

TEST(SegmentGcPolicy, LeavesAQueueAloneThatHoldsLittleGarbage) {
  EXPECT_FALSE(Segments().next());
  EXPECT_FALSE(Segments().add(64 * kMiB, 64 * kMiB).add(64 * kMiB, 40 * kMiB).next());
  EXPECT_FALSE(Segments().add(3 * kMiB, 100).next()) << "small";
}

TEST(SegmentGcPolicy, CompactsASegmentThatIsMostlyGarbage) {
  const auto step = Segments().add(64 * kMiB, 64 * kMiB).add(64 * kMiB, 10 * kMiB).next();
  ASSERT_TRUE(step);
  EXPECT_EQ(*step, (GcStep{Kind::kCompact, 1, 1, 10 * kMiB, 54 * kMiB}));
}

TEST(SegmentGcPolicy, CutsWhatIsBeyondTheLimitFirst) {
  Segments segments;
  segments.thresholds.segment_bytes = 8 * kMiB;
  segments.add(8 * kMiB, kMiB).add(40 * kMiB, 38 * kMiB);
  EXPECT_EQ(segments.next(), (GcStep{Kind::kCut, 1, 1, 38 * kMiB, 2 * kMiB}));
  EXPECT_TRUE(has_oversized(segments.list(), segments.thresholds));
  // One message stays as large as it is, and an unsealed segment has its time to come.
  segments.list()[1].valid = 1;
  EXPECT_EQ(segments.next()->kind, Kind::kCompact);
  segments.list()[1].valid = 900;
  segments.list()[1].state = SegmentState::kFull;
  EXPECT_EQ(segments.next()->kind, Kind::kCompact);
  EXPECT_FALSE(has_oversized(segments.list(), segments.thresholds));
}

TEST(SegmentGcPolicy, CompactsASmallSegmentOfManyMessages) {
  Segments segments;
  segments.add(kMiB, 10'000);
  segments.list()[0].messages = 2001;
  EXPECT_EQ(segments.next()->kind, Kind::kCompact);
}

TEST(SegmentGcPolicy, GivesBackMostForEachByteCopiedFirst) {
  const auto step = Segments()
                        .add(64 * kMiB, 30 * kMiB)
                        .add(64 * kMiB, 60 * kMiB)
                        .add(64 * kMiB, 1 * kMiB)
                        .add(64 * kMiB, 60 * kMiB)
                        .next();
  EXPECT_EQ(step->first, 2u);
}

TEST(SegmentGcPolicy, SealsAnActiveSegmentOfGarbageAndWaitsForTheCheckpoint) {
  EXPECT_EQ(Segments().add(60 * kMiB, kMiB, SegmentState::kActive).next()->kind, Kind::kSeal);
  EXPECT_FALSE(Segments().add(60 * kMiB, kMiB, SegmentState::kFull).next());
}

TEST(SegmentGcPolicy, MergesARunThatFitsInOneStep) {
  const auto step = Segments()
                        .add(64 * kMiB, 60 * kMiB)
                        .add(3 * kMiB, kMiB)
                        .add(3 * kMiB, kMiB)
                        .add(3 * kMiB, kMiB)
                        .add(64 * kMiB, 60 * kMiB)
                        .next();
  EXPECT_EQ(*step, (GcStep{Kind::kMerge, 1, 3, 3 * kMiB, 6 * kMiB}));
}

TEST(SegmentGcPolicy, MergesSmallSegmentsWithoutGarbageOnlyFromCredit) {
  Segments segments;
  for (int i = 0; i < 10; ++i) segments.add(100'000, 100'000);
  EXPECT_FALSE(segments.next(10'000));
  const auto step = segments.next(2 * kMiB);
  ASSERT_TRUE(step);
  EXPECT_EQ(step->kind, Kind::kMerge);
  EXPECT_EQ(step->count, 10u);
  // Not again and again for each small one that joins.
  EXPECT_FALSE(
      Segments().add(20 * kMiB, 20 * kMiB).add(1000, 1000).add(1000, 1000).next(100 * kMiB));
}

TEST(SegmentGcPolicy, NoMergeReachesBeyondWhatASegmentCanName) {
  Segments segments;
  segments.add(3 * kMiB, kMiB).add(3 * kMiB, kMiB);
  segments.list()[1].last = Sequence{segments.list()[0].first.value + (1ull << 32)};
  EXPECT_FALSE(segments.next());
}

TEST(SegmentGcPolicy, KeepsTheBoundWhereNoThresholdIsReached) {
  // Each too small to be compacted by itself, too full to be merged with its neighbours.
  Segments segments;
  segments.thresholds.segment_bytes = 4 * kMiB;
  for (int i = 0; i < 10; ++i) segments.add(4 * kMiB, 3 * kMiB).add(4 * kMiB, 1000);
  const auto step = segments.next();
  ASSERT_TRUE(step);
  EXPECT_EQ(step->first % 2, 1u);
}

/// Does what a step says, as the storage would.
void perform(std::vector<SegmentFigures>& segments, const GcStep& step) {
  if (step.kind == Kind::kSeal) {
    segments[step.first].state = SegmentState::kSealed;
    if (segments[step.first].valid == 0) {
      segments.erase(segments.begin() + static_cast<std::ptrdiff_t>(step.first));
    }
    return;
  }
  SegmentFigures copy = segments[step.first];
  copy.bytes = copy.valid_bytes = 0;
  copy.valid = 0;
  for (std::size_t i = step.first; i < step.first + step.count; ++i) {
    copy.last = segments[i].last;
    copy.bytes += segments[i].valid_bytes;
    copy.valid += segments[i].valid;
  }
  copy.valid_bytes = copy.bytes;
  copy.messages = copy.valid;
  const auto at = segments.begin() + static_cast<std::ptrdiff_t>(step.first);
  segments.erase(at + 1, at + static_cast<std::ptrdiff_t>(step.count));
  segments[step.first] = copy;
}

TEST(SegmentGcPolicy, EndsWithinTheBoundAndCopiesNoMoreThanTwiceWhatItGivesBack) {
  for (std::uint64_t seed = 1; seed <= 2000; ++seed) {
    SeededRandom random(seed);
    Segments segments;
    segments.thresholds.segment_bytes = (1 + random.below(64)) * kMiB;
    segments.thresholds.min_messages = 500;
    const std::uint64_t count = 1 + random.below(60);
    std::uint64_t before = 0;
    for (std::uint64_t i = 0; i < count; ++i) {
      const std::uint64_t bytes = 2000 + random.below(segments.thresholds.segment_bytes);
      const std::uint64_t valid = random.below(4) == 0 ? bytes : 500 + random.below(bytes - 500);
      segments.add(bytes, random.below(3) == 0 ? std::min<std::uint64_t>(valid, 700) : valid,
                   i + 1 == count ? SegmentState::kActive : SegmentState::kSealed);
      before += bytes;
    }
    std::uint64_t copied = 0;
    std::uint64_t reclaimed = 0;
    int steps = 0;
    while (const auto step = segments.next(2 * reclaimed - copied)) {
      ASSERT_LT(++steps, 1000) << "seed " << seed;
      if (step->kind != Kind::kSeal) {
        copied += step->copied_bytes;
        reclaimed += step->reclaimed_bytes;
        ASSERT_LE(step->copied_bytes, segments.thresholds.segment_bytes);
      }
      perform(segments.list(), *step);
      ASSERT_LE(copied, 2 * reclaimed) << "seed " << seed;
    }
    std::uint64_t bytes = 0;
    std::uint64_t valid = 0;
    for (const SegmentFigures& segment : segments.list()) {
      bytes += segment.bytes;
      valid += segment.valid_bytes;
    }
    ASSERT_LE(bytes, 2 * valid + segments.thresholds.slack_bytes) << "seed " << seed;
    ASSERT_EQ(before - bytes, reclaimed) << "seed " << seed;
  }
}

}  // namespace
}  // namespace segue::storage
