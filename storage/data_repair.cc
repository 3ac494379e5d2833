#include "storage/data_repair.h"

#include <memory>
#include <utility>

#include "storage/backup_manifest.h"
#include "storage/data_directory.h"
#include "storage/node_directories.h"
#include "storage/node_repair.h"

namespace segue::storage {

Result<RepairTotals> repair_data(FileSystem& files, const std::string& directory,
                                 const DataRepairOptions& options) {
  std::string root = directory;
  while (root.size() > 1 && root.back() == '/') root.pop_back();
  auto nodes = find_node_directories(files, root);
  if (!nodes.is_ok()) return nodes.status();
  std::vector<std::unique_ptr<FileLock>> locks;
  for (const std::string& node : *nodes) {
    if (files.exists(node + "/" + kBackupManifestName)) {
      return Status(Code::kInvalidConfig,
                    node +
                        ": is a backup, and would be none any more: restore it (segue restore), "
                        "and repair what that makes");
    }
    auto lock = DataDirectory::lock_existing(files, node);
    if (!lock.is_ok()) return lock.status();
    locks.push_back(std::move(*lock));
  }
  RepairTotals totals;
  for (const std::string& node : *nodes) {
    ++totals.nodes;
    RepairWork work(files, root, node, options.folder, options.rehearsal,
                    [&](const RepairStep& step) {
                      ++(step.done ? totals.repairs : totals.left);
                      if (options.told) options.told(step);
                    });
    SEGUE_RETURN_IF_ERROR(NodeRepair(work, options).run());
  }
  return totals;
}

}  // namespace segue::storage
