#include "client/reconnect_policy.h"

#include <algorithm>

#include "common/check.h"

namespace segue::client {

namespace {

constexpr std::size_t kMaxDoublings = 20;
constexpr std::size_t kMaxTimeoutFactor = 4;
constexpr Duration kLastingSession = std::chrono::seconds(1);

}  // namespace

ReconnectPolicy::ReconnectPolicy(std::vector<std::string> routers, const Options& options,
                                 Random& random)
    : routers_(std::move(routers)), options_(options), random_(random) {
  SEGUE_CHECK(!routers_.empty());
}

ReconnectPolicy::Attempt ReconnectPolicy::next(TimePoint now) {
  if (tried_ == routers_.size()) {
    tried_ = 0;
    ++rounds_;
    pause_next_ = true;
  }
  Attempt attempt{
      routers_[at_], now,
      options_.attempt_timeout * static_cast<int>(std::min(rounds_ + 1, kMaxTimeoutFactor))};
  if (pause_next_) attempt.start += pause();
  pause_next_ = false;
  at_ = (at_ + 1) % routers_.size();
  ++tried_;
  return attempt;
}

Duration ReconnectPolicy::pause() {
  Duration longest = options_.pause_min;
  for (std::size_t i = 1; i < std::min(rounds_, kMaxDoublings); ++i) {
    longest = std::min(longest * 2, options_.pause_max);
  }
  // From half of it to all of it.
  const auto half = static_cast<std::uint64_t>(std::max<Duration::rep>(longest.count() / 2, 1));
  return Duration(static_cast<Duration::rep>(half + random_.below(half + 1)));
}

void ReconnectPolicy::session_ended(Duration lived) {
  at_ = (at_ + routers_.size() - 1) % routers_.size();
  tried_ = 0;
  rounds_ = lived >= kLastingSession ? 0 : rounds_ + 1;
  pause_next_ = true;
}

}  // namespace segue::client
