#pragma once

#include <string>

#include "bench/matrix/budgets.h"
#include "common/status.h"

namespace segue::bench {

/// Publishes to one queue as fast as it takes 1 KiB messages, and acknowledges as fast as they
/// come, but always a random one of the `count` that are held: every file soon is full of holes.
/// Markdown: what the queue's files take over time beside what is valid in them, and what was
/// copied for it. Fails when they do not come within their bound once the load has ended.
Result<std::string> measure_churn(const BudgetOptions& options);

}  // namespace segue::bench
