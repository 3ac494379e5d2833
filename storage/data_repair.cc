#include "storage/data_repair.h"

#include "storage/backup_manifest.h"
#include "storage/node_directories.h"
#include "storage/node_repair.h"
#include "storage/rehearsal_file_system.h"
#include "storage/start_trial.h"

namespace segue::storage {

namespace {

class DataRepair {
 public:
  DataRepair(FileSystem& files, const LockedDirectories& locked, const DataRepairOptions& options)
      : files_(files), locked_(locked), options_(options) {}

  Result<RepairTotals> run() {
    RehearsalFileSystem trial(files_, RehearsalFileSystem::Locks::kCallerHas);
    auto tried = repair(trial, {});
    if (!tried.is_ok()) return tried;
    if (tried->left == 0) {
      for (const std::string& node : locked_.nodes) {
        const Status start = try_start(trial, node);
        if (!start.is_ok()) return refuse(node, start);
      }
    }
    return repair(files_, options_.told);
  }

 private:
  Result<RepairTotals> repair(FileSystem& files, const RepairWork::Told& told) {
    RepairTotals totals;
    for (const std::string& node : locked_.nodes) {
      ++totals.nodes;
      RepairWork work(files, locked_.root, node, options_.folder, [&](const RepairStep& step) {
        ++(step.done ? totals.repairs : totals.left);
        totals.loss += step.loss;
        if (told) told(step);
      });
      SEGUE_RETURN_IF_ERROR(NodeRepair(work, options_).run());
      totals.kept = totals.kept || work.keeps();
    }
    return totals;
  }

  Result<RepairTotals> refuse(const std::string& node, const Status& reason) {
    RepairTotals totals;
    totals.nodes = locked_.nodes.size();
    RepairWork work(files_, locked_.root, node, options_.folder, [&](const RepairStep& step) {
      ++totals.left;
      if (options_.told) options_.told(step);
    });
    work.cannot(node, "would not start after what a repair can do either: " + reason.message() +
                          ". So nothing is changed. Restore the directory from a backup");
    return totals;
  }

  FileSystem& files_;
  const LockedDirectories& locked_;
  const DataRepairOptions& options_;
};

}  // namespace

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
  return DataRepair(files, *locked, options).run();
}

}  // namespace segue::storage
