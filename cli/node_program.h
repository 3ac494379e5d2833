#pragma once

#include <string>
#include <vector>

#include "cli/console.h"

namespace segue::cli {

/// Runs the segue-node that lies beside this program, for what is done with a node's files, and
/// waits for it: its exit code. Passes on a request to stop.
int run_node_program(Console& console, std::vector<std::string> arguments);

}  // namespace segue::cli
