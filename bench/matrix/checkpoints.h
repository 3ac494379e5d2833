#pragma once

#include <string>

#include "bench/matrix/budgets.h"
#include "common/status.h"

namespace segue::bench {

/// Latencies at half the rate that the broker can do, without a checkpoint, the log going on in
/// files that were prepared before; and with one after each 256 MiB of the log, in files that are
/// used again. Three times. Markdown: the medians side by side. `count` means nothing.
Result<std::string> measure_checkpoints(const BudgetOptions& options);

}  // namespace segue::bench
