#pragma once

#include "common/clock.h"

namespace segue {

/// A clock that stands still until a test moves it. One thread.
class ManualClock final : public Clock {
 public:
  TimePoint now() const override { return now_; }
  std::int64_t wall_ms() const override { return wall_ms_; }
  void advance(Duration by) {
    now_ += by;
    wall_ms_ += std::chrono::duration_cast<std::chrono::milliseconds>(by).count();
  }

 private:
  TimePoint now_{std::chrono::seconds(1000)};
  std::int64_t wall_ms_ = 1'700'000'000'000;
};

}  // namespace segue
