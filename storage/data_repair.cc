#include "storage/data_repair.h"

#include "storage/backup_manifest.h"
#include "storage/node_directories.h"
#include "storage/node_repair.h"

namespace segue::storage {

Result<RepairTotals> repair_data(FileSystem& files, const std::string& directory,
                                 const DataRepairOptions& options) {
  const auto locked = lock_node_directories(files, directory);
  if (!locked.is_ok()) return locked.status();
  for (const std::string& node : locked->nodes) {
    if (files.exists(node + "/" + kBackupManifestName)) {
      return Status(Code::kInvalidConfig,
                    node +
                        ": is a backup, and would be none any more: restore it (segue restore), "
                        "and repair what that makes");
    }
  }
  RepairTotals totals;
  for (const std::string& node : locked->nodes) {
    ++totals.nodes;
    RepairWork work(files, locked->root, node, options.folder, [&](const RepairStep& step) {
      ++(step.done ? totals.repairs : totals.left);
      totals.loss += step.loss;
      if (options.told) options.told(step);
    });
    SEGUE_RETURN_IF_ERROR(NodeRepair(work, options).run());
    totals.kept = totals.kept || work.keeps();
  }
  return totals;
}

}  // namespace segue::storage
