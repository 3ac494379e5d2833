#include "storage/segment_gc_policy.h"

#include <algorithm>
#include <limits>

#include "storage/segment_format.h"

namespace segue::storage {

namespace {

/// Longest run of segments that one merge looks at.
constexpr std::size_t kMaxMerged = 64;
/// A merge that gives back little is for many small segments only.
constexpr std::size_t kManySmall = 4;
/// Bytes copied for one given back, at most.
constexpr std::uint64_t kCopiedPerReclaimed = 2;

bool worth_it(const GcStep& step) {
  return step.copied_bytes <= kCopiedPerReclaimed * step.reclaimed_bytes;
}

/// Whether `one` gives back more for each byte copied.
bool better(const GcStep& one, const GcStep& other) {
  return static_cast<double>(one.reclaimed_bytes) * static_cast<double>(other.copied_bytes + 1) >
         static_cast<double>(other.reclaimed_bytes) * static_cast<double>(one.copied_bytes + 1);
}

bool is_oversized(const SegmentFigures& segment, const GcThresholds& thresholds) {
  // One with a single message stays as large as that is.
  return segment.state == SegmentState::kSealed && segment.valid > 1 &&
         segment.data_bytes > thresholds.segment_bytes + SegmentFooter::kSize;
}

bool is_garbage(const SegmentFigures& segment, const GcThresholds& thresholds) {
  const bool large =
      segment.bytes > thresholds.min_bytes || segment.messages > thresholds.min_messages;
  return large && segment.valid_bytes * 100 < segment.bytes * thresholds.valid_percent;
}

class Choice {
 public:
  Choice(std::span<const SegmentFigures> segments, const GcThresholds& thresholds)
      : segments_(segments), thresholds_(thresholds) {}

  std::optional<GcStep> next(std::uint64_t credit) {
    for (std::size_t i = 0; i < segments_.size(); ++i) {
      if (!is_oversized(segments_[i], thresholds_)) continue;
      return GcStep{GcStep::Kind::kCut, i, 1, segments_[i].valid_bytes, segments_[i].garbage()};
    }
    for (std::size_t i = 0; i < segments_.size(); ++i) {
      if (is_garbage(segments_[i], thresholds_)) offer_one(i);
      offer_merges(i, credit);
    }
    if (!best_ && beyond_bound(segments_, thresholds_)) {
      for (std::size_t i = 0; i < segments_.size(); ++i) {
        if (segments_[i].valid_bytes < segments_[i].garbage()) offer_one(i);
      }
    }
    return best_ ? best_ : small_merge_;
  }

 private:
  void offer(const GcStep& step) {
    if (!best_ || better(step, *best_)) best_ = step;
  }

  void offer_one(std::size_t at) {
    const SegmentFigures& segment = segments_[at];
    if (segment.state == SegmentState::kFull) return;  // until a checkpoint has sealed it
    // A sealed one without a valid message is dropped, without a step.
    if (segment.state == SegmentState::kSealed && segment.valid == 0) return;
    const auto kind =
        segment.state == SegmentState::kActive ? GcStep::Kind::kSeal : GcStep::Kind::kCompact;
    offer({kind, at, 1, segment.valid_bytes, segment.garbage()});
  }

  void offer_merges(std::size_t first, std::uint64_t credit) {
    const std::uint64_t limit = thresholds_.segment_bytes / 100 * thresholds_.merge_percent;
    GcStep step{GcStep::Kind::kMerge, first, 0, 0, 0};
    std::uint64_t largest = 0;
    const std::size_t end = std::min(segments_.size(), first + kMaxMerged);
    for (std::size_t i = first; i < end; ++i) {
      const SegmentFigures& segment = segments_[i];
      const std::uint64_t range = segment.last.value - segments_[first].first.value;
      if (segment.state != SegmentState::kSealed || segment.valid == 0 ||
          step.copied_bytes + segment.valid_bytes > limit ||
          range > std::numeric_limits<std::uint32_t>::max()) {
        break;
      }
      ++step.count;
      step.copied_bytes += segment.valid_bytes;
      step.reclaimed_bytes += segment.garbage();
      largest = std::max(largest, segment.valid_bytes);
      if (step.count < 2) continue;
      if (worth_it(step)) {
        offer(step);
      } else if (step.count >= kManySmall && largest <= step.copied_bytes / 2 &&
                 step.copied_bytes <= credit &&
                 (!small_merge_ || step.count > small_merge_->count)) {
        small_merge_ = step;
      }
    }
  }

  const std::span<const SegmentFigures> segments_;
  const GcThresholds& thresholds_;
  std::optional<GcStep> best_;
  std::optional<GcStep> small_merge_;
};

}  // namespace

SegmentFigures figures_of(const Segment& segment) {
  SegmentFigures figures;
  figures.first = segment.first;
  figures.last = segment.last();
  figures.state = segment.state;
  figures.work = segment.work;
  figures.bytes = segment.disk_bytes();
  figures.data_bytes = segment.data_bytes;
  figures.messages = segment.messages();
  figures.valid = segment.validity.valid();
  if (figures.valid == 0) return figures;
  const std::uint64_t fixed =
      SegmentHeader::kSize + (segment.state == SegmentState::kSealed ? SegmentFooter::kSize : 0);
  // In a segment with arrivals nearly all have one.
  const std::uint64_t head = MessageRecord::size(segment.timed);
  const std::uint64_t records =
      std::min(head * figures.messages, segment.data_bytes - fixed - segment.body_bytes);
  // Messages' headers are not counted one by one; those of a queue are much alike.
  const std::uint64_t headers = segment.data_bytes - fixed - records - segment.body_bytes;
  figures.valid_bytes = fixed + IndexEntry::place(figures.valid, segment.timed) +
                        records * figures.valid / figures.messages +
                        headers * figures.valid / figures.messages + segment.valid_body_bytes;
  return figures;
}

bool beyond_bound(std::span<const SegmentFigures> segments, const GcThresholds& thresholds) {
  std::uint64_t bytes = 0;
  std::uint64_t valid = 0;
  for (const SegmentFigures& segment : segments) {
    bytes += segment.bytes;
    valid += segment.valid_bytes;
  }
  return bytes > 2 * valid + thresholds.slack_bytes;
}

bool has_oversized(std::span<const SegmentFigures> segments, const GcThresholds& thresholds) {
  return std::any_of(segments.begin(), segments.end(), [&](const SegmentFigures& segment) {
    return is_oversized(segment, thresholds);
  });
}

std::optional<GcStep> next_gc_step(std::span<const SegmentFigures> segments,
                                   const GcThresholds& thresholds, std::uint64_t credit) {
  return Choice(segments, thresholds).next(credit);
}

bool waits_for_checkpoint(std::span<const SegmentFigures> segments,
                          const GcThresholds& thresholds) {
  return std::any_of(segments.begin(), segments.end(), [&](const SegmentFigures& segment) {
    return segment.state == SegmentState::kFull && segment.valid > 0 &&
           is_garbage(segment, thresholds);
  });
}

}  // namespace segue::storage
