#pragma once

#include <string>

#include "storage/check_report.h"
#include "storage/file_system.h"

namespace segue::storage {

/// A backup's directory, one with a manifest: whether the manifest is sound, and every file is as
/// it says, as a restore will ask. Reads all files once.
void check_manifest(FileSystem& files, const std::string& directory, CheckReport& report);

}  // namespace segue::storage
