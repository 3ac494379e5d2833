#pragma once

#include <chrono>
#include <cstdint>

namespace segue {

using Duration = std::chrono::nanoseconds;
/// A point on the monotonic clock; only differences mean anything.
using TimePoint = std::chrono::time_point<std::chrono::steady_clock, Duration>;

/// Where the time comes from. Cores get the time as an argument; this interface is for the
/// composition roots and for code that must ask by itself.
class Clock {
 public:
  virtual ~Clock() = default;
  /// Monotonic time.
  virtual TimePoint now() const = 0;
  /// Milliseconds since 1970-01-01 UTC; may jump.
  virtual std::int64_t wall_ms() const = 0;
};

/// The machine's clocks. Stateless; safe from any thread.
class SystemClock final : public Clock {
 public:
  TimePoint now() const override { return std::chrono::steady_clock::now(); }
  std::int64_t wall_ms() const override {
    return std::chrono::duration_cast<std::chrono::milliseconds>(
               std::chrono::system_clock::now().time_since_epoch())
        .count();
  }
};

}  // namespace segue
