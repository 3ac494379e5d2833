#include "storage/data_check.h"

#include <array>
#include <memory>
#include <vector>

#include "storage/data_directory.h"
#include "storage/node_check.h"

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

Result<std::vector<std::string>> find_nodes(FileSystem& files, const std::string& directory) {
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

}  // namespace

Result<CheckTotals> check_data(FileSystem& files, const std::string& directory,
                               const DataCheckOptions& options) {
  std::string root = directory;
  while (root.size() > 1 && root.back() == '/') root.pop_back();
  auto nodes = find_nodes(files, root);
  if (!nodes.is_ok()) return nodes.status();
  std::vector<std::unique_ptr<FileLock>> locks;
  for (const std::string& node : *nodes) {
    auto lock = DataDirectory::lock_existing(files, node);
    if (!lock.is_ok()) return lock.status();
    locks.push_back(std::move(*lock));
  }
  CheckReport report(root, options.found, options.progress);
  for (const std::string& node : *nodes) NodeCheck(files, report, node, options).run();
  report.finish();
  return report.totals();
}

}  // namespace segue::storage
