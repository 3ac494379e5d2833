#pragma once

#include <memory>
#include <string>
#include <vector>

#include "storage/file_releaser.h"
#include "storage/file_system.h"

namespace segue::storage {

/// The machine's files. Safe from any thread. The space of a large file that is removed comes back
/// a little after the call, at the latest when this object is destroyed.
class PosixFileSystem final : public FileSystem {
 public:
  Result<std::unique_ptr<File>> open(const std::string& path, OpenMode mode) override;
  Status rename(const std::string& from, const std::string& to) override;
  Status link(const std::string& from, const std::string& to) override;
  Status remove(const std::string& path) override;
  Status remove_directory(const std::string& path) override;
  Status make_directories(const std::string& path) override;
  Status sync_directory(const std::string& path) override;
  Status sync_all(const std::string& path) override;
  Result<std::vector<std::string>> list(const std::string& path) override;
  bool exists(const std::string& path) override;
  Result<std::uint64_t> free_bytes(const std::string& path) override;
  Result<std::unique_ptr<FileLock>> lock(const std::string& path) override;

 private:
  FileReleaser releaser_;
};

/// The path without links and dots, as far as it exists; as it is where that cannot be told.
std::string resolved_path(const std::string& path);

/// Makes the file, empty and with the permissions of all files that are made here, if it is not
/// there: for a library that would give it others. IO_ERROR, NO_SPACE.
Status make_empty_file(const std::string& path);

}  // namespace segue::storage
