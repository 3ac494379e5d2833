#pragma once

#include <string>

#include "bench/matrix/budgets.h"
#include "common/status.h"

namespace segue::bench {

/// Declares `count` queues, and publishes to and consumes from another one at a steady rate: first
/// alone, then while a policy that matches all of them is set, replaced and deleted all the time.
/// Markdown: the latencies side by side, and how long a change took to be answered.
Result<std::string> measure_policies(const BudgetOptions& options);

}  // namespace segue::bench
