#pragma once

#include <string>
#include <vector>

#include "common/status.h"
#include "storage/file_system.h"

namespace segue::storage {

/// The data directories of nodes: `directory` itself, or those right below, as `segue up` makes
/// them. INVALID_CONFIG if there is none; IO_ERROR.
Result<std::vector<std::string>> find_node_directories(FileSystem& files,
                                                       const std::string& directory);

}  // namespace segue::storage
