#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>

#include "common/clock.h"

namespace segue::cli::demo {

/// How many messages all producers together may have published by now: a rate, so that there is
/// time for things to happen in the middle, and a limit, so that some are left to publish until
/// they have happened.
///
/// Safe from any thread; the lock is what the producers share, and nothing else is done under it.
class Pace {
 public:
  /// `per_second` at least 1. The time counts from now on.
  Pace(std::uint64_t per_second, TimePoint now) : per_second_(per_second), start_(now) {}

  /// Waits until something may be published: how many messages, a few at a time and not more than
  /// `wanted`, which is not 0; 0 after stop(). What is taken must be published.
  std::uint64_t take(std::uint64_t wanted);
  /// In all not more than this from now on; at first 0.
  void set_limit(std::uint64_t messages);
  /// As fast as it goes from now on, up to the limit.
  void lift_rate();
  /// Nothing more is published; wakes all who wait.
  void stop();

  /// How many may be taken at `now` when nobody took any.
  std::uint64_t allowed(TimePoint now) const;

 private:
  std::uint64_t allowed_locked(TimePoint now) const;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  const std::uint64_t per_second_;
  const TimePoint start_;
  std::uint64_t limit_ = 0;
  std::uint64_t taken_ = 0;
  bool rated_ = true;
  bool stopped_ = false;
};

}  // namespace segue::cli::demo
