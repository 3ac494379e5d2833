#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "common/logging.h"
#include "node/memory_budget.h"
#include "node/publish_gate.h"
#include "node/queue_table.h"
#include "node/shard_table.h"
#include "node/turn_clock.h"
#include "storage/disk_data_center.h"

namespace segue::node {

/// Has delayed messages go from the delay lanes to their queues when their time comes, in the order
/// of their times, those of one time in the order in which they came. Reads those that are only on
/// disk a little ahead, and looks through a lane for the next ones when its schedule runs low.
/// Wall-clock times are looked at in every turn, so a clock that is set is obeyed at once.
/// Reactor's thread.
class DelayKeeper {
 public:
  struct Options {
    std::uint64_t batch_bytes = 512 << 10;  // of bodies that one record of the log may have
  };
  /// The references outlive this and every look at the disk.
  DelayKeeper(Options options, storage::DiskDataCenter& disk, QueueTable& queues,
              ShardTable& shards, MemoryBudget& memory, const PublishGate& gate,
              const TurnClock& clock, Logger& log)
      : options_(options),
        disk_(disk),
        queues_(queues),
        shards_(shards),
        memory_(memory),
        gate_(gate),
        clock_(clock),
        log_(log) {}

  /// Once in every turn, before its deliveries.
  void end_turn();
  /// Whether end_turn() has more to do already.
  bool wants_turn() const { return more_ || !queues_.delays().empty(); }
  /// Milliseconds until end_turn() has something to do; nothing if no message waits.
  std::optional<std::int64_t> next_in_ms() const;

 private:
  using Due = storage::DueMessage;
  /// What is known of a delay lane while anything waits in it.
  struct Lane {
    std::map<Sequence, MessageRun> loaded;  // one message each
    std::set<Sequence> loading;
    Due asked_through;  // what is due up to here was looked for on the disk, as far as needed
    Sequence scanned_through;
    Sequence scan_end;
    std::int64_t wake_ms = 0;    // in timers_; 0: not there
    std::int64_t paused_ms = 0;  // until then it does not fire
  };
  struct Gathered {
    std::vector<Due> messages;
    MessageBatchPtr batch;
  };

  void step(HostedQueue& hosted, Lane& lane);
  void set_timer(QueueId id, Lane& lane, std::int64_t wake_ms);
  /// When step() is next to be called; 0: something else will see to it.
  std::int64_t next_step(const HostedQueue& hosted, const Lane& lane) const;
  void forget(QueueId id);

  void fire(HostedQueue& hosted, Lane& lane);
  std::optional<Gathered> gather(HostedQueue& hosted, Lane& lane);
  /// The message, if it is at hand.
  std::optional<MessageRun> find(const HostedQueue& hosted, const Lane& lane,
                                 Sequence sequence) const;
  bool waits(const HostedQueue& hosted, Sequence sequence) const;

  void read_ahead(HostedQueue& hosted, Lane& lane);
  void load(QueueId id, Lane& lane, const std::vector<Sequence>& sequences);
  void loaded(QueueId id, NumberRange wanted, const Result<storage::LoadedMessages>& result);
  void set_aside(HostedQueue& hosted, const storage::LoadedMessages& loaded);

  void begin_scan(HostedQueue& hosted, Lane& lane);
  void scan_disk(QueueId id, Lane& lane);
  void scanned(QueueId id, const storage::FoundDue& found);

  const Options options_;
  storage::DiskDataCenter& disk_;
  QueueTable& queues_;
  ShardTable& shards_;
  MemoryBudget& memory_;
  const PublishGate& gate_;
  const TurnClock& clock_;
  Logger& log_;
  std::unordered_map<QueueId, Lane> lanes_;
  std::set<std::pair<std::int64_t, QueueId>> timers_;
  std::size_t loads_ = 0;
  bool more_ = false;
};

}  // namespace segue::node
