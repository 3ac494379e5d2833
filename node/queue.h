#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "common/ids.h"
#include "common/message_batch.h"
#include "node/dead_letters.h"
#include "node/delivery_counts.h"
#include "node/queue_messages.h"
#include "node/range_set.h"
#include "segue/v1/catalog.pb.h"
#include "segue/v1/shard_state.pb.h"
#include "storage/disk_data_center.h"

namespace segue::node {

/// How a queue keeps its messages.
enum class QueueDurability : std::uint8_t { kTransient, kInterval, kSync };

/// Sums over all queues of a node.
struct QueueTotals {
  std::uint64_t ready = 0;
  std::uint64_t unacked = 0;
};

/// A queue's messages: which there are, which are ready and in what order, what of them is in
/// memory. Messages are applied in order; what was never delivered is ready from the cursor on;
/// what came back stands before it, by sequence. In a long queue only a window at the cursor and
/// the newest messages are in memory: between them lies the gap, which is only on disk.
///
///     sequence   1 ...... cursor ....... gap_begin ~~~~~~~ gap_end ........ applied ..... next
///                unacked,  head window    only on disk      in memory        proposed
///                returned  (in memory)
///
/// Knows nothing of consumers, logs or time. Costs nothing but itself while it is empty.
/// Reactor's thread.
class Queue {
 public:
  /// `totals` outlives the queue.
  Queue(QueueId id, ShardId shard, QueueTotals& totals) : id_(id), shard_(shard), totals_(totals) {}
  ~Queue();
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;

  // ---- what it is

  QueueId id() const { return id_; }
  ShardId shard() const { return shard_; }
  const std::string& name() const { return name_; }
  /// For messages to people; the id until the catalog has named it.
  std::string display_name() const;
  void define(const std::string& name, QueueDurability durability, bool auto_delete);
  bool defined() const { return defined_; }
  bool durable() const { return durability_ != QueueDurability::kTransient; }
  QueueDurability durability() const { return durability_; }
  bool auto_delete() const { return auto_delete_; }

  // ---- the state machine: applied in the order of the log, and again at a replay

  /// Messages of the batch (those at `places`, all if empty) get first, first + 1, ... Those that
  /// the queue has had already are skipped.
  void apply_enqueue(Sequence first, const MessageBatchPtr& batch,
                     std::span<const std::uint32_t> places);
  void apply_settle(NumberRange range, storage::DiskDataCenter& disk);
  /// Counts a delivery that ended without an ack.
  void apply_requeue(NumberRange range);
  void apply_mark(Sequence mark);
  /// The messages are neither ready nor unacked from now on: they wait to be forwarded, until they
  /// are settled.
  void apply_dead(const DeadLetters::Range& range);
  /// For the shard's checkpoint; nothing to say of a queue that never had a message.
  bool save(v1::QueueState& state) const;

  // ---- start

  void restore(const v1::QueueState& state);
  void restore_stored(const storage::StoredQueue& stored);
  /// After the replay: what is unsettled is ready; what may have been delivered is flagged.
  void finish_replay(const storage::StoredQueue& stored);
  /// Forgets what it had before a restart: a transient queue.
  void start_empty();

  // ---- proposing

  /// The sequence of the next message to be proposed.
  Sequence next_sequence() const { return next_; }
  void set_next_sequence(Sequence next) { next_ = next; }
  Sequence applied_through() const { return Sequence{applied_next_.value - 1}; }
  /// Messages up to here may be delivered.
  Sequence mark() const { return mark_; }
  Sequence proposed_mark() const { return proposed_mark_; }
  void set_proposed_mark(Sequence mark) { proposed_mark_ = mark; }
  /// The mark to propose now so that delivering does not wait; nothing if there is no need.
  std::optional<Sequence> wanted_mark() const;

  // ---- delivering

  enum class Wait : std::uint8_t {
    kNothing,  // there is a run
    kEmpty,
    kDisk,  // the next message is on disk
    kMark,  // the next message's mark is not committed
  };
  struct Next {
    Wait wait = Wait::kEmpty;
    MessageRun run;
  };
  /// What is to be delivered next: messages that stand side by side, at most `max_count`.
  Next next(std::uint32_t max_count);
  /// The run (next()'s, or its beginning) is unacked from now on.
  void take(const MessageRun& run);
  /// Whether any message of the run may have been delivered before.
  bool any_redelivered(const MessageRun& run) const;
  bool redelivered(Sequence sequence) const;
  std::uint32_t delivery_count(Sequence sequence) const;

  /// Unacked messages are ready again, at once. A durable queue's count of the delivery is proposed
  /// (`counted` false) and, until it is applied, kept beside those that are.
  void make_ready(NumberRange range, bool counted);
  /// The same for messages whose delivery does not count.
  void make_released_ready(NumberRange range);
  /// What make_ready() kept beside has been applied.
  void forget_proposed_count(NumberRange range);
  /// Unacked messages are on their way out of the queue, or back to ready.
  void end_unacked(std::uint64_t count);
  void count_settled(std::uint64_t count) { settled_total_ += count; }
  /// Takes everything that is ready and applied out of the order; the ranges (which may have holes)
  /// and how many messages they have.
  struct ReadyRanges {
    std::vector<NumberRange> ranges;
    std::uint64_t count = 0;
  };
  ReadyRanges take_all_ready();

  std::uint64_t ready() const { return ready_; }
  std::uint64_t unacked() const { return unacked_; }
  std::uint64_t enqueued_total() const { return enqueued_total_; }
  std::uint64_t delivered_total() const { return delivered_total_; }
  std::uint64_t settled_total() const { return settled_total_; }
  /// Bytes of bodies that no store() has taken.
  std::uint64_t unstored_bytes() const { return unstored_bytes_; }
  std::uint64_t memory_bytes() const { return active_ ? active_->messages.memory_bytes() : 0; }

  // ---- dead letters

  const DeadLetters& dead() const;
  /// The number of the next dead letter to be proposed.
  std::uint64_t next_dead_number() const { return next_dead_number_; }
  void set_next_dead_number(std::uint64_t next) { next_dead_number_ = next; }
  /// The first message of the range, and what stands beside it, if it is in memory. If it is not,
  /// and written_through() has reached it, load() finds it.
  std::optional<MessageRun> find_in_memory(NumberRange range) const;
  void count_dead_dropped() { ++dead_dropped_total_; }
  std::uint64_t dead_dropped_total() const { return dead_dropped_total_; }

  // ---- reading ahead

  struct LoadPlan {
    Sequence from;
    Sequence through;
    bool returned = false;  // messages that came back, else the gap's beginning
  };
  /// What to load so that about `window` bytes are in memory from the cursor on; nothing if enough
  /// is, or a load is on its way.
  std::optional<LoadPlan> plan_load(std::uint64_t window) const;
  void begin_load() { loading_ = true; }
  /// What a load brought. Messages that should have been there and were not are given up: their
  /// ranges, which are ready no more, but not settled.
  std::vector<NumberRange> finish_load(const LoadPlan& plan, const storage::LoadedMessages& loaded);
  void fail_load() { loading_ = false; }

  // ---- storing and evicting

  /// The next unstored messages in order, about `max_bytes` (at least one block); they count as
  /// stored. finish_store() must follow before the next.
  std::vector<MessageRun> begin_store(std::uint64_t max_bytes);
  void finish_store(bool written);
  bool storing() const { return storing_; }
  bool has_unstored() const { return active_ && active_->messages.highest() > stored_through_; }
  /// Appends unsettled messages in memory above `after` to `runs`, in order, about `max_bytes`: all
  /// there are from written_through() on. Returns up to where it looked.
  Sequence collect(Sequence after, std::uint64_t max_bytes, std::vector<MessageRun>& runs) const;
  /// load() finds every unsettled message up to here.
  Sequence written_through() const { return written_through_; }
  /// Whether load() finds every unsettled message up to here.
  bool is_written(Sequence through) const;
  /// Forgets bodies that are on disk: those beyond `keep` bytes from the cursor on; what was
  /// delivered and may come back. Bytes given back, about.
  std::uint64_t evict_window(std::uint64_t keep);
  std::uint64_t evict_delivered();
  /// Gives its memory back if it holds nothing.
  void release_if_idle();
  bool has_memory() const { return active_ != nullptr; }

 private:
  /// What only a queue with messages needs.
  struct Active {
    QueueMessages messages;
    RangeSet returned;  // ready, below the cursor
    DeliveryCounts counts;
    DeliveryCounts proposed_counts;  // on their way into `counts`
    RangeSet released;               // were delivered, and that did not count
    DeadLetters dead;
  };
  Active& active();
  const DeliveryCounts& active_counts() const;
  bool has_gap() const { return gap_begin_ < gap_end_; }
  void close_gap() { gap_begin_ = gap_end_ = Sequence{0}; }
  Next next_returned(std::uint32_t max_count);
  Next next_fresh(std::uint32_t max_count);
  std::optional<MessageRun> first_fresh(Sequence through);
  void skip_dead_gap();
  void save_dead(v1::QueueState& state) const;
  void restore_dead(const v1::QueueState& state);
  LoadPlan plan_returned(NumberRange first) const;
  std::vector<NumberRange> finish_returned_load(const LoadPlan& plan,
                                                const storage::LoadedMessages& loaded);
  std::vector<NumberRange> finish_gap_load(const LoadPlan& plan,
                                           const storage::LoadedMessages& loaded);
  void lose(std::uint64_t count);
  void set_ready(std::uint64_t ready);

  const QueueId id_;
  const ShardId shard_;
  QueueTotals& totals_;
  QueueDurability durability_ = QueueDurability::kSync;
  bool defined_ = false;
  bool auto_delete_ = false;
  bool loading_ = false;
  bool storing_ = false;
  std::string name_;

  Sequence next_{1};          // to be stamped
  Sequence applied_next_{1};  // one above the last applied
  Sequence cursor_{1};        // everything from here on was never delivered
  Sequence gap_begin_{0};
  Sequence gap_end_{0};
  Sequence stored_through_{0};   // unsettled messages up to here were given to store()
  Sequence written_through_{0};  // and up to here load() finds them
  Sequence mark_{0};
  Sequence proposed_mark_{0};
  Sequence recovered_mark_{0};  // the mark when the node started

  std::uint64_t ready_ = 0;
  std::uint64_t unacked_ = 0;
  std::uint64_t unstored_bytes_ = 0;
  std::uint64_t window_bytes_ = 0;  // of bodies between the cursor and the gap, about
  std::uint64_t enqueued_total_ = 0;
  std::uint64_t delivered_total_ = 0;
  std::uint64_t settled_total_ = 0;
  std::uint64_t next_dead_number_ = 1;
  std::uint64_t dead_dropped_total_ = 0;
  std::unique_ptr<Active> active_;
};

}  // namespace segue::node
