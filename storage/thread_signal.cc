#include "storage/thread_signal.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <ctime>

namespace segue::storage {

static_assert(sizeof(std::atomic<std::uint32_t>) == sizeof(std::uint32_t));

void ThreadSignal::notify() {
  if (state_.exchange(kNotified, std::memory_order_acq_rel) != kSleeping) return;
  ::syscall(SYS_futex, &state_, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
}

void ThreadSignal::wait(std::optional<std::chrono::nanoseconds> at_most) {
  std::uint32_t quiet = kQuiet;
  if (state_.compare_exchange_strong(quiet, kSleeping, std::memory_order_acq_rel)) {
    timespec limit{};
    if (at_most) {
      const auto count = at_most->count() > 0 ? at_most->count() : 0;
      limit.tv_sec = static_cast<std::time_t>(count / 1'000'000'000);
      limit.tv_nsec = static_cast<long>(count % 1'000'000'000);
    }
    // Returns at once if a notify() came in between: the state is no longer kSleeping.
    ::syscall(SYS_futex, &state_, FUTEX_WAIT_PRIVATE, kSleeping, at_most ? &limit : nullptr,
              nullptr, 0);
  }
  state_.exchange(kQuiet, std::memory_order_acq_rel);
}

}  // namespace segue::storage
