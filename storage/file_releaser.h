#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>
#include <thread>

#include "storage/posix_file.h"

namespace segue::storage {

/// Gives the space of removed files back, on a thread of its own and in small bites. The system
/// does so when a file's last descriptor is closed: for a large one that takes it 10 ms and more
/// (pages of the cache, discards to the device), in which the caller would do nothing else, and
/// syncs of other files wait.
///
/// Any thread. The thread is started by the first file; the destructor closes what is left.
class FileReleaser {
 public:
  /// Files that may wait; with more the caller closes.
  static constexpr std::size_t kMostWaiting = 64;

  FileReleaser() = default;
  ~FileReleaser();
  FileReleaser(const FileReleaser&) = delete;
  FileReleaser& operator=(const FileReleaser&) = delete;

  /// Of a file that has lost its name, open for writing. It is cut short, bite by bite, if it has
  /// no other name and nobody else has it open; and closed.
  void release(FileDescriptor descriptor);
  /// Returns when none waits or is being closed. There is no pause between bites meanwhile.
  void drain();

 private:
  void run();
  void cut(int descriptor);
  /// False, at once, if there is no time for it.
  bool pause(std::chrono::nanoseconds time);

  std::mutex mutex_;  // guards what follows
  std::condition_variable work_;
  std::condition_variable idle_;
  std::deque<FileDescriptor> waiting_;
  bool closing_ = false;
  int drains_ = 0;
  bool ending_ = false;
  std::thread thread_;
};

}  // namespace segue::storage
