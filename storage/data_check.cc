#include "storage/data_check.h"

#include <memory>
#include <vector>

#include "storage/data_directory.h"
#include "storage/node_check.h"
#include "storage/node_directories.h"

namespace segue::storage {

Result<CheckTotals> check_data(FileSystem& files, const std::string& directory,
                               const DataCheckOptions& options) {
  std::string root = directory;
  while (root.size() > 1 && root.back() == '/') root.pop_back();
  auto nodes = find_node_directories(files, root);
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
