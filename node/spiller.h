#pragma once

#include <cstddef>
#include <vector>

#include "node/memory_budget.h"
#include "node/queue_storer.h"
#include "node/queue_table.h"
#include "node/read_ahead.h"
#include "node/turn_clock.h"

namespace segue::node {

/// Keeps the messages in memory within the budget: has the largest queues written to disk and lets
/// go of what is there, the tails of long queues first, then what was delivered and not settled,
/// then the windows. Reactor's thread.
class Spiller {
 public:
  /// The references outlive this.
  Spiller(QueueTable& queues, const MemoryBudget& memory, QueueStorer& storer,
          const ReadAhead& read_ahead, const TurnClock& clock)
      : queues_(queues), memory_(memory), storer_(storer), read_ahead_(read_ahead), clock_(clock) {}

  /// Cheap while there is enough memory. Once in every turn.
  void end_turn();
  /// Gives back what idle queues hold, some queues at a time.
  void on_tick();

 private:
  void relieve();
  std::vector<HostedQueue*> largest() const;

  QueueTable& queues_;
  const MemoryBudget& memory_;
  QueueStorer& storer_;
  const ReadAhead& read_ahead_;
  const TurnClock& clock_;
  TimePoint next_try_{};
  std::size_t swept_ = 0;
};

}  // namespace segue::node
