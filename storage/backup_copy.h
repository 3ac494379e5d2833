#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "common/checksum.h"
#include "common/status.h"
#include "storage/file_system.h"

namespace segue::storage {

/// Copies one file piece by piece and takes its checksum on the way. What it copies may grow
/// meanwhile. One thread at a time.
class FileCopy {
 public:
  static constexpr std::size_t kPiece = 1 << 20;

  /// Copies the first `most` bytes of `from`, or all there are, into `to`, which is made; zeros
  /// follow up to the size `padded`, which take no space where the file system has sparse files.
  static Result<std::unique_ptr<FileCopy>> open(FileSystem& files, const std::string& from,
                                                const std::string& to, std::uint64_t most = kAll,
                                                std::uint64_t padded = 0);
  static constexpr std::uint64_t kAll = std::numeric_limits<std::uint64_t>::max();

  /// Copies the next piece; true when that was the last. Writes what is large to the disk on the
  /// way, so that it does not pile up in memory; the rest is for the caller to sync.
  Result<bool> step();
  std::uint64_t bytes() const { return offset_; }
  std::uint64_t checksum() const { return checksum_.digest(); }

 private:
  FileCopy(std::unique_ptr<File> from, std::unique_ptr<File> to, std::uint64_t most,
           std::uint64_t padded);
  Status pad();

  std::unique_ptr<File> from_;
  std::unique_ptr<File> to_;
  const std::uint64_t most_;
  const std::uint64_t padded_;
  std::uint64_t offset_ = 0;
  std::uint64_t synced_ = 0;
  StreamingChecksum checksum_;
  std::string buffer_;
};

/// The files of a node's data directory that hold messages, `log_ends` and
/// `quarantine`: directory by directory,
/// so that one step is never long. What a start would only remove is left out.
class BackupWalk {
 public:
  BackupWalk(FileSystem& files, std::string root) : files_(files), root_(std::move(root)) {}

  /// Appends paths below the root, files of one directory; false when there are no more.
  Result<bool> next(std::vector<std::string>& paths);

 private:
  Result<std::vector<std::string>> list(const std::string& below) const;

  FileSystem& files_;
  const std::string root_;
  bool begun_ = false;
  std::vector<std::string> shards_;  // "shards/7", to be looked at from the end
  std::vector<std::string> queues_;  // the current shard's, as well
};

/// Where the records end, in a .data file of this size, of which its index knows: behind these more
/// may be stored later, in the same bytes. The size, if that cannot be told or need not be.
Result<std::uint64_t> end_of_indexed(FileSystem& files, const std::string& data,
                                     std::uint64_t size);

/// Removes a file, or a directory with all that is in it; no error if it is missing.
Status remove_tree(FileSystem& files, const std::string& path);

/// Makes `path` an empty directory to write to; INVALID_CONFIG if it is there and has something in
/// it that is not `ignored`, or is in a data directory or a backup. `made`: the highest
/// directory that was made for that; empty if `path` was there.
Status prepare_empty_directory(FileSystem& files, const std::string& path,
                               const std::string& ignored, std::string& made);

/// Removes the directory, which is empty, and those above it up to `made`, as far as nobody has put
/// anything else there. Nothing if `made` is empty.
Status remove_made_directories(FileSystem& files, const std::string& path, const std::string& made);

/// NO_SPACE with all the numbers unless `bytes` in `count` files fit at `path` and `keep_free`
/// remain.
Status check_room(FileSystem& files, const std::string& path, std::uint64_t bytes,
                  std::uint64_t count, std::uint64_t keep_free);

}  // namespace segue::storage
