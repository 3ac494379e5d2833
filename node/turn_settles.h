#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "common/ids.h"
#include "node/range_set.h"
#include "node/shard_commands.h"

namespace segue::node {

/// Sequences of several queues, gathered during a turn for one command. Neighbouring ranges are
/// joined as they come.
class TurnSettles {
 public:
  void add(QueueId queue, NumberRange range);
  bool empty() const { return queues_.empty(); }
  /// What was gathered, in pieces of at most `max_ranges` ranges (a command must fit into a
  /// record). Empty afterwards.
  std::vector<std::vector<QueueRanges>> take(std::size_t max_ranges);
  /// Puts pieces back that could not be proposed.
  void put_back(std::vector<QueueRanges> piece);

 private:
  std::map<QueueId, std::vector<NumberRange>> queues_;
};

}  // namespace segue::node
