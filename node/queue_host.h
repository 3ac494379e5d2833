#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "common/clock.h"
#include "common/config.h"
#include "common/ids.h"
#include "common/logging.h"
#include "node/dead_letter_outlets.h"
#include "node/peer_output.h"
#include "node/policy_source.h"
#include "segue/v1/catalog.pb.h"
#include "segue/v1/peer.pb.h"
#include "storage/disk_data_center.h"

namespace segue::node {

/// The node's shards and their queues: everything between a frame of a peer and the disk data
/// center. A composition of Shard, Queue, delivery, dedupe, memory budget and checkpoints; it has
/// no rules of its own. No sockets, threads or clocks: the reactor brings events and the time.
/// Reactor's thread.
class QueueHost {
 public:
  struct Options {
    std::uint64_t memory_limit = 512ull << 20;
    std::uint64_t free_disk_limit = 1ull << 30;
    std::uint64_t backup_bytes_per_second = 64ull << 20;
    std::string backup_directory{};  // where alone backups may be made; empty: anywhere
    std::uint64_t checkpoint_wal_bytes = 256ull << 20;
    Duration checkpoint_interval = std::chrono::minutes(5);
    bool durability_sync = true;  // the cluster's; a queue's argument x-durability goes before
    std::uint32_t durability_interval_ms = 0;
    /// Bytes on the way to the consumers of one router, and the sessions that it may have.
    std::uint64_t peer_delivery_bytes = 512ull << 20;
    std::uint64_t peer_sessions = 10'000;
    /// A number that no other start of this node has had, and what several dead letters that are
    /// published together may take.
    std::uint64_t life = 0;
    std::uint64_t dead_letter_batch_bytes = 512 << 10;

    /// What begins a checkpoint: what the log is ahead is in memory after a restart, so it is a
    /// quarter of the memory at most.
    std::uint64_t checkpoint_after_bytes() const {
      return std::min(checkpoint_wal_bytes, memory_limit / 4);
    }
  };
  /// Asks the catalog to delete an auto-delete queue whose last consumer has gone. Called again
  /// until the queue is removed.
  using DeleteQueueRequest = std::function<void(QueueId)>;

  /// The references outlive the host.
  QueueHost(const Options& options, PeerOutput& output, Logger& log,
            DeleteQueueRequest request_delete);
  ~QueueHost();

  // ---- start (between open_disk_data_center()'s callbacks)

  /// The disk and what its checkpoints say of the shards.
  Status restore(storage::DiskDataCenter& disk, const std::vector<storage::RecoveredShard>& shards);
  /// One record of the log after the checkpoints; not for the catalog's.
  Status replay(const storage::ReplayedRecord& record);
  /// The log is replayed; from here on commands are proposed.
  void start(const std::vector<storage::Committed>& log_ends, TimePoint now, std::int64_t wall_ms);

  // ---- what the catalog says

  /// A queue of a shard that this node leads, new or known from before a restart.
  void add_queue(const v1::QueueDefinition& definition);
  void remove_queue(QueueId queue);
  /// What is asked before a queue is used, while policies change; outlives the host's last turn.
  void follow_policies(PolicySource& policies);
  /// The catalog is as far as it was before the restart: queues on disk that it does not name are
  /// dropped, and messages whose files were lost are reported. Before that nothing expires by
  /// itself or is dropped for a limit: the definitions may be older ones.
  void end_of_catalog_load();
  /// Dead letters go there, once the catalog is loaded; `outlets` outlives the host's last turn.
  void forward_dead_letters(DeadLetterOutlets& outlets);
  /// Who is told what became of them. After restore().
  DeadLetterAnswers& dead_letter_answers();
  /// The highest id of a queue that has anything here; 0: none.
  QueueId highest_queue() const;

  // ---- what peers say; a broken message is answered, never trusted

  void on_publish(PeerId peer, const v1::ShardPublish& publish, SharedBytes bodies);
  void on_consumer_command(PeerId peer, const v1::ConsumerCommand& command);
  void on_settle(PeerId peer, const v1::PeerSettle& settle);
  void on_queue_request(PeerId peer, const v1::QueueRequest& request);
  /// The link was reset: the peer's consumers end, their unsettled messages are ready again.
  void on_peer_lost(PeerId peer);

  // ---- the loop

  /// From DiskDataCenter::poll().
  void on_committed(ShardId shard, LogIndex up_to);
  /// About every 100 ms.
  void on_tick(TimePoint now, std::int64_t wall_ms);
  /// Once in every turn of the loop, after its events and before DiskDataCenter::flush():
  /// deliveries are made up, settles and marks proposed.
  void end_turn(TimePoint now, std::int64_t wall_ms);
  /// Whether end_turn() left work that waits for nothing but its next call: the loop must not sleep
  /// before it.
  bool wants_turn() const;
  /// Behind an end_turn(): when the next one has something to do without any event, unless the
  /// clock is set meanwhile.
  std::optional<Duration> next_turn_in() const;
  /// Checkpoints every shard; `done` when all are durable (or could not be written: the log still
  /// has everything). The loop goes on turning until then.
  void begin_shutdown(std::function<void()> done);

  /// Whether publishes are refused for now.
  bool blocked() const;
  /// Counts, memory and why publishes are refused, for NodeState.
  v1::NodeState state() const;

 private:
  void report_lost_messages();
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace segue::node
