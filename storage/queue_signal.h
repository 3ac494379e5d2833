#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>

#include "common/status.h"
#include "storage/thread_signal.h"

namespace segue::storage {

/// Through what the disk's threads tell those of a SegmentedQueue that something has happened: the
/// callers that wait for it, or, if there are none, the queue's own thread. Any thread. Lock:
/// `mutex_` guards the failure, of which there is one at most.
class QueueSignal {
 public:
  /// Something has happened.
  void notify() {
    epoch_.fetch_add(1);
    if (waiters_.load() > 0) {
      epoch_.notify_all();
    } else {
      driver_.notify();
    }
  }
  /// As notify(), if a caller waits.
  void notify_callers() {
    if (waiters_.load() == 0) return;
    epoch_.fetch_add(1);
    epoch_.notify_all();
  }

  /// A caller that is about to look whether it has to wait. wait() returns when something has
  /// happened since this was made.
  class Caller {
   public:
    explicit Caller(QueueSignal& signal) : signal_(signal) {
      signal_.waiters_.fetch_add(1);
      epoch_ = signal_.epoch_.load();
    }
    ~Caller() { signal_.waiters_.fetch_sub(1); }
    Caller(const Caller&) = delete;
    Caller& operator=(const Caller&) = delete;
    void wait() { signal_.epoch_.wait(epoch_); }

   private:
    QueueSignal& signal_;
    std::uint32_t epoch_ = 0;
  };

  /// Of the queue's own thread.
  ThreadSignal& driver() { return driver_; }

  /// What is on disk is unknown.
  void fail(const Status& status) {
    {
      const std::lock_guard lock(mutex_);
      if (failure_.is_ok()) failure_ = status;
    }
    failed_.store(true);
    notify();
  }
  bool failed() const { return failed_.load(std::memory_order_relaxed); }
  Status failure() const {
    const std::lock_guard lock(mutex_);
    return failure_;
  }

 private:
  std::atomic<std::uint32_t> epoch_{0};
  std::atomic<std::uint32_t> waiters_{0};
  ThreadSignal driver_;
  std::atomic<bool> failed_{false};
  mutable std::mutex mutex_;
  Status failure_;
};

}  // namespace segue::storage
