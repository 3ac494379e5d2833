#pragma once

#include <string>

#include "common/status.h"
#include "storage/file_system.h"

namespace segue::storage {

/// What a start on the node's directory, whose lock the caller has, would be refused for: goes as
/// far as one that has verified everything and would now begin to change files. Changes nothing.
/// The catalog is not looked at.
Status try_start(FileSystem& files, const std::string& directory);

}  // namespace segue::storage
