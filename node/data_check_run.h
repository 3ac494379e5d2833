#pragma once

#include <string>

#include "common/status.h"
#include "node/data_check_text.h"
#include "storage/file_system.h"

namespace segue::node {

/// Verifies a data directory (storage/data_check.h); how far it is goes to standard error if that
/// is a terminal. NOT_FOUND, INVALID_CONFIG, IO_ERROR.
Result<DataCheckResult> check_directory(storage::FileSystem& files, const std::string& directory);

/// `segue-node --check-data`: that, and prints what it found, as a table and a summary line, or as
/// JSON. The program's exit code.
int run_data_check(const std::string& directory, bool json);

}  // namespace segue::node
