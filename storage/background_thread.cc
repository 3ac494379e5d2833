#include "storage/background_thread.h"

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
      idle_.wait(lock, [this] { return !busy_ && bulk_.empty() && urgent_.empty(); });
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

bool BackgroundThread::take(BackgroundJob& job, BackgroundJob& bulk) {
  std::unique_lock lock(mutex_);
  if (abandoned_) return false;
  if (urgent_.empty() && bulk_.empty() && !bulk.step) {
    busy_ = false;
    idle_.notify_all();
    work_.wait(lock, [this] { return ending_ || !urgent_.empty() || !bulk_.empty(); });
  }
  if (abandoned_) return false;
  busy_ = true;
  if (!urgent_.empty()) {
    job = std::move(urgent_.front());
    urgent_.pop_front();
    return true;
  }
  if (!bulk.step) {
    if (bulk_.empty()) return false;
    bulk = std::move(bulk_.front());
    bulk_.pop_front();
  }
  return true;
}

void BackgroundThread::run() {
  BackgroundJob bulk;  // begun, not finished
  for (;;) {
    BackgroundJob urgent;
    if (!take(urgent, bulk)) return;
    if (urgent.step) {
      while (!urgent.step()) {
      }
      finish(std::move(urgent.done));
    } else if (bulk.step()) {
      auto done = std::move(bulk.done);
      bulk = {};  // gives back what the job held before its end is told
      finish(std::move(done));
    }
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
  if (bulk_.empty()) return false;
  if (!bulk_.front().step()) return true;
  if (bulk_.front().done) done_.push_back(std::move(bulk_.front().done));
  bulk_.pop_front();
  return true;
}

void InlineExecutor::poll() {
  while (step()) {
  }
  std::deque<std::function<void()>> finished;
  finished.swap(done_);
  for (auto& done : finished) done();
}

void InlineExecutor::abandon() {
  bulk_.clear();
  urgent_.clear();
  done_.clear();
}

void InlineExecutor::stop() {
  do {
    poll();
  } while (!done_.empty() || !bulk_.empty() || !urgent_.empty());
}

}  // namespace segue::storage
