#include "cli/demo/pace.h"

#include <algorithm>

namespace segue::cli::demo {

namespace {

constexpr std::uint64_t kMostAtOnce = 16;
constexpr std::chrono::milliseconds kNap{5};

}  // namespace

std::uint64_t Pace::allowed_locked(TimePoint now) const {
  if (!rated_) return limit_;
  const auto elapsed = std::chrono::duration_cast<std::chrono::milliseconds>(now - start_).count();
  return std::min(limit_, per_second_ * static_cast<std::uint64_t>(elapsed) / 1000);
}

std::uint64_t Pace::allowed(TimePoint now) const {
  const std::lock_guard lock(mutex_);
  return allowed_locked(now);
}

std::uint64_t Pace::take(std::uint64_t wanted) {
  const SystemClock clock;
  std::unique_lock lock(mutex_);
  for (;;) {
    if (stopped_) return 0;
    const std::uint64_t allowed = allowed_locked(clock.now());
    if (allowed > taken_) {
      const std::uint64_t count = std::min({allowed - taken_, kMostAtOnce, wanted});
      taken_ += count;
      return count;
    }
    changed_.wait_for(lock, kNap);
  }
}

void Pace::set_limit(std::uint64_t messages) {
  {
    const std::lock_guard lock(mutex_);
    limit_ = messages;
  }
  changed_.notify_all();
}

void Pace::lift_rate() {
  {
    const std::lock_guard lock(mutex_);
    rated_ = false;
  }
  changed_.notify_all();
}

void Pace::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
  }
  changed_.notify_all();
}

}  // namespace segue::cli::demo
