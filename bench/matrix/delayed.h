#pragma once

#include <string>

#include "bench/matrix/budgets.h"
#include "common/status.h"

namespace segue::bench {

/// Publishes `count` messages of 100 B to one queue, to be delivered at random times within an
/// hour, kills the node with SIGKILL, lets it come back, and consumes for a minute once they come.
/// Markdown: rates, how late each was, the node's memory. Fails when one comes before its time,
/// twice, or out of the order of times.
Result<std::string> measure_delayed(const BudgetOptions& options);

}  // namespace segue::bench
