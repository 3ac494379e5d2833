#pragma once

#include <string>

#include "bench/matrix/budgets.h"
#include "common/status.h"

namespace segue::bench {

/// Latencies at half the rate that the broker can do, while the garbage of another queue of
/// `count` messages of 1 KiB (two of three are acknowledged) lies there, and while it is being
/// collected; three times. Markdown: the medians side by side, what was copied, how long the node
/// did nothing else.
Result<std::string> measure_garbage(const BudgetOptions& options);

}  // namespace segue::bench
