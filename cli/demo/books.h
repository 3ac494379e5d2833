#pragma once

#include <mutex>
#include <utility>

#include "cli/demo/checker.h"

namespace segue::cli::demo {

/// The checker, for all threads of a run: producers' confirms, consumers' deliveries and the run
/// itself meet in it. The lock is taken once for what came together, and never held while waiting.
class Books {
 public:
  Books(const RecordFile& file, const PublishPlan& plan, const std::vector<QueuePlan>& queues)
      : checker_(file, plan, queues) {}

  /// Calls `work` with the checker; what it returns.
  template <typename Work>
  decltype(auto) with(Work&& work) {
    const std::lock_guard lock(mutex_);
    return std::forward<Work>(work)(checker_);
  }

 private:
  std::mutex mutex_;
  Checker checker_;
};

}  // namespace segue::cli::demo
