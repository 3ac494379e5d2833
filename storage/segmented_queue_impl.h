#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "common/clock.h"
#include "common/logging.h"
#include "storage/embedded_queue.h"
#include "storage/posix_file_system.h"
#include "storage/queue_signal.h"
#include "storage/segmented_queue_open.h"

namespace segue::storage {

/// What a SegmentedQueue consists of: the queue proper, its lock, and the thread that does what is
/// due when nobody calls.
class SegmentedQueue::Impl {
 public:
  Impl(SegmentedQueueOptions options, SegmentedQueueOpener::Parts parts);
  ~Impl();

  Status open();
  Status close();
  /// As a killed process.
  void abandon();
  void tick();

  /// A call: has the lock. With Durability::kEveryCall what it logs is written by the last of the
  /// calls that come at the same time.
  class Call {
   public:
    explicit Call(Impl& impl);
    ~Call();
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;

    /// Why nothing may be done; OK otherwise.
    const Status& status() const { return status_; }
    /// Repeats `attempt` until it is true, or the queue failed; waits in between for the disk.
    /// `writes`: what is logged is written first, for an attempt (or other calls) that wait for it.
    template <typename Attempt>
    Status until(Attempt attempt, bool writes = true);
    /// Durability::kEveryCall: waits until what was offered is durable. How many were taken back.
    Status commit_offers(std::uint64_t& undone);
    /// Durability::kEveryCall: waits until what was settled is durable.
    Status commit_settles();
    /// Waits for a checkpoint of everything up to now.
    Status checkpoint();
    EmbeddedQueue& queue() { return impl_.queue_; }

   private:
    void flush();
    Status committed();

    Impl& impl_;
    std::unique_lock<std::mutex> lock_;
    Status status_;
  };

  bool syncs_every_call() const { return options_.durability == Durability::kEveryCall; }
  const SegmentedQueueOptions& options() const { return options_; }
  std::uint64_t size() const;
  SegmentedQueueStats stats() const;
  EmbeddedQueue::Ready ready(Call& call, Status& status);
  DiskStats disk_stats() const;
  /// Everything is durable when it returns.
  Status sync(Call& call);

 private:
  TimePoint now() const { return clock_.now(); }
  void pump();
  void run();
  void stop_thread();
  DiskOptions disk_options();

  const SegmentedQueueOptions options_;
  SegmentedQueueOpener::Parts parts_;
  PosixFileSystem posix_;
  SystemClock system_clock_;
  const Clock& clock_;
  QueueSignal signal_;
  Logger log_;
  mutable std::mutex mutex_;
  EmbeddedQueue queue_;
  bool closed_ = true;
  std::atomic<std::uint32_t> coming_{0};  // calls that want the lock, with kEveryCall
  std::uint32_t passed_on_ = 0;           // times that a call left its record to the next one
  std::atomic<bool> ending_{false};
  std::thread thread_;
};

template <typename Attempt>
Status SegmentedQueue::Impl::Call::until(Attempt attempt, bool writes) {
  for (;;) {
    QueueSignal::Caller caller(impl_.signal_);
    if (writes) flush();
    impl_.pump();
    if (impl_.signal_.failed()) return impl_.signal_.failure();
    if (impl_.closed_) return Status(Code::kPreconditionFailed, "the queue was closed");
    if (attempt()) return {};
    lock_.unlock();
    if (impl_.parts_.manual) {
      std::this_thread::yield();
    } else {
      caller.wait();
    }
    lock_.lock();
  }
}

}  // namespace segue::storage
