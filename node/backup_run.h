#pragma once

#include <string>

namespace segue::node {

/// Copies the data directory of a node that does not run to `target` (storage/offline_backup.h),
/// says on standard output what it did, and shows on a terminal how far it is. The program's exit
/// code. A signal ends it; nothing is left in the target then.
int run_backup(const std::string& directory, const std::string& target, bool json);

/// The way back: makes `directory` out of the backup.
int run_restore(const std::string& backup, const std::string& directory, bool json);

}  // namespace segue::node
