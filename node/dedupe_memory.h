#pragma once

#include <vector>

#include "common/clock.h"
#include "common/logging.h"
#include "node/memory_budget.h"
#include "node/queue_table.h"

namespace segue::node {

/// Forgets ids of deduplication windows: those whose time is over, and, while all windows of the
/// node together take more than their share of its memory, the oldest of the largest windows.
/// Without the second, windows could fill the node until it takes no publishes, and nothing that
/// clients do would end that. Reactor's thread.
class DedupeMemory {
 public:
  /// All outlive it.
  DedupeMemory(QueueTable& queues, const MemoryBudget& memory, Logger& log)
      : queues_(queues), memory_(memory), log_(log) {}

  /// About every 100 ms.
  void on_tick(TimePoint now, std::int64_t wall_ms);

 private:
  void shrink(TimePoint now, std::uint64_t total);

  QueueTable& queues_;
  const MemoryBudget& memory_;
  Logger& log_;
  TimePoint next_warning_{};
};

}  // namespace segue::node
