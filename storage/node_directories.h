#pragma once

#include <memory>
#include <string>
#include <vector>

#include "common/status.h"
#include "storage/file_system.h"

namespace segue::storage {

/// NOT_FOUND, in a sentence, if it is not there, is no directory, or may not be read by this user.
Status expect_directory(FileSystem& files, const std::string& directory);

/// The data directories of nodes: `directory` itself, or those right below, as `segue up` makes
/// them. INVALID_CONFIG if there is none; IO_ERROR.
Result<std::vector<std::string>> find_node_directories(FileSystem& files,
                                                       const std::string& directory);

/// These directories, which no node can use meanwhile.
struct LockedDirectories {
  std::string root;  // the one that was asked for, without a slash at its end
  std::vector<std::string> nodes;
  std::vector<std::unique_ptr<FileLock>> locks;
};

/// As find_node_directories(), and locks all; INVALID_CONFIG if one is in use.
Result<LockedDirectories> lock_node_directories(FileSystem& files, const std::string& directory);

}  // namespace segue::storage
