#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "common/ids.h"
#include "common/routing/queue_set.h"
#include "common/routing/string_map.h"

namespace segue {

/// Queues by exact routing key. A lookup costs one hash, however many keys there are.
class DirectTable {
 public:
  void add(std::string_view routing_key, QueueId queue);
  /// Takes one binding of the queue by this key away.
  void remove(std::string_view routing_key, QueueId queue);
  /// Sets `queues` to those bound by the key, in the order of their ids.
  void match(std::string_view routing_key, std::vector<QueueId>& queues) const;
  std::size_t key_count() const { return queues_.size(); }

 private:
  StringMap<QueueSet> queues_;
};

}  // namespace segue
