#pragma once

#include <string>

#include "bench/matrix/budgets.h"
#include "common/status.h"

namespace segue::bench {

/// Publishes `count` messages of 1 KiB, each with a random time to live, to one queue that nobody
/// reads, kills the node with SIGKILL and lets it come back, so that the queue is on its disk.
/// Markdown: how late messages left the queue, what its files took beside what was valid in them,
/// and the node's peak memory. Fails when a message goes before its time, or stays.
Result<std::string> measure_expiry(const BudgetOptions& options);

}  // namespace segue::bench
