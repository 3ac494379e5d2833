#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "common/logging.h"
#include "node/dead_letter_outlets.h"
#include "node/dead_letter_stream.h"
#include "node/memory_budget.h"
#include "node/queue_table.h"
#include "node/shard_table.h"
#include "node/turn_clock.h"
#include "segue/v1/types.pb.h"
#include "storage/disk_data_center.h"

namespace segue::node {

/// Publishes the dead letters of this node's queues to where their exchanges lead them, in the
/// order of their numbers, and lets each leave its queue when every target has it. A letter is
/// published with dedupe, under a producer id of its queue and its number: sent again after
/// whatever crash, it is not enqueued again. What cannot be sent now is not kept here but read
/// again later.
///
/// A queue waits for the shard that its first letter cannot be sent to; so a target that is down
/// holds up the queue's other letters, and no other queue. Reactor's thread.
class DeadLetterForwarder final : public DeadLetterAnswers {
 public:
  struct Options {
    std::uint64_t life = 0;  // a number that no other start of this node has had
    /// Most that a batch of several messages has: it must fit into the log of whoever gets it.
    std::uint64_t batch_bytes = 512 << 10;
  };

  /// The references outlive this.
  DeadLetterForwarder(const Options& options, storage::DiskDataCenter& disk, QueueTable& queues,
                      ShardTable& shards, MemoryBudget& memory, const TurnClock& clock,
                      Logger& log);
  ~DeadLetterForwarder() override;

  /// The catalog is known: letters can go. Until then they wait.
  void start(DeadLetterOutlets& outlets) { outlets_ = &outlets; }

  void on_tick();
  /// Before the shards end their turn.
  void end_turn();
  /// Whether end_turn() has something to do that waits for nothing.
  bool wants_turn() const {
    return outlets_ != nullptr && (!queued_.empty() || !queues_.dead().empty());
  }

  void on_stored(std::uint64_t batch_id) override;
  void on_refused(std::uint64_t batch_id, const std::string& reason) override;
  void on_full(std::uint64_t batch_id) override;
  void on_lost(std::uint64_t batch_id) override;
  void on_reachable() override;

 private:
  using Streams = std::map<QueueId, std::unique_ptr<DeadLetterStream>>;

  /// Letters of one queue to another one, on their way.
  struct Batch {
    QueueId queue;
    std::uint64_t generation = 0;
    ShardId shard;
    std::vector<std::uint64_t> numbers;
    std::uint64_t bytes = 0;
  };
  /// What is known of a shard that letters go to.
  struct Outlet {
    std::uint32_t batches = 0;  // on their way
    bool refusing = false;
    TimePoint again{};
    Duration pause{};
  };
  /// A batch that is being put together.
  struct Part {
    MessageBatchBuilder messages;
    std::vector<std::uint64_t> numbers;
    ShardId shard;
    std::uint64_t bytes = 0;
    CatalogIndex needs;
  };
  /// The letter looked at last, rewritten: those beside it have the same header mostly.
  struct Rewritten {
    MessageBatchPtr batch;
    std::uint32_t header_number = 0;
    v1::DeadReason reason = v1::DEAD_REASON_UNSPECIFIED;
    std::int64_t time_ms = 0;
    bool readable = false;
    std::string header;
    std::vector<DeadLetterTarget> targets;
    CatalogIndex needs;
  };
  enum class Went : std::uint8_t { kOn, kWaits };

  DeadLetterStream& stream_of(const HostedQueue& hosted);
  void wake(QueueId queue, DeadLetterStream& stream);
  void wake_all();
  std::uint64_t most_bytes() const;
  bool has_room(const DeadLetterStream& stream) const;
  void pump(HostedQueue& hosted, DeadLetterStream& stream);
  void load(const Queue& queue, DeadLetterStream& stream, const DeadLetters::Range& range);
  void loaded(QueueId id, const Result<storage::LoadedMessages>& result);
  void give_up(HostedQueue& hosted, DeadLetterStream& stream, const DeadLetters::Range& range);
  Went send_run(HostedQueue& hosted, DeadLetterStream& stream, const DeadLetters::Range& range,
                const MessageRun& run);
  void rewrite(const HostedQueue& hosted, const DeadLetters::Range& range, const MessageRun& run,
               std::uint32_t place);
  Went drop(HostedQueue& hosted, DeadLetterStream& stream, std::uint64_t number, Sequence sequence,
            std::int64_t died_ms);
  bool available(ShardId shard);
  /// Whether the shards of the letter's targets are; else the stream waits for one of them.
  bool can_go(DeadLetterStream& stream);
  void add_to_parts(HostedQueue& hosted, DeadLetterStream& stream, const MessageRun& run,
                    std::uint32_t place, std::uint64_t number);
  void send_parts(HostedQueue& hosted, DeadLetterStream& stream);
  void send_part(HostedQueue& hosted, DeadLetterStream& stream, QueueId target, Part& part);
  void settle(HostedQueue& hosted, Sequence sequence);
  /// Takes the batch out of what is on its way; its stream, unless that has gone on without it.
  DeadLetterStream* answered(std::uint64_t batch_id, Batch& batch);

  const Options options_;
  storage::DiskDataCenter& disk_;
  QueueTable& queues_;
  ShardTable& shards_;
  MemoryBudget& memory_;
  const TurnClock& clock_;
  Logger& log_;
  DeadLetterOutlets* outlets_ = nullptr;
  Streams streams_;
  std::vector<QueueId> queued_;
  std::map<ShardId, Outlet> outlets_of_;
  std::unordered_map<std::uint64_t, Batch> batches_;
  std::uint64_t last_batch_ = 0;
  std::uint64_t bytes_ = 0;        // of all batches
  std::uint64_t turn_left_ = 0;    // letters that this turn may still send
  std::map<QueueId, Part> parts_;  // by target
  Rewritten rewritten_;
};

}  // namespace segue::node
