#pragma once

#include <cstdint>
#include <string>

#include "common/status.h"
#include "storage/file_system.h"
#include "storage/repair_work.h"

namespace segue::storage {

/// Gives files of the log, of this node, the names that their headers say, where these are free:
/// such files were swapped or renamed. What is done is told. May be interrupted and
/// run again.
Status correct_wal_names(RepairWork& work, const std::string& directory, std::uint64_t node_hash);

}  // namespace segue::storage
