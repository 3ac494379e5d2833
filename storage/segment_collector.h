#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <set>
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
                   GcOptions options);
  ~SegmentCollector();

  /// Goes on with what can be done now. Often.
  void poll(TimePoint now);
  /// Begins nothing more; what is being copied is broken off at its next slice.
  void stop() { stopped_ = true; }
  /// Nothing to do as the segments are now, but for what waits for a checkpoint.
  bool idle() const;

  /// Shards whose checkpoint would let a segment be collected. Asks once for each.
  std::vector<ShardId> take_wanted_checkpoints();
  const GcStats& stats() const { return stats_; }

 private:
  struct Copy;
  struct Removal;

  void look(TimePoint now);
  /// Begins a step of the queue; false if it needs none.
  bool begin_step(QueueId queue);
  void begin_slice();
  void end_copy();
  void remove_sources(std::shared_ptr<Removal> removal);
  static Status write_flags(SegmentFiles& files, QueueFiles& queue, SegmentName segment,
                            const IndexFlags& flags);
  std::uint64_t rate() const;

  SegmentContext& context_;
  BackgroundExecutor& executor_;
  SegmentStore& store_;
  const GcOptions options_;
  GcStats stats_;
  std::shared_ptr<Copy> copy_;  // under way
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
