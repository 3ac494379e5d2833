#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>

namespace segue::storage {

/// Work for the disk, done beside the reactor.
struct BackgroundJob {
  /// Does a part of the work, a few milliseconds, and says whether it is finished.
  std::function<bool()> step;
  /// Called out of poll() after the last step. May be empty.
  std::function<void()> done;
};

/// Runs jobs beside the reactor. Bulk jobs run one after the other, in the order of posting; urgent
/// ones go first, also between two steps of a bulk job; idle ones, in the order of posting, when
/// there is nothing else to do, and step by step between the others. Results come back in poll().
///
/// All calls are for the reactor's thread, which owns it. The number of jobs that wait is for the
/// callers to bound: each job stands for a call whose `done` has not come yet.
class BackgroundExecutor {
 public:
  virtual ~BackgroundExecutor() = default;
  virtual void post(BackgroundJob job) = 0;
  virtual void post_urgent(BackgroundJob job) = 0;
  virtual void post_idle(BackgroundJob job) = 0;
  /// Runs `done` out of the next poll(): for answers that need no work.
  virtual void post_done(std::function<void()> done) = 0;
  /// Runs the `done` of finished jobs. These may post.
  virtual void poll() = 0;
  /// Finishes everything, also what the `done` of jobs post. Nothing runs afterwards.
  virtual void stop() = 0;
  /// Ends after the step that is running and forgets the rest: no `done` is called any more.
  virtual void abandon() = 0;
};

/// A thread of its own. Lock: `mutex_` guards the two queues' hand-over; it is held for a push or a
/// pop, never while work runs.
class BackgroundThread final : public BackgroundExecutor {
 public:
  /// `wakeup` is called on the new thread when poll() has got something to do; must not block.
  explicit BackgroundThread(std::function<void()> wakeup);
  ~BackgroundThread() override;

  void post(BackgroundJob job) override;
  void post_urgent(BackgroundJob job) override;
  void post_idle(BackgroundJob job) override;
  void post_done(std::function<void()> done) override;
  void poll() override;
  void stop() override;
  void abandon() override;

 private:
  void run();
  /// The job that is next, and whose turn it is with it; null when the thread is to end.
  struct Current {
    BackgroundJob urgent;
    BackgroundJob bulk;  // begun, not finished
    BackgroundJob idle;  // the same
  };
  BackgroundJob* take(Current& current);
  bool nothing_waits() const { return urgent_.empty() && bulk_.empty() && idle_jobs_.empty(); }
  void push(std::deque<BackgroundJob>& lane, BackgroundJob job);
  void finish(std::function<void()> done);

  std::function<void()> wakeup_;
  std::mutex mutex_;
  std::condition_variable work_;
  std::condition_variable idle_;
  std::deque<BackgroundJob> bulk_;
  std::deque<BackgroundJob> urgent_;
  std::deque<BackgroundJob> idle_jobs_;
  std::deque<std::function<void()>> done_;
  bool busy_ = false;
  bool ending_ = false;
  bool abandoned_ = false;
  std::thread thread_;
};

/// Does everything on the caller's thread, inside poll(): the same order every time, for tests and
/// for start-up.
class InlineExecutor final : public BackgroundExecutor {
 public:
  /// `steps`: how many to do at most in the next poll(); left out: all there are.
  explicit InlineExecutor(std::function<int()> steps = {}) : steps_(std::move(steps)) {}
  void post(BackgroundJob job) override { bulk_.push_back(std::move(job)); }
  void post_urgent(BackgroundJob job) override { urgent_.push_back(std::move(job)); }
  void post_idle(BackgroundJob job) override { idle_jobs_.push_back(std::move(job)); }
  void post_done(std::function<void()> done) override { done_.push_back(std::move(done)); }
  void poll() override;
  void stop() override;
  void abandon() override;
  /// Does one step of the work that is next; false if there is none.
  bool step();

 private:
  std::function<int()> steps_;
  std::deque<BackgroundJob> bulk_;
  std::deque<BackgroundJob> urgent_;
  std::deque<BackgroundJob> idle_jobs_;
  std::deque<std::function<void()>> done_;
};

}  // namespace segue::storage
