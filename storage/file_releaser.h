#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>
#include <thread>

#include "storage/posix_file.h"

namespace segue::storage {

/// Closes descriptors of removed files on a thread of its own. The system gives a file's space back
/// when the last descriptor of it is closed; that takes it a millisecond, and 10 and more for a
/// large one (pages of the cache, discards to the device), in which the caller would do nothing
/// else.
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

  void release(FileDescriptor descriptor);
  /// Returns when none waits or is being closed.
  void drain();

 private:
  void run();

  std::mutex mutex_;  // guards what follows
  std::condition_variable work_;
  std::condition_variable idle_;
  std::deque<FileDescriptor> waiting_;
  bool closing_ = false;
  bool ending_ = false;
  std::thread thread_;
};

}  // namespace segue::storage
