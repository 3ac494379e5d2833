#include "storage/node_directories.h"

#include <array>
#include <utility>

#include "storage/data_directory.h"

namespace segue::storage {

namespace {

/// A node's data, perhaps without its identity.
bool is_nodes(FileSystem& files, const std::string& directory) {
  constexpr std::array kNames{"identity", "wal", "shards", "catalog.db"};
  for (const char* const name : kNames) {
    if (files.exists(directory + "/" + name)) return true;
  }
  return false;
}

}  // namespace

Status expect_directory(FileSystem& files, const std::string& directory) {
  if (files.list(directory).is_ok()) return {};
  if (!files.exists(directory)) {
    return Status(Code::kNotFound, directory + ": there is no such directory");
  }
  return Status(Code::kNotFound,
                directory + ": is no directory, or one that this user may not read");
}

Result<std::vector<std::string>> find_node_directories(FileSystem& files,
                                                       const std::string& directory) {
  SEGUE_RETURN_IF_ERROR(expect_directory(files, directory));
  auto names = files.list(directory);
  if (!names.is_ok()) return names.status();
  if (is_nodes(files, directory)) return std::vector<std::string>{directory};
  std::vector<std::string> nodes;
  for (const std::string& name : *names) {
    if (is_nodes(files, directory + "/" + name)) nodes.push_back(directory + "/" + name);
  }
  if (!nodes.empty()) return nodes;
  return Status(Code::kInvalidConfig,
                directory +
                    ": is no data directory of a node, nor has it any right below: give the "
                    "directory that the configuration's data_dir names");
}

Result<LockedDirectories> lock_node_directories(FileSystem& files, const std::string& directory) {
  LockedDirectories locked;
  locked.root = directory;
  while (locked.root.size() > 1 && locked.root.back() == '/') locked.root.pop_back();
  auto nodes = find_node_directories(files, locked.root);
  if (!nodes.is_ok()) return nodes.status();
  locked.nodes = std::move(*nodes);
  for (const std::string& node : locked.nodes) {
    auto lock = DataDirectory::lock_existing(files, node);
    if (lock.status().code() == Code::kIoError) {
      return Status(Code::kNotFound,
                    lock.status().message() + ": do this as the user that the node runs as");
    }
    if (!lock.is_ok()) return lock.status();
    locked.locks.push_back(std::move(*lock));
  }
  return locked;
}

}  // namespace segue::storage
