#pragma once

#include <string>

#include "node/data_check_text.h"
#include "node/exit_codes.h"
#include "storage/data_repair.h"

namespace segue::node {

/// What a repair has done, for people and for scripts.
struct DataRepairResult {
  std::string directory;
  std::string folder;
  bool rehearsal = false;
  storage::RepairTotals totals;
  DataCheckResult after;  // what a check finds afterwards

  /// All that is lost: by what the repair has met, and by what it leaves.
  storage::RepairLoss loss() const;
};

/// The program's exit code.
ExitCode data_repair_exit_code(const DataRepairResult& result);
/// A step, as soon as it is known.
std::string data_repair_step_text(const storage::RepairStep& step, bool rehearsal);
std::string data_repair_step_json(const storage::RepairStep& step);
/// What sums up.
std::string data_repair_summary(const DataRepairResult& result);
/// One JSON object; `steps`: those of data_repair_step_json(), with commas in between.
std::string data_repair_json(const DataRepairResult& result, const std::string& steps);

}  // namespace segue::node
