#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "common/clock.h"
#include "common/status.h"
#include "storage/backup_manifest.h"
#include "storage/file_system.h"

namespace segue::storage {

/// How far it is: called after each piece. False ends it, as a failure does.
using BackupProgress = std::function<bool(std::uint64_t copied_bytes, std::uint64_t total_bytes)>;

/// Copies the data directory of a node that does not run into `target`, which must be empty or not
/// there, and puts a manifest there last. The directory is locked meanwhile and stays as it is.
/// After a failure nothing is left in the target. INVALID_CONFIG when a node runs on it, it is no
/// data directory, or the target is not empty; NO_SPACE before anything is written.
Result<BackupManifest> back_up(FileSystem& files, const Clock& clock, const std::string& directory,
                               const std::string& target, const BackupProgress& progress);

/// Makes `directory`, which must be empty or not there, the data directory that the backup in
/// `source` is of: each file is compared with the manifest while it is copied, everything is
/// synced, and the identity, without which no node starts, is written last. After a failure nothing
/// is left in the directory. CORRUPTION names the file of the backup that is damaged or missing;
/// INVALID_CONFIG and NO_SPACE as above.
Result<BackupManifest> restore(FileSystem& files, const std::string& source,
                               const std::string& directory, const BackupProgress& progress);

}  // namespace segue::storage
