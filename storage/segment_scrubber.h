#pragma once

#include <memory>
#include <optional>

#include "common/clock.h"
#include "storage/background_thread.h"
#include "storage/scrub_policy.h"
#include "storage/segment_context.h"
#include "storage/segment_store.h"

namespace segue::storage {

/// Verifies the unsettled messages of complete segments, one segment after the other, when the
/// background thread has nothing else to do and no faster than it is allowed: damage is found, and
/// set aside, before a consumer comes to it. A damaged message stays in its queue until its turn
/// comes to be read.
///
/// Lives on the reactor's thread.
class SegmentScrubber {
 public:
  /// The arguments outlive the scrubber; the executor is stopped before it ends.
  SegmentScrubber(SegmentContext& context, BackgroundExecutor& executor, SegmentStore& store,
                  const ScrubOptions& options);
  ~SegmentScrubber();

  /// Goes on with what can be done now. Often.
  void poll(TimePoint now);
  /// Begins nothing more.
  void stop() { stopped_ = true; }
  ScrubStats stats(TimePoint now) const { return policy_.stats(now); }

 private:
  class Scan;

  /// Finds the next segment; false if that has to wait, or the pass is over.
  bool choose(TimePoint now);
  void begin_slice();

  SegmentContext& context_;
  BackgroundExecutor& executor_;
  SegmentStore& store_;
  ScrubPolicy policy_;
  SegmentStore::Position queue_;   // being looked at
  std::optional<Sequence> after_;  // of it: segments up to this one are done
  std::shared_ptr<Scan> scan_;     // of a segment, under way
  bool running_ = false;           // a slice
  bool stopped_ = false;
};

}  // namespace segue::storage
