#include "common/link.h"

#include <gtest/gtest.h>

#include "tests/fakes/manual_clock.h"

namespace segue {
namespace {

using std::chrono::seconds;

TEST(Link, AcceptsFramesInOrder) {
  ManualClock clock;
  Link a(7, seconds(10), clock.now());
  Link b(7, seconds(10), clock.now());
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(b.on_frame(7, a.stamp(clock.now()), clock.now()), Link::Verdict::kAccept);
  }
}

TEST(Link, TellsGapsRepeatsAndOtherEpochs) {
  ManualClock clock;
  Link link(7, seconds(10), clock.now());
  EXPECT_EQ(link.on_frame(8, 1, clock.now()), Link::Verdict::kOtherEpoch);
  EXPECT_EQ(link.on_frame(7, 1, clock.now()), Link::Verdict::kAccept);
  EXPECT_EQ(link.on_frame(7, 1, clock.now()), Link::Verdict::kGap);
  EXPECT_EQ(link.on_frame(7, 3, clock.now()), Link::Verdict::kGap);
  EXPECT_EQ(link.on_frame(7, 2, clock.now()), Link::Verdict::kAccept);
}

TEST(Link, WantsHeartbeatsAndNoticesSilence) {
  ManualClock clock;
  Link link(7, seconds(10), clock.now());
  EXPECT_FALSE(link.heartbeat_due(clock.now()));
  clock.advance(seconds(5));
  EXPECT_TRUE(link.heartbeat_due(clock.now()));
  link.stamp(clock.now());
  EXPECT_FALSE(link.heartbeat_due(clock.now()));
  clock.advance(seconds(14));
  EXPECT_FALSE(link.expired(clock.now()));
  EXPECT_EQ(link.on_frame(7, 1, clock.now()), Link::Verdict::kAccept);
  clock.advance(seconds(20));
  EXPECT_TRUE(link.expired(clock.now()));
}

}  // namespace
}  // namespace segue
