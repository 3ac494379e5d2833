#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "common/status.h"

namespace segue::bench {

struct BudgetOptions {
  std::string binaries;   // where segue-router and segue-node are
  std::string directory;  // for data; on the disk that is to be measured. Left empty again.
  std::uint64_t count = 0;
  std::size_t bytes = 1024;  // of a message's body, for the backlog; at least 8
  std::function<void(const std::string&)> progress;
};

/// Declares `count` queues on one node, pipelined; lists them; kills the node with SIGKILL and
/// waits for all to be back. Markdown: rates, times, memory and file descriptors for each queue.
/// Fails when a queue is missing at the end.
Result<std::string> measure_queues(const BudgetOptions& options);

/// Publishes `count` messages to one queue, kills the node with SIGKILL, waits until it serves the
/// queue again, and drains it. Markdown: rates, times, and the node's peak memory in each part.
/// Fails when a message is missing, twice, or out of order.
Result<std::string> measure_backlog(const BudgetOptions& options);

}  // namespace segue::bench
