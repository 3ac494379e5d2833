#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "cli/demo/checker.h"

namespace segue::cli::demo {

/// One line of the report's table.
struct QueueReport {
  std::string queue;
  std::vector<std::string> patterns;
  std::uint32_t shard = 0;
  std::string node;
  QueueCounts counts;
  std::chrono::nanoseconds active{0};  // from the first to the last delivery
};

/// The table of queues, shards, nodes, counts and rates.
std::string report_table(const std::vector<QueueReport>& queues);

/// A line for each check, "ok" or "FAILED" with examples, and a last line that begins with "OK" or
/// "FAILED".
std::string report_findings(const std::vector<Finding>& findings);

bool all_passed(const std::vector<Finding>& findings);

}  // namespace segue::cli::demo
