#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "common/status.h"
#include "storage/file_system.h"

namespace segue::storage {

/// Who a data directory belongs to, as its file `identity` says.
struct Identity {
  std::string cluster;
  std::string node_id;
  std::uint32_t shard_count = 0;

  bool operator==(const Identity&) const = default;
  /// That of a SegmentedQueue's directory: no node's.
  static Identity of_embedded_queue() { return {"embedded", "queue", 1}; }
};

/// A node's data directory, locked for this process for as long as the object lives.
class DataDirectory {
 public:
  /// Makes the directory if it is missing, takes its lock, for which it waits up to `patience`, and
  /// checks its identity (writing it into a new directory). INVALID_CONFIG with both values and
  /// what to do: in use by another process, another node's or cluster's, a changed shard count, a
  /// newer format, files but no identity. CORRUPTION for an identity that fails its checksum.
  static Result<std::unique_ptr<DataDirectory>> open(FileSystem& files, std::string path,
                                                     const Identity& expected,
                                                     std::chrono::milliseconds patience = {});

  /// Who the directory belongs to; neither takes its lock nor writes. NOT_FOUND or IO_ERROR if the
  /// file cannot be opened, CORRUPTION and INVALID_CONFIG as above.
  static Result<Identity> read_identity(FileSystem& files, const std::string& path);
  /// Takes the lock of a directory that is there, without the rest of open(). Nothing is made: null
  /// if there is no lock file. INVALID_CONFIG if another process has it.
  static Result<std::unique_ptr<FileLock>> lock_existing(FileSystem& files,
                                                         const std::string& path);

  const std::string& path() const { return path_; }
  /// The path of something in the directory.
  std::string path_of(const std::string& name) const { return path_ + "/" + name; }
  /// True when open() made the identity: nothing was stored here before.
  bool is_new() const { return is_new_; }

 private:
  DataDirectory(std::string path, std::unique_ptr<FileLock> lock, bool is_new)
      : path_(std::move(path)), lock_(std::move(lock)), is_new_(is_new) {}

  std::string path_;
  std::unique_ptr<FileLock> lock_;
  bool is_new_;
};

}  // namespace segue::storage
