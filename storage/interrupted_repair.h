#pragma once

#include <string>

#include "common/status.h"
#include "storage/file_system.h"

namespace segue::storage {

/// What a repair has, below a node's directory, while files change places; nothing else touches it.
inline constexpr const char* kMovedShards = "shards.named";
inline constexpr const char* kMovedSegments = "segments.named";
/// The log that a repair writes, and what says that it counts.
inline constexpr const char* kMadeLog = "wal.repaired";
inline constexpr const char* kMadeLogCounts = "wal.repaired/whole";

/// CORRUPTION when a repair of the directory was interrupted where it has to go on: a node that was
/// started now would miss what is still on its way, and go on without it.
Status expect_no_interrupted_repair(FileSystem& files, const std::string& directory);

}  // namespace segue::storage
