#pragma once

#include <set>
#include <unordered_map>
#include <utility>

#include "common/clock.h"
#include "node/auto_delete.h"
#include "node/queue_table.h"
#include "node/turn_clock.h"

namespace segue::node {

/// Has queues deleted that nobody used for as long as their argument x-expires says: no consumer,
/// no get, no declare. The time counts anew after a restart of the node. Costs nothing for queues
/// without the argument. Reactor's thread.
class UnusedQueues {
 public:
  /// The references outlive this.
  UnusedQueues(QueueTable& queues, AutoDelete& auto_delete, const TurnClock& clock)
      : queues_(queues), auto_delete_(auto_delete), clock_(clock) {}

  /// The queue is in use now, or its settings are new: its time begins.
  void touch(const HostedQueue& hosted);
  void on_tick();

 private:
  void set(QueueId queue, TimePoint until);
  void forget(QueueId queue);

  QueueTable& queues_;
  AutoDelete& auto_delete_;
  const TurnClock& clock_;
  std::unordered_map<QueueId, TimePoint> until_;
  std::set<std::pair<TimePoint, QueueId>> order_;
};

}  // namespace segue::node
