#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "common/ids.h"

namespace segue {

/// Queues, each with how many bindings lead to it.
class QueueSet {
 public:
  void add(QueueId queue) { ++bindings_[queue]; }

  /// Takes one binding away. The queue has one.
  void remove(QueueId queue) {
    const auto found = bindings_.find(queue);
    if (found != bindings_.end() && --found->second == 0) bindings_.erase(found);
  }

  bool empty() const { return bindings_.empty(); }

  /// Appends the queues in the order of their ids.
  void append_to(std::vector<QueueId>& queues) const {
    for (const auto& [queue, count] : bindings_) queues.push_back(queue);
  }

 private:
  std::map<QueueId, std::uint32_t> bindings_;
};

}  // namespace segue
