#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "storage/check_report.h"

namespace segue::node {

/// What a check of a data directory says, for people and for scripts.
struct DataCheckResult {
  std::string directory;
  storage::CheckTotals totals;
  std::vector<storage::CheckFinding> findings;  // the first ones
  std::uint64_t left_out = 0;                   // findings that are not among them
  double seconds = 0;
};

/// A table of what was found, if anything, and a line that sums up.
std::string data_check_text(const DataCheckResult& result);
/// One JSON object.
std::string data_check_json(const DataCheckResult& result);
std::string data_check_finding_json(const storage::CheckFinding& finding);
/// "1.5 MiB".
std::string amount_of_bytes(std::uint64_t bytes);
/// "12 files, 3,000 messages, 1.5 MiB".
std::string data_check_amount(const storage::CheckTotals& totals);
/// What comes from the disk, for a terminal: nothing in it but characters that show.
std::string data_check_printable(std::string_view text);

}  // namespace segue::node
