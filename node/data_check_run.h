#pragma once

#include <string>

namespace segue::node {

/// `segue-node --check-data`: verifies a data directory (storage/data_check.h) and prints what it
/// found, as a table and a summary line, or as JSON; how far it is goes to standard error if that
/// is a terminal. The program's exit code.
int run_data_check(const std::string& directory, bool json);

}  // namespace segue::node
