#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "common/logging.h"
#include "node/publish_gate.h"
#include "node/queue_storer.h"
#include "node/shard_table.h"
#include "node/turn_clock.h"
#include "storage/disk_data_center.h"

namespace segue::node {

/// Makes the shards durable outside the log, so that its files can be used again: when the log has
/// grown, when a change has got old, and at the end. One shard after the other, while the loop goes
/// on: the state is captured first, then its messages are stored, then the checkpoint is written.
/// Reactor's thread.
class Checkpointer {
 public:
  struct Options {
    std::uint64_t wal_bytes = 256ull << 20;
    Duration interval = std::chrono::minutes(5);
  };

  /// The references outlive this and every checkpoint.
  Checkpointer(const Options& options, storage::DiskDataCenter& disk, QueueTable& queues,
               ShardTable& shards, QueueStorer& storer, PublishGate& gate, const TurnClock& clock,
               Logger& log)
      : options_(options),
        disk_(disk),
        queues_(queues),
        shards_(shards),
        storer_(storer),
        gate_(gate),
        clock_(clock),
        log_(log) {}

  /// Begins what is due.
  void on_tick();
  /// Goes on with what was begun. Once in every turn.
  void step();
  /// Whether step() has something to do that waits for nothing.
  bool wants_turn() const {
    return !current_ && clock_.now >= paused_until_ && (!todo_.empty() || shutdown_done_);
  }
  /// Every shard, now; `done` when all are written or have failed.
  void begin_shutdown(std::function<void()> done);

 private:
  struct Current {
    Current() {}  // Clang 14 has no use for member initialisers before the class around is complete

    ShardId shard;
    LogIndex applied;
    std::string state;
    std::vector<std::pair<QueueId, Sequence>> stores;  // queues not yet written that far
    bool writing = false;
  };

  void add_changed_shards();
  void begin(Shard& shard);
  void write();
  void finished(ShardId shard, LogIndex applied, const Status& status);

  const Options options_;
  storage::DiskDataCenter& disk_;
  QueueTable& queues_;
  ShardTable& shards_;
  QueueStorer& storer_;
  PublishGate& gate_;
  const TurnClock& clock_;
  Logger& log_;
  std::deque<ShardId> todo_;
  std::set<ShardId> wanted_;  // of todo_: also if nothing was logged since the last
  std::optional<Current> current_;
  std::map<ShardId, TimePoint> changed_since_;
  TimePoint next_age_check_{};
  TimePoint paused_until_{};
  bool shutting_down_ = false;
  std::function<void()> shutdown_done_;
};

}  // namespace segue::node
