#include "storage/file_releaser.h"

#include <utility>

namespace segue::storage {

FileReleaser::~FileReleaser() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  work_.notify_one();
  if (thread_.joinable()) thread_.join();
}

void FileReleaser::release(FileDescriptor descriptor) {
  {
    const std::lock_guard lock(mutex_);
    if (waiting_.size() >= kMostWaiting) return;
    waiting_.push_back(std::move(descriptor));
    if (!thread_.joinable()) thread_ = std::thread([this] { run(); });
  }
  work_.notify_one();
}

void FileReleaser::drain() {
  std::unique_lock lock(mutex_);
  idle_.wait(lock, [this] { return waiting_.empty() && !closing_; });
}

void FileReleaser::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    work_.wait(lock, [this] { return ending_ || !waiting_.empty(); });
    if (waiting_.empty()) return;
    {
      const FileDescriptor closing = std::move(waiting_.front());
      waiting_.pop_front();
      closing_ = true;
      lock.unlock();
    }
    lock.lock();
    closing_ = false;
    if (waiting_.empty()) idle_.notify_all();
  }
}

}  // namespace segue::storage
