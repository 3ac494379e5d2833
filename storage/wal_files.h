#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "common/clock.h"
#include "common/random.h"
#include "common/status.h"
#include "storage/file_system.h"
#include "storage/wal_options.h"
#include "storage/wal_recovery.h"

namespace segue::storage {

/// A file with a header and zeros (or stale bytes) behind it, durable under its name: to be written
/// from its second block on.
struct PreparedWalFile {
  std::uint64_t number = 0;
  std::uint64_t bytes = 0;
  std::uint64_t seed = 0;
  std::unique_ptr<File> file;
};

/// Makes the WAL's files ahead of need, and recycles those that are no longer needed.
///
/// Shared by three threads: the background thread prepares, the WAL thread takes, the reactor
/// releases and asks. The mutex guards the lists of files, which change once per file; it is not
/// held over I/O.
class WalFiles {
 public:
  WalFiles(FileSystem& files, const WalOptions& options);

  /// Takes over the directory as recovery found it: files without records become spares. Prepares
  /// one file, unless the disk is full: then is_short(). Before anything else, on one thread.
  Status open(const RecoveredWal& recovered);

  /// The file's records are no longer needed. To be called in the files' order.
  void release(std::uint64_t number, std::uint64_t file_bytes);
  /// Released files with this number or a higher one stay, until this is called again.
  void keep_from(std::uint64_t number);
  /// True when prepare() has something to do. Cheap.
  bool wants_preparation() const;
  /// Recycles what was released, then prepares files until there are enough. Does nothing while
  /// another thread is at it.
  void prepare();
  /// The next file to write to. Waits for one to be prepared, or prepares it here when nobody else
  /// is at it; without space, tries again about each second until `stopping`. Fails only then.
  Result<PreparedWalFile> take(const std::atomic<bool>& stopping);
  /// Waits about a second, or until space may have come, or `stopping`.
  void wait_for_space(const std::atomic<bool>& stopping);
  /// Ends waiting early: something has changed.
  void wake();

  /// Bytes that can be written to prepared files.
  std::uint64_t prepared_bytes() const { return prepared_bytes_.load(std::memory_order_relaxed); }
  /// True from a failure to make a file (or to write to one for lack of space) until one could be
  /// made.
  bool is_short() const { return short_.load(std::memory_order_acquire); }
  /// Why; empty when all is well.
  std::string problem() const;
  void set_problem(const Status& status);

 private:
  struct Released {
    std::uint64_t number;
    std::uint64_t bytes;
  };

  Status sweep(const RecoveredWal& recovered);
  Status recycle_released();
  void count_recyclable();  // with the mutex held
  Status recycle(const Released& file);
  Status prepare_one();
  Result<std::string> next_spare();
  Status drop_surplus();
  Status fill(File& file);
  Result<std::unique_ptr<File>> open_file(const std::string& path);
  std::string path_of(const std::string& name) const { return options_.directory + "/" + name; }
  void clear_problem();
  void wait_for_wake(std::uint64_t seen, const std::atomic<bool>& stopping);

  FileSystem& files_;
  const WalOptions options_;
  const std::uint64_t wanted_bytes_;  // to have prepared
  const SystemClock system_clock_;
  const Clock& clock_;
  SystemRandom system_random_;
  Random& random_;

  // Of the thread that prepares (see preparing_).
  bool direct_;
  std::uint64_t next_number_ = 1;
  std::deque<std::string> spares_;  // names

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool preparing_ = false;  // one thread at a time
  std::deque<PreparedWalFile> prepared_;
  std::deque<Released> released_;
  std::uint64_t keep_from_ = ~std::uint64_t{0};
  std::string problem_;
  std::uint64_t wakes_ = 0;
  std::atomic<std::uint64_t> prepared_bytes_{0};
  std::atomic<std::uint64_t> recyclable_{0};  // of released_
  std::atomic<bool> short_{false};
  std::atomic<std::int64_t> retry_at_{0};  // nanoseconds of the clock
};

}  // namespace segue::storage
