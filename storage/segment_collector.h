#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <set>
#include <unordered_map>
#include <vector>

#include "common/clock.h"
#include "storage/background_thread.h"
#include "storage/gc_options.h"
#include "storage/segment_context.h"
#include "storage/segment_copier.h"
#include "storage/segment_gc_policy.h"
#include "storage/segment_store.h"

namespace segue::storage {

/// Collects the garbage of all queues' segments, one step of one queue after the other: chooses the
/// step (next_gc_step()), has the background thread copy when it has nothing else to do and no
/// faster than the budget allows, and puts the copy in place.
///
/// Lives on the reactor's thread.
class SegmentCollector {
 public:
  /// The arguments outlive the collector; the executor is stopped before it ends.
  SegmentCollector(SegmentContext& context, BackgroundExecutor& executor, SegmentStore& store,
                   GcOptions options, const Clock& clock);
  ~SegmentCollector();

  /// Goes on with what can be done now. Often.
  void poll(TimePoint now);
  /// Begins nothing more; what is being copied is broken off at its next slice.
  void stop() { stopped_ = true; }
  /// Nothing to do as the segments are now, but for what waits for a checkpoint.
  bool idle() const;

  /// Of one queue, or of all. PRECONDITION_FAILED for kRun while it is paused. kPause breaks off
  /// nothing: a copy under way is finished.
  Status command(GcCommand command, std::optional<QueueId> queue);
  QueueGc queue(QueueId queue) const { return {paused_.contains(queue), forced_.contains(queue)}; }
  /// From now on, for this queue.
  void set_overrides(QueueId queue, const GcOverrides& overrides);
  /// The queue was deleted.
  void forget(QueueId queue);

  /// Shards whose checkpoint would let a segment be collected. Asks once for each.
  std::vector<ShardId> take_wanted_checkpoints();
  GcStats stats() const;

 private:
  struct Copy;
  struct Removal;

  void enqueue(QueueId queue);
  void measure(TimePoint now);
  void set_debt(QueueId queue, std::uint64_t bytes);
  GcThresholds thresholds_of(QueueId queue) const;
  static GcThresholds forced(GcThresholds thresholds);
  /// Puts some more queues in line when all are to be collected.
  void sweep();
  void look(TimePoint now);
  /// Begins a step of the queue; false if it needs none.
  bool begin_step(QueueId queue);
  void begin_slice();
  void end_copy();
  void remove_sources(std::shared_ptr<Removal> removal);
  static Status write_flags(SegmentFiles& files, const Removal& removal);
  std::uint64_t rate() const;

  SegmentContext& context_;
  BackgroundExecutor& executor_;
  SegmentStore& store_;
  const GcOptions options_;
  const Clock& clock_;
  GcStats stats_;
  TimePoint measured_at_{};
  std::uint64_t measured_bytes_ = 0;
  std::uint64_t slice_bytes_ = 0;  // copied, whatever became of it
  std::unordered_map<QueueId, std::uint64_t> debts_;
  std::unordered_map<QueueId, GcOverrides> overrides_;
  std::set<QueueId> paused_;
  std::set<QueueId> forced_;                     // to be collected beyond what the thresholds say
  std::optional<SegmentStore::Position> sweep_;  // all up to here are in line
  std::shared_ptr<Copy> copy_;                   // under way
  bool slice_running_ = false;
  bool stopped_ = false;
  std::deque<QueueId> queues_;  // that may have garbage worth a step
  std::set<QueueId> in_queues_;
  std::set<ShardId> wanted_checkpoints_;
  std::uint64_t garbage_ = 0;  // of the queue that was looked at last
  double allowance_ = 0;       // bytes that may be copied now
  TimePoint now_{};
  TimePoint allowed_at_{};
  TimePoint next_look_{};
  std::deque<std::shared_ptr<Removal>> removals_;  // failed; tried again
  TimePoint next_removal_{};
  int removing_ = 0;
};

}  // namespace segue::storage
