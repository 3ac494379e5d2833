#include "storage/data_check.h"

#include "storage/node_check.h"
#include "storage/node_directories.h"

namespace segue::storage {

Result<CheckTotals> check_data(FileSystem& files, const std::string& directory,
                               const DataCheckOptions& options) {
  const auto locked = lock_node_directories(files, directory);
  if (!locked.is_ok()) return locked.status();
  CheckReport report(locked->root, options.found, options.progress);
  for (const std::string& node : locked->nodes) NodeCheck(files, report, node, options).run();
  report.finish();
  return report.totals();
}

}  // namespace segue::storage
