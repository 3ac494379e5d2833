#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>

namespace segue::storage {

/// Wakes one thread that waits for work; costs a system call only if it sleeps. A notify() before
/// wait() is not lost.
class ThreadSignal {
 public:
  /// From any thread.
  void notify();
  /// Returns after a notify() since the last wait(), or when the time is over (nothing: never), or
  /// for no reason. One thread only.
  void wait(std::optional<std::chrono::nanoseconds> at_most);

 private:
  enum State : std::uint32_t { kQuiet, kNotified, kSleeping };
  std::atomic<std::uint32_t> state_{kQuiet};
};

}  // namespace segue::storage
