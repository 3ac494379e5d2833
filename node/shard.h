#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "common/logging.h"
#include "node/memory_budget.h"
#include "node/overflow.h"
#include "node/peer_output.h"
#include "node/producer_dedupe.h"
#include "node/publish_gate.h"
#include "node/publish_intake.h"
#include "node/queue_table.h"
#include "node/replicated_log.h"
#include "node/shard_commands.h"
#include "node/turn_clock.h"
#include "node/turn_settles.h"
#include "segue/v1/peer.pb.h"
#include "segue/v1/shard_state.pb.h"
#include "storage/disk_data_center.h"

namespace segue::node {

class Shard;

/// What the shards of a node share. All outlive the shards.
struct ShardContext {
  storage::DiskDataCenter& disk;
  QueueTable& queues;
  PeerOutput& output;
  Logger& log;
  MemoryBudget& memory;
  PublishGate& gate;
  const TurnClock& clock;
  storage::MissingMessages& missing;
  std::vector<Shard*>& in_turn;  // shards whose end_turn() has something to do
};

/// An answer that waits for a command.
struct ConfirmAnswer {
  PeerId peer;
  std::uint64_t batch_id = 0;
  v1::Durability durability = v1::DURABILITY_SYNC;
  std::vector<v1::QueueRefusal> refusals{};
};
struct EventAnswer {
  PeerId peer;
  v1::ConsumerEvent event;
  std::uint32_t waits_for = 0;  // so many shards
};
struct QueueAnswer {
  PeerId peer;
  v1::QueueReply reply;
};
using Answer = std::variant<ConfirmAnswer, std::shared_ptr<EventAnswer>, QueueAnswer>;

/// Why a message leaves its queue for good.
enum class Departure : std::uint8_t {
  kAcked,
  kRejected,
  kPurged,
  kDamaged,  // on the disk, and set aside
  kExpired,
  kMaxlen,
  kDeliveryLimit,
  kForwarded,  // a dead letter that every queue it goes to has, or that goes to none
};

/// One shard: a deterministic state machine behind a log. What changes durable state is proposed as
/// a command, applied when it is committed, and only then answered; a replay applies the same
/// commands again. Transient queues are outside the log: for them everything happens at once.
/// Reactor's thread.
class Shard final : public LogFollower {
 public:
  Shard(ShardId id, const ShardContext& context) : id_(id), context_(context) {}

  ShardId id() const { return id_; }

  // ---- start

  /// CORRUPTION if the checkpoint's state cannot be read.
  Status restore(const storage::RecoveredShard& recovered);
  /// Applies a record of the log; one at or below the checkpoint changes nothing.
  Status replay(const storage::ReplayedRecord& record);
  /// The log is replayed, its last record is `end`; commands can be proposed.
  void start(LogIndex end);

  // ---- leading

  HostedQueue& add_queue(QueueId queue);
  /// The catalog has named the queue, whose settings are set, or changed it; so for its lanes. A
  /// transient queue forgets what it had spilled before a restart.
  void define(HostedQueue& queue, const std::string& name, QueueDurability durability,
              bool auto_delete);
  /// Logs the deletion and forgets the queue with its files. Its readers are gone already.
  void remove_queue(HostedQueue& queue);
  void publish(PeerId peer, const v1::ShardPublish& publish, SharedBytes bodies);
  /// The messages leave the queue for good: the one place that sees every message that does, with
  /// the reason. They are out of the ready order and of every consumer's unacked already. Those
  /// that are rejected, expired or over a limit become dead letters, if the queue has where to send
  /// them: they stay until they are forwarded.
  void depart(HostedQueue& queue, NumberRange sequences, Departure reason);
  /// What is to be delivered next, as Queue::next(); what has expired before it departs.
  Queue::Next next(HostedQueue& queue, std::uint32_t max_count);
  /// The same for a message that came back or was set aside, as Queue::next_at().
  Queue::Next next_at(HostedQueue& queue, Sequence sequence, std::uint32_t max_count);
  /// Messages of the queue have expired: those that are ready depart.
  void expire(HostedQueue& queue, const std::vector<NumberRange>& found);
  /// Something changed that may let the queue deliver.
  void wake(HostedQueue& queue) { context_.queues.wake(queue); }
  /// Messages that were unacked go back to their places, with a delivery counted; those for which
  /// it was one delivery too many depart.
  /// They rest for `rest_ms`, or, if that is 0, for as long as the queue's back-off says.
  void requeue(HostedQueue& queue, NumberRange sequences, std::int64_t rest_ms = 0);
  /// Messages that rested long enough are ready.
  void end_rest(HostedQueue& queue);
  /// The same, without counting a delivery; nothing is logged.
  void release(HostedQueue& queue, NumberRange sequences);
  /// The time of these messages of a delay lane has come; `batch` has copies of them, in the same
  /// order: they go to the queue together. How many did, from the first on: fewer when the queue
  /// has no room for more, none when the log has none.
  std::size_t end_delay(HostedQueue& lane, const MessageBatchPtr& batch,
                        const std::vector<Sequence>& sequences);
  /// Those of the delay lane that still wait are gone for good; how many these were.
  std::uint64_t cancel_delayed(HostedQueue& lane, NumberRange sequences);
  /// Given when everything that departed in this turn is durable.
  void answer_after_departures(Answer answer, bool sync);
  /// Proposes the queue's next delivery mark if it wants one.
  void propose_mark(HostedQueue& queue);
  /// Tries again what found no space.
  void on_tick();
  /// Proposes what departed and was requeued in the turn.
  void end_turn();
  void on_committed(LogIndex index) override;

  // ---- checkpoints

  LogIndex applied() const { return applied_; }
  LogIndex checkpointed() const { return checkpointed_; }
  void set_checkpointed(LogIndex index) { checkpointed_ = index; }
  /// The state as of applied(): what restore() takes.
  std::string state_blob() const;
  /// Durable queues that may have messages that are not stored.
  using UnstoredList = QueueList<&HostedQueue::unstored_slot>;
  UnstoredList& unstored() { return unstored_; }

 private:
  struct Pending {
    LogIndex index;
    ShardCommand command;
    std::vector<Answer> answers;
  };
  struct TransientTarget {
    HostedQueue* queue;
    std::vector<std::uint32_t> places;
    bool dead = false;  // dead letters from the beginning
  };
  /// A publish being worked out: what of it goes where.
  struct Work {
    CheckedPublish checked;
    std::vector<std::uint32_t> fresh;  // places not enqueued before; empty: all
    bool any_fresh = true;
    bool any_known = false;  // some were enqueued before
    EnqueueCommand command;
    std::vector<TransientTarget> transient;
    std::unique_ptr<DedupeIds> ids;  // made when a queue asks for them
    bool ids_count = false;          // the messages are a client's: dead letters have had theirs
    std::vector<std::uint32_t> duplicates;  // in any order: those in a queue's deduplication window
    bool notes_seqs = false;                // one of a durable queue: the log is to have its seq
    v1::Durability durability = v1::DURABILITY_SYNC;
    bool sync = false;
    std::vector<v1::QueueRefusal> refusals;
  };

  /// What died in a turn for one reason.
  struct DeadTurn {
    v1::DeadReason reason;
    TurnSettles messages;
  };

  Status sort_out(const v1::ShardPublish& publish, Work& work);
  Status add_target(const v1::QueueTarget& target, Work& work);
  /// To the queue proper, in the lanes of their priorities.
  void add_to_queue(HostedQueue& hosted, std::vector<std::uint32_t> places, Work& work,
                    bool dead = false);
  void add_places(HostedQueue& hosted, std::vector<std::uint32_t> places, Work& work,
                  bool dead = false);
  /// To the queue or lane, as dead letters from the beginning.
  void add_dead(Queue& queue, std::vector<std::uint32_t> places, Work& work);
  /// Takes those out of `places` that are delayed; false if nothing is left.
  bool add_delayed(HostedQueue& hosted, std::vector<std::uint32_t>& places, Work& work);
  HostedQueue& add_delay_lane(HostedQueue& queue);
  void note_delayed(HostedQueue& lane, Sequence first, const MessageBatch& batch,
                    std::span<const std::uint32_t> places, std::int64_t arrived_ms);
  bool propose_delay_end(Work& work);
  void apply_transient(Work& work);
  void bury_transient(const TransientTarget& target, const Work& work);
  /// Of the command that was proposed last.
  void note_marks();
  HostedQueue& add_lane(HostedQueue& queue, std::uint8_t priority);
  void join_lane(HostedQueue& queue, HostedQueue& lane);
  /// Leaves out what the queue does not take; false if nothing is left.
  bool leave_out(HostedQueue& queue, std::vector<std::uint32_t>& places, Work& work);
  /// Leaves out what the queue's deduplication window knows; false if nothing is left.
  bool leave_out_duplicates(HostedQueue& hosted, std::vector<std::uint32_t>& places, Work& work,
                            DedupeFilter& filter);
  void define_files(const HostedQueue& queue, bool first_time);
  /// Leaves out what the queue has no room for, which is refused, and dead if the queue wants that;
  /// false if nothing is left.
  bool leave_room(HostedQueue& hosted, std::vector<std::uint32_t>& places, Work& work,
                  DedupeFilter& filter);
  DedupeWindow& make_dedupe(HostedQueue& queue);
  void define_dedupe(HostedQueue& queue, bool first_time);
  void propose_ids(HostedQueue& queue, EnqueueTarget& to, Work& work);
  void forget_proposed_ids(const EnqueueCommand& command);
  void remember_ids(const TransientTarget& target, Work& work);
  /// The ids of the command's messages are in their queues' windows.
  void remember_ids(const EnqueueCommand& command, bool live);
  /// What was enqueued in some of its queues before, and refused by others, is refused again.
  void repeat_refusals(const v1::ShardPublish& publish, Work& work) const;
  /// Of what is fresh, the places that are done with: in some queue, or a repeat in all that do not
  /// refuse it.
  std::vector<std::uint32_t> done_places(const Work& work) const;
  void note_part_refusals(const v1::ShardPublish& publish, const Work& work,
                          const std::vector<std::uint32_t>& done);
  void unstamp(const EnqueueCommand& command);
  Status enqueue(const v1::ShardPublish& publish, Work& work);
  Status propose_enqueue(const v1::ShardPublish& publish, Work& work);
  void refuse(PeerId peer, std::uint64_t batch_id, const Status& status);

  /// Takes `command` and `answers` over unless it fails.
  Status propose(ShardCommand& command, std::vector<Answer>&& answers, bool sync, bool drains);
  void propose_pieces(TurnSettles& from, bool departures);
  void propose_dead(DeadTurn& dead);
  void back_to_places(HostedQueue& queue, NumberRange sequences, std::int64_t rest_ms);
  void note_back(HostedQueue& queue, std::span<const NumberRange> ranges);
  void bury(HostedQueue& queue, NumberRange sequences, v1::DeadReason reason);
  bool has_waiting() const;
  void join_turn();

  /// `live`: proposed by this life of the node, not replayed.
  void apply(const ShardCommand& command, bool live);
  void apply(const EnqueueCommand& command, bool live);
  void apply_taken(const QueueRanges& taken, bool live);
  void apply(const SettleCommand& command);
  void apply(const RequeueCommand& command, bool live);
  void apply(const DeadLetterCommand& command, bool live);
  HostedQueue* find_for_apply(QueueId queue, bool live);
  void answer(Answer& answer);
  void forget_queue(HostedQueue& queue);

  const ShardId id_;
  ShardContext context_;
  std::unique_ptr<ReplicatedLog> log_;
  ProducerDedupe dedupe_;
  PartRefusals part_refusals_;
  std::deque<Pending> pending_;
  LogIndex applied_;
  LogIndex checkpointed_;
  QueueList<&HostedQueue::shard_slot> queues_;
  UnstoredList unstored_;

  // The turn's.
  bool in_turn_ = false;
  TurnSettles departures_;
  TurnSettles requeues_;
  std::vector<DeadTurn> dead_;
  std::vector<Answer> departure_answers_;
  bool departures_sync_ = false;
  std::vector<QueueId> unmarked_;  // their marks could not be proposed
};

}  // namespace segue::node
