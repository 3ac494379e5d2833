#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>

#include "node/queue_table.h"
#include "node/shard_table.h"
#include "node/turn_clock.h"
#include "storage/disk_data_center.h"

namespace segue::node {

/// Has messages that have expired leave their queues wherever they stand, also when nobody reads
/// the queue and it is only on disk: looks at all queues that have some to expire, once in a second
/// or, when that is costly, in twenty times what it takes. Reads indexes of segments in which
/// something is due, and no messages. Reactor's thread.
class ExpirySweep {
 public:
  /// The references outlive this and every look at the disk.
  ExpirySweep(storage::DiskDataCenter& disk, QueueTable& queues, ShardTable& shards,
              const TurnClock& clock)
      : disk_(disk), queues_(queues), shards_(shards), clock_(clock) {}

  void on_tick();
  /// Once in every turn, behind its deliveries.
  void end_turn();
  /// Whether end_turn() has more to do already.
  bool wants_turn() const { return !places_.empty() && !waits_for_disk(); }

 private:
  /// Where a queue is to be looked at next: in memory first, then on disk.
  struct Place {
    QueueId queue;
    Sequence from{1};
    bool on_disk = false;
    NumberRange again{};
  };

  bool waits_for_disk() const;
  void begin();
  void look_at_memory(Place place, HostedQueue& hosted);
  void look_at_disk(Place place, HostedQueue& hosted);
  void found_on_disk(Place place, const Result<storage::ExpiredMessages>& result);
  storage::ExpiryScan scan_of(const Place& place, const HostedQueue& hosted) const;
  /// Looks at it no more if nothing there will ever expire.
  void forget_if_idle(HostedQueue& hosted);
  void end_if_done();

  storage::DiskDataCenter& disk_;
  QueueTable& queues_;
  ShardTable& shards_;
  const TurnClock& clock_;
  std::deque<Place> places_;
  std::size_t scans_ = 0;  // on their way
  bool sweeping_ = false;
  std::uint64_t cost_ns_ = 0;  // of this sweep, about
  TimePoint next_{};
};

}  // namespace segue::node
