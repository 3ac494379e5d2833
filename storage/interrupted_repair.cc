#include "storage/interrupted_repair.h"

namespace segue::storage {

Status expect_no_interrupted_repair(FileSystem& files, const std::string& directory) {
  for (const char* const name : {kMovedShards, kMovedSegments, kMadeLogCounts}) {
    const std::string path = directory + "/" + name;
    if (!files.exists(path)) continue;
    return Status(Code::kCorruption,
                  path +
                      ": is of a repair that was interrupted while files changed places. Run "
                      "segue check --repair again: it goes on where it was");
  }
  return {};
}

}  // namespace segue::storage
