#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "common/clock.h"
#include "common/expiry.h"
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
/// Knows nothing of consumers, logs or clocks. Costs nothing but itself while it is empty.
/// Reactor's thread.
class Queue {
 public:
  /// `totals` outlives the queue.
  Queue(QueueId id, ShardId shard, QueueTotals& totals)
      : id_(id), shard_(shard), delays_(is_delay_lane(id)), totals_(totals) {}
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
  /// the queue has had already are skipped. `arrived_ms`: when, by the leader's clock.
  void apply_enqueue(Sequence first, const MessageBatchPtr& batch,
                     std::span<const std::uint32_t> places, std::int64_t arrived_ms);
  void apply_settle(NumberRange range, storage::DiskDataCenter& disk);
  /// Counts a delivery that ended without an ack.
  void apply_requeue(NumberRange range);
  void apply_mark(Sequence mark);
  /// The messages are neither ready nor unacked from now on: they wait to be forwarded, until they
  /// are settled.
  void apply_dead(const DeadLetters::Range& range);
  /// The same as apply_enqueue() and apply_dead() of all of them at once, for the reason maxlen:
  /// they are never ready. Their numbers are `first_number`, + 1, ...
  void apply_enqueue_dead(Sequence first, const MessageBatchPtr& batch,
                          std::span<const std::uint32_t> places, std::int64_t time_ms,
                          std::uint64_t first_number);
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
    kDisk,     // the next message is on disk
    kMark,     // the next message's mark is not committed
    kExpired,  // there is a run, of messages that have expired: take_expired() it
  };
  struct Next {
    Wait wait = Wait::kEmpty;
    MessageRun run;
  };
  /// What is to be delivered next: messages that stand side by side, at most `max_count`.
  Next next(std::uint32_t max_count, std::int64_t now_ms);
  /// From now on what came back, or was set aside, is no next(): next_at() gives it.
  void set_by_number() { by_number_ = true; }
  /// The ready message before the cursor, with those that follow it side by side, at most
  /// `max_count`; kEmpty: it is not ready any more.
  Next next_at(Sequence sequence, std::uint32_t max_count, std::int64_t now_ms);
  /// The run, next()'s or its beginning, stays ready, but stands before the cursor from now on.
  void set_aside(const MessageRun& run);
  /// The run (next()'s or next_at()'s, or its beginning) is unacked from now on.
  void take(const MessageRun& run);
  /// Whether any message of the run may have been delivered before.
  bool any_redelivered(const MessageRun& run) const;
  bool redelivered(Sequence sequence) const;
  std::uint32_t delivery_count(Sequence sequence) const;

  /// Unacked messages are ready again, at once. A durable queue's count of the delivery is proposed
  /// (`counted` false) and, until it is applied, kept beside those that are.
  void make_ready(NumberRange range, bool counted);
  /// The same, but they are not ready before `end`.
  void rest(NumberRange range, bool counted, TimePoint end);
  /// Those of which that time has come are ready; their ranges.
  std::vector<NumberRange> end_rest(TimePoint now);
  /// Messages that rest after a delivery: neither ready nor unacked.
  std::uint64_t resting() const { return active_ ? active_->resting_count : 0; }
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

  // ---- limits (queue_limits.cc)

  /// From now on ready_bytes() is known; `disk` (which outlives the queue) tells sizes of messages
  /// that are not in memory. Null: it is not needed any more.
  void count_ready_bytes(const storage::DiskDataCenter* disk);
  /// Bytes of the bodies of ready messages.
  std::uint64_t ready_bytes() const { return ready_bytes_; }
  /// Messages that were proposed and are not applied, but for those that will be dead, and bytes of
  /// their bodies (as far as add_proposed_bytes() was told).
  std::uint64_t proposed() const { return next_.value - applied_next_.value - proposed_dead_; }
  void add_proposed_dead(std::uint32_t count) { proposed_dead_ += count; }
  void end_proposed_dead(std::uint32_t count) { proposed_dead_ -= std::min(count, proposed_dead_); }
  std::uint64_t proposed_bytes() const { return proposed_bytes_; }
  void add_proposed_bytes(std::uint64_t bytes) { proposed_bytes_ += bytes; }
  void end_proposed_bytes(std::uint64_t bytes) {
    proposed_bytes_ -= std::min(bytes, proposed_bytes_);
  }
  /// Takes ready messages out of the order from its head on, wherever they are: a run of at most
  /// `max_count`, and of no more than are needed for `enough_bytes` of bodies. Nothing when none is
  /// ready.
  std::optional<NumberRange> take_head(std::uint64_t max_count, std::uint64_t enough_bytes,
                                       const storage::DiskDataCenter& disk);
  std::uint64_t dropped_total() const { return dropped_total_; }

  // ---- expiring (queue_expiry.cc); times are milliseconds since 1970-01-01 UTC

  /// The queue's time to live (kNoExpiration: none) from now on, also of what is there. `now_ms`
  /// counts as the arrival of messages that were stored without it.
  void set_ttl(std::int64_t ttl_ms, std::int64_t now_ms);
  const ExpiryRule& expiry() const { return expiry_; }
  /// False: no message here will expire.
  bool may_expire() const { return !delays_ && (expiry_.ttl_ms >= 0 || own_expirations_); }
  /// Looks whether any message in memory has an expiration of its own; may_expire().
  bool settle_whether_any_expires();
  void set_own_expirations() { own_expirations_ = true; }
  /// Messages in memory at or above `from` that have expired, ready or not.
  QueueMessages::Expired find_expired(Sequence from, std::int64_t now_ms, std::size_t max_ranges);
  /// Takes those that are ready out of the order; which these are. Each number is that of a message
  /// that is not settled.
  std::vector<NumberRange> take_expired(const std::vector<NumberRange>& found);
  /// The same of next()'s run.
  void take_expired(const MessageRun& run);
  /// Messages that came back since the last call, and may have been found expired before; last is
  /// 0: none.
  NumberRange take_again() { return std::exchange(again_, {}); }
  /// They could not be looked at, and are to be.
  void look_again(NumberRange range);
  /// Messages that are never kept, but delivered at once, have had their time.
  void end_at_once() {
    at_once_from_ = applied_next_;
    at_once_ = false;
  }
  /// Some came since the last end_at_once().
  bool has_at_once() const { return at_once_; }
  /// So many ranges were taken out of the middle and have not left yet.
  std::size_t leaving_ranges() const { return active_ ? active_->leaving.ranges().size() : 0; }
  std::vector<MessageRun> without_expired(const std::vector<MessageRun>& runs,
                                          std::int64_t now_ms) const;
  std::uint64_t expired_total() const { return expired_total_; }

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
  std::vector<MessageRun> without_dead(const std::vector<MessageRun>& runs) const;
  /// The number of the next dead letter to be proposed.
  std::uint64_t next_dead_number() const { return next_dead_number_; }
  void set_next_dead_number(std::uint64_t next) { next_dead_number_ = next; }
  /// The first message of the range, and what stands beside it, if it is in memory. If it is not,
  /// and written_through() has reached it, load() finds it.
  std::optional<MessageRun> find_in_memory(NumberRange range) const;
  void count_dead_dropped() { ++dead_dropped_total_; }
  std::uint64_t dead_dropped_total() const { return dead_dropped_total_; }

  // ---- delayed messages (queue_delays.cc): of a delay lane, where they count as ready

  /// Whether the message has left the order, though it is not settled yet.
  bool is_away(Sequence sequence) const;
  /// Messages of the range that are in the order, as ranges without holes.
  std::vector<NumberRange> find_waiting(NumberRange range,
                                        const storage::DiskDataCenter& disk) const;
  /// Takes them out of the order.
  void take_delayed(const std::vector<NumberRange>& ranges);

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
    std::map<TimePoint, RangeSet> resting;  // by when they are ready again
    std::uint64_t resting_count = 0;
    RangeSet leaving;  // from the cursor on: not ready any more, and neither dead nor settled yet
  };
  Active& active();
  const DeliveryCounts& active_counts() const;
  bool has_gap() const { return gap_begin_ < gap_end_; }
  void close_gap() { gap_begin_ = gap_end_ = Sequence{0}; }
  QueueMessages::ExpiryLook look(std::int64_t now_ms) const {
    return {expiry_, now_ms, at_once_from_};
  }
  bool has_expired(const MessageRun& run, std::uint32_t at, std::int64_t now_ms) const;
  /// Cuts the run where expired and others meet.
  void set_apart_expired(Next& next, std::int64_t now_ms) const;
  void leave_head(const MessageRun& run);
  void pass(const MessageRun& run);
  /// The range that holds `sequence`, or the next above it, of messages that are not ready though
  /// they were never delivered: leaving or dead. False if there is none.
  bool find_away(std::uint64_t sequence, NumberRange* found) const;
  std::uint64_t bytes_of(NumberRange range, const storage::DiskDataCenter& disk) const;
  std::optional<NumberRange> fresh_head(const storage::DiskDataCenter& disk) const;
  void add_ready_bytes(std::uint64_t bytes) {
    if (sizes_ != nullptr) ready_bytes_ += bytes;
  }
  void end_ready_bytes(std::uint64_t bytes) {
    if (sizes_ != nullptr) ready_bytes_ -= std::min(bytes, ready_bytes_);
  }
  void came_back(NumberRange range);
  Next next_returned(std::uint32_t max_count);
  Next next_fresh(std::uint32_t max_count);
  std::optional<MessageRun> first_fresh(Sequence through);
  void skip_dead_gap();
  void save_dead(v1::QueueState& state) const;
  void restore_dead(const v1::QueueState& state);
  LoadPlan plan_returned(NumberRange first) const;
  std::optional<LoadPlan> plan_gap_load(std::uint64_t window) const;
  std::vector<NumberRange> finish_returned_load(const LoadPlan& plan,
                                                const storage::LoadedMessages& loaded);
  std::vector<NumberRange> finish_gap_load(const LoadPlan& plan,
                                           const storage::LoadedMessages& loaded);
  void lose(std::uint64_t count);
  void set_ready(std::uint64_t ready);

  const QueueId id_;
  const ShardId shard_;
  const bool delays_;  // a delay lane
  QueueTotals& totals_;
  QueueDurability durability_ = QueueDurability::kSync;
  bool defined_ = false;
  bool auto_delete_ = false;
  bool loading_ = false;
  bool storing_ = false;
  bool by_number_ = false;
  std::string name_;

  Sequence next_{1};          // to be stamped
  Sequence applied_next_{1};  // one above the last applied
  Sequence cursor_{1};        // everything from here on was never delivered
  Sequence wanted_{0};        // next_at() needs it from disk
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
  std::uint64_t expired_total_ = 0;
  std::uint64_t dropped_total_ = 0;
  std::uint64_t ready_bytes_ = 0;
  std::uint64_t proposed_bytes_ = 0;
  const storage::DiskDataCenter* sizes_ = nullptr;  // null: ready_bytes_ is not kept
  ExpiryRule expiry_;
  bool own_expirations_ = false;  // there may be messages with one
  bool at_once_ = false;
  std::uint32_t proposed_dead_ = 0;
  Sequence at_once_from_{1};
  NumberRange again_;
  std::unique_ptr<Active> active_;
};

}  // namespace segue::node
