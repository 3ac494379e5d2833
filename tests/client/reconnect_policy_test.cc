#include "client/reconnect_policy.h"

#include <gtest/gtest.h>

namespace segue::client {
namespace {

using std::chrono::milliseconds;

class Reconnecting : public ::testing::Test {
 protected:
  ReconnectPolicy policy(std::vector<std::string> routers) {
    return ReconnectPolicy(std::move(routers),
                           {milliseconds(100), milliseconds(1'000), milliseconds(50)}, random_);
  }
  SeededRandom random_{7};
  TimePoint now_{std::chrono::seconds(5)};
};

TEST_F(Reconnecting, TriesAllInTurnThenPausesLongerAndLonger) {
  ReconnectPolicy policy = this->policy({"a", "b"});
  std::vector<std::string> order;
  Duration longest{0};
  for (int round = 0; round < 8; ++round) {
    const auto first = policy.next(now_);
    const auto second = policy.next(now_);
    order = {first.router, second.router};
    EXPECT_EQ(order, (std::vector<std::string>{"a", "b"}));
    EXPECT_EQ(second.start, now_);
    const Duration pause = first.start - now_;
    if (round == 0) {
      EXPECT_EQ(pause, Duration(0));
      EXPECT_EQ(first.timeout, milliseconds(50));
    } else {
      const Duration most =
          std::min<Duration>(milliseconds(100) * (1 << (round - 1)), milliseconds(1'000));
      EXPECT_GE(pause, most / 2);
      EXPECT_LE(pause, most);
    }
    longest = std::max(longest, first.timeout);
  }
  EXPECT_EQ(longest, milliseconds(200));
}

TEST_F(Reconnecting, ReturnsToTheSameRouterAfterALoss) {
  ReconnectPolicy policy = this->policy({"a", "b", "c"});
  (void)policy.next(now_);
  EXPECT_EQ(policy.next(now_).router, "b");
  policy.session_ended(std::chrono::seconds(60));
  const auto again = policy.next(now_);
  EXPECT_EQ(again.router, "b");
  EXPECT_GE(again.start - now_, milliseconds(50));
  EXPECT_LE(again.start - now_, milliseconds(100));
  EXPECT_EQ(policy.next(now_).router, "c");
  EXPECT_EQ(policy.next(now_).router, "a");
}

TEST_F(Reconnecting, PausesLongerWhenSessionsEndAtOnce) {
  ReconnectPolicy policy = this->policy({"a"});
  Duration pause{0};
  for (int i = 0; i < 6; ++i) {
    (void)policy.next(now_);
    policy.session_ended(milliseconds(1));
    pause = policy.next(now_).start - now_;
    policy.session_ended(milliseconds(1));
  }
  EXPECT_GE(pause, milliseconds(500));
}

}  // namespace
}  // namespace segue::client
