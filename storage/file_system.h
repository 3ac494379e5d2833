#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/status.h"

namespace segue::storage {

/// An open file. One thread at a time. Closing does not sync.
///
/// All calls retry EINTR and short transfers; a failure is IO_ERROR, or NO_SPACE for ENOSPC and
/// EDQUOT, and names path, action, offset and the system's reason.
class File {
 public:
  virtual ~File() = default;
  /// Reads up to `size` bytes at `offset`; fewer only at the end of the file.
  virtual Result<std::size_t> read(std::uint64_t offset, char* to, std::size_t size) = 0;
  /// Writes all pieces back to back at `offset` (pwritev).
  virtual Status write(std::uint64_t offset, std::span<const std::string_view> pieces) = 0;
  /// Has the system begin to write these bytes to the disk, so that a sync later waits less. Only
  /// advice: nothing is durable by it, and it may do nothing.
  virtual void begin_sync(std::uint64_t /*offset*/, std::uint64_t /*size*/) {}
  /// Makes content and size durable (fdatasync). After a failure nothing is known of earlier
  /// writes.
  virtual Status sync() = 0;
  virtual Status truncate(std::uint64_t size) = 0;
  virtual Result<std::uint64_t> size() = 0;
  const std::string& path() const { return path_; }

 protected:
  explicit File(std::string path) : path_(std::move(path)) {}

 private:
  std::string path_;
};

enum class OpenMode {
  kRead,        // must exist
  kReadWrite,   // made if missing
  kReadFresh,   // as kRead, but what the page cache has of it already, and the disk has too, is
                // forgotten first: what is read is what is on the disk, and can be read again
                // cheaply
  kReadDirect,  // as kRead, past the page cache (O_DIRECT): offsets, sizes and memory aligned to
                // 4096
  kReadWriteDirect,  // as kReadWrite, O_DIRECT; where the file system refuses that, NOT_IMPLEMENTED
};

/// A lock on a file, held until destroyed (or the process dies).
class FileLock {
 public:
  virtual ~FileLock() = default;
};

/// The system calls on files that storage makes, so that tests can break them. Safe from any
/// thread.
class FileSystem {
 public:
  virtual ~FileSystem() = default;
  virtual Result<std::unique_ptr<File>> open(const std::string& path, OpenMode mode) = 0;
  /// Replaces `to` if it exists. Durable after sync_directory of the parent.
  virtual Status rename(const std::string& from, const std::string& to) = 0;
  /// Gives the file a second name, which must not be taken: both are the same file from then on.
  /// NOT_IMPLEMENTED where the file system has no hard links.
  virtual Status link(const std::string& from, const std::string& to) = 0;
  /// No error if the file is missing.
  virtual Status remove(const std::string& path) = 0;
  /// Removes an empty directory; no error if missing.
  virtual Status remove_directory(const std::string& path) = 0;
  /// Makes the directory and its parents; no error if it exists.
  virtual Status make_directories(const std::string& path) = 0;
  /// Makes names made, renamed or removed in the directory durable.
  virtual Status sync_directory(const std::string& path) = 0;
  /// Makes everything that was written on the file system of `path` durable, contents and names
  /// (syncfs): for many files at once.
  virtual Status sync_all(const std::string& path) = 0;
  /// Names in a directory, sorted, without "." and ".."; NOT_FOUND if missing.
  virtual Result<std::vector<std::string>> list(const std::string& path) = 0;
  virtual bool exists(const std::string& path) = 0;
  /// Bytes that this process may still write on the file system of `path`.
  virtual Result<std::uint64_t> free_bytes(const std::string& path) = 0;
  /// RESOURCE_LOCKED when another process has it.
  virtual Result<std::unique_ptr<FileLock>> lock(const std::string& path) = 0;
};

}  // namespace segue::storage
