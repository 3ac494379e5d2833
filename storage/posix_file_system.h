#pragma once

#include <memory>
#include <string>
#include <vector>

#include "storage/file_system.h"

namespace segue::storage {

/// The machine's files. Stateless; safe from any thread.
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
};

}  // namespace segue::storage
