#include "storage/background_thread.h"

#include <limits>
#include <utility>

namespace segue::storage {

BackgroundThread::BackgroundThread(std::function<void()> wakeup)
    : wakeup_(std::move(wakeup)), thread_([this] { run(); }) {}

BackgroundThread::~BackgroundThread() {
  stop();
}

void BackgroundThread::post(BackgroundJob job) {
  push(bulk_, std::move(job));
}

void BackgroundThread::post_urgent(BackgroundJob job) {
  push(urgent_, std::move(job));
}

void BackgroundThread::post_idle(BackgroundJob job) {
  push(idle_jobs_, std::move(job));
}

void BackgroundThread::push(std::deque<BackgroundJob>& lane, BackgroundJob job) {
  bool was_idle = false;
  {
    const std::lock_guard lock(mutex_);
    was_idle = !busy_;
    lane.push_back(std::move(job));
  }
  if (was_idle) work_.notify_one();
}

void BackgroundThread::post_done(std::function<void()> done) {
  const std::lock_guard lock(mutex_);
  done_.push_back(std::move(done));
}

void BackgroundThread::poll() {
  std::deque<std::function<void()>> finished;
  {
    const std::lock_guard lock(mutex_);
    finished.swap(done_);
  }
  for (auto& done : finished) done();
}

void BackgroundThread::stop() {
  if (!thread_.joinable()) return;
  for (;;) {
    {
      std::unique_lock lock(mutex_);
      idle_.wait(lock, [this] { return !busy_ && nothing_waits(); });
      if (done_.empty()) {
        ending_ = true;
        break;
      }
    }
    poll();
  }
  work_.notify_one();
  thread_.join();
}

void BackgroundThread::abandon() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
    abandoned_ = true;
  }
  work_.notify_one();
  thread_.join();
  done_.clear();
}

BackgroundJob* BackgroundThread::take(Current& current) {
  std::unique_lock lock(mutex_);
  if (abandoned_) return nullptr;
  if (nothing_waits() && !current.bulk.step && !current.idle.step) {
    busy_ = false;
    idle_.notify_all();
    work_.wait(lock, [this] { return ending_ || !nothing_waits(); });
  }
  if (abandoned_) return nullptr;
  busy_ = true;
  const auto next_of = [](std::deque<BackgroundJob>& lane, BackgroundJob& job) {
    if (job.step) return true;
    if (lane.empty()) return false;
    job = std::move(lane.front());
    lane.pop_front();
    return true;
  };
  if (next_of(urgent_, current.urgent)) return &current.urgent;
  if (next_of(bulk_, current.bulk)) return &current.bulk;
  if (next_of(idle_jobs_, current.idle)) return &current.idle;
  return nullptr;
}

void BackgroundThread::run() {
  Current current;
  while (BackgroundJob* const job = take(current)) {
    const bool finished = job->step();
    // An urgent one is not interrupted.
    while (job == &current.urgent && !finished && !job->step()) {
    }
    if (!finished && job != &current.urgent) continue;
    auto done = std::move(job->done);
    *job = {};  // gives back what the job held before its end is told
    finish(std::move(done));
  }
}

void BackgroundThread::finish(std::function<void()> done) {
  if (!done) return;
  bool first = false;
  {
    const std::lock_guard lock(mutex_);
    first = done_.empty();
    done_.push_back(std::move(done));
  }
  if (first && wakeup_) wakeup_();
}

bool InlineExecutor::step() {
  if (!urgent_.empty()) {
    BackgroundJob job = std::move(urgent_.front());
    urgent_.pop_front();
    while (!job.step()) {
    }
    if (job.done) done_.push_back(std::move(job.done));
    return true;
  }
  std::deque<BackgroundJob>& lane = bulk_.empty() ? idle_jobs_ : bulk_;
  if (lane.empty()) return false;
  if (!lane.front().step()) return true;
  if (lane.front().done) done_.push_back(std::move(lane.front().done));
  lane.pop_front();
  return true;
}

void InlineExecutor::poll() {
  int left = steps_ ? steps_() : std::numeric_limits<int>::max();
  while (left-- > 0 && step()) {
  }
  std::deque<std::function<void()>> finished;
  finished.swap(done_);
  for (auto& done : finished) done();
}

void InlineExecutor::abandon() {
  bulk_.clear();
  urgent_.clear();
  idle_jobs_.clear();
  done_.clear();
}

void InlineExecutor::stop() {
  do {
    poll();
  } while (!done_.empty() || !bulk_.empty() || !urgent_.empty() || !idle_jobs_.empty());
}

}  // namespace segue::storage
