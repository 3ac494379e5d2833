#pragma once

#include <string>
#include <vector>

#include "common/clock.h"
#include "common/random.h"

namespace segue::client {

/// Which router to try next, when, and for how long: all in turn, then a pause that doubles with
/// every round without success and has random jitter, so that many clients do not come at once.
class ReconnectPolicy {
 public:
  struct Options {
    Duration pause_min;
    Duration pause_max;
    /// For one attempt; doubles with the rounds, up to four times, for routers that are slow.
    Duration attempt_timeout;
  };
  /// `routers` is not empty; `random` must outlive the policy.
  ReconnectPolicy(std::vector<std::string> routers, const Options& options, Random& random);

  struct Attempt {
    std::string router;
    TimePoint start;
    /// Counted from the start.
    Duration timeout;
  };
  /// The attempt to make after the former one failed, or a session was lost.
  Attempt next(TimePoint now);
  /// A session had been made and ended after `lived`: the same router is tried first, for mostly it
  /// is the connection that broke. Sessions that end at once make the pauses longer.
  void session_ended(Duration lived);
  /// Rounds without lasting success so far.
  std::size_t rounds() const { return rounds_; }

 private:
  Duration pause();

  const std::vector<std::string> routers_;
  const Options options_;
  Random& random_;
  std::size_t at_ = 0;     // the router to try next
  std::size_t tried_ = 0;  // in this round
  std::size_t rounds_ = 0;
  bool pause_next_ = false;
};

}  // namespace segue::client
