#pragma once

#include <cstdint>
#include <string>

#include "common/status.h"
#include "storage/file_system.h"

namespace segue::storage {

/// Writes "<total>\t<valid>\n" into the queue directory's file `queue_stat`: for people who look at
/// the disk. Not synced and never read back.
Status write_queue_stat(FileSystem& files, const std::string& directory, std::uint64_t total,
                        std::uint64_t valid);

}  // namespace segue::storage
