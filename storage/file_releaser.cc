#include "storage/file_releaser.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

namespace segue::storage {

namespace {

constexpr std::int64_t kBite = 2 << 20;
/// After each bite the disk is others' for so many times as long.
constexpr int kPauses = 2;
/// With more the pauses are left out.
constexpr std::size_t kManyWaiting = 4;

}  // namespace

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
  ++drains_;
  work_.notify_one();
  idle_.wait(lock, [this] { return waiting_.empty() && !closing_; });
  --drains_;
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
      cut(closing.get());
    }
    lock.lock();
    closing_ = false;
    if (waiting_.empty()) idle_.notify_all();
  }
}

void FileReleaser::cut(int descriptor) {
  struct stat about {};
  if (::fstat(descriptor, &about) != 0 || about.st_nlink != 0) return;  // as a backup's link
  // Given only if no other descriptor of the file is open, and without a name none can come.
  if (::fcntl(descriptor, F_SETLEASE, F_WRLCK) != 0) return;
  for (std::int64_t left = about.st_size; left > kBite;) {
    left -= kBite;
    const auto began = std::chrono::steady_clock::now();
    if (::ftruncate(descriptor, left) != 0) return;
    if (!pause((std::chrono::steady_clock::now() - began) * kPauses)) return;
  }
}

bool FileReleaser::pause(std::chrono::nanoseconds time) {
  std::unique_lock lock(mutex_);
  return !work_.wait_for(
      lock, time, [this] { return ending_ || drains_ > 0 || waiting_.size() > kManyWaiting; });
}

}  // namespace segue::storage
