#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "storage/gc_options.h"
#include "storage/segment_table.h"

namespace segue::storage {

/// A segment as the policy sees it. Bytes with records' and index entries' overhead.
struct SegmentFigures {
  Sequence first;
  Sequence last;
  SegmentState state = SegmentState::kSealed;
  SegmentWork work = SegmentWork::kNone;
  std::uint64_t bytes = 0;        // of the files
  std::uint64_t valid_bytes = 0;  // that a copy of it would have
  std::uint32_t messages = 0;
  std::uint32_t valid = 0;
  std::uint64_t data_bytes = 0;  // of the .data file alone

  std::uint64_t garbage() const { return bytes > valid_bytes ? bytes - valid_bytes : 0; }
};

/// The figures of a segment of a table.
SegmentFigures figures_of(const Segment& segment);

/// Whether a queue's files have more than twice their valid bytes and `slack_bytes`.
bool beyond_bound(std::span<const SegmentFigures> segments, const GcThresholds& thresholds);

/// Whether one of them is to be cut.
bool has_oversized(std::span<const SegmentFigures> segments, const GcThresholds& thresholds);

struct GcStep {
  enum class Kind {
    kSeal,     // the active segment: complete it, so that it can be collected
    kCompact,  // one sealed segment: copy what is valid
    kMerge,    // several sealed ones, side by side: copy what is valid into one
    kCut,      // a sealed one beyond `segment_bytes`: copy what is valid into several
  };
  Kind kind = Kind::kCompact;
  std::size_t first = 0;  // of the segments
  std::size_t count = 1;
  std::uint64_t copied_bytes = 0;
  std::uint64_t reclaimed_bytes = 0;

  bool operator==(const GcStep&) const = default;
};

/// What to do next with a queue's segments (in order; drops are done already), most bytes given
/// back for each byte copied first; nothing when it is not worth it. `credit`: bytes that copying
/// may cost beyond what it gives back, earned by former steps; merges of small segments that hold
/// little garbage are paid from it, so that in all never more than two bytes are copied for one
/// given back.
///
/// A segment that is larger than `segment_bytes`, since that was lowered, is cut first of all, so
/// that no later step copies more than that; copying it gives back what is garbage in it.
///
/// When nothing is left to do, the files of the queue have no more than twice their valid bytes and
/// `slack_bytes`.
std::optional<GcStep> next_gc_step(std::span<const SegmentFigures> segments,
                                   const GcThresholds& thresholds, std::uint64_t credit);

/// Whether a complete segment is mostly garbage and only has to be sealed, by a checkpoint.
bool waits_for_checkpoint(std::span<const SegmentFigures> segments, const GcThresholds& thresholds);

}  // namespace segue::storage
