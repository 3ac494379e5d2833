#pragma once

#include <string>

namespace segue::node {

/// `segue-node --check-data DIR --repair`: repairs a data directory (storage/data_repair.h), or
/// with `rehearsal` only tells what that would do; prints each step in sentences, or JSON. The
/// program's exit code.
int run_data_repair(const std::string& directory, bool rehearsal, bool json);

}  // namespace segue::node
