#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "common/status.h"
#include "storage/file_system.h"
#include "storage/repair_work.h"

namespace segue::storage {

/// Gives files of the log, of this node, the names that their headers say, where these are free:
/// such files were swapped or renamed. What is done is told. `moved`: what got, or in a rehearsal
/// would get, another path: the old one by the new. May be interrupted and run again.
Status correct_wal_names(RepairWork& work, const std::string& directory, std::uint64_t node_hash,
                         std::map<std::string, std::string>& moved);

/// The files of `files`, some of them under other paths; only to be read. For a rehearsal, which
/// changes no names.
class RenamedFiles final : public FileSystem {
 public:
  /// `moved`: the real path by the one to be used.
  RenamedFiles(FileSystem& files, std::map<std::string, std::string> moved);

  Result<std::unique_ptr<File>> open(const std::string& path, OpenMode mode) override;
  Result<std::vector<std::string>> list(const std::string& path) override;
  bool exists(const std::string& path) override;
  Status rename(const std::string& from, const std::string& to) override;
  Status link(const std::string& from, const std::string& to) override;
  Status remove(const std::string& path) override;
  Status remove_directory(const std::string& path) override;
  Status make_directories(const std::string& path) override;
  Status sync_directory(const std::string& path) override;
  Status sync_all(const std::string& path) override;
  Result<std::uint64_t> free_bytes(const std::string& path) override;
  Result<std::unique_ptr<FileLock>> lock(const std::string& path) override;

 private:
  FileSystem& files_;
  const std::map<std::string, std::string> moved_;
  std::set<std::string> hidden_;  // real paths that are seen under others only
};

}  // namespace segue::storage
