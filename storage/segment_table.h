#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "common/expiry.h"
#include "common/ids.h"
#include "common/message_batch.h"
#include "storage/disk_data_center.h"
#include "storage/segment_expiry.h"
#include "storage/segment_format.h"
#include "storage/segment_index.h"
#include "storage/segment_sequences.h"
#include "storage/segment_sizes.h"
#include "storage/segment_validity.h"

namespace segue::storage {

enum class SegmentState {
  kActive,  // the queue's newest; takes messages
  kFull,    // complete, its footer not written yet
  kSealed,  // complete, with its footer
};

/// What is being done with a segment besides.
enum class SegmentWork { kNone, kCompacting, kMerging };

/// What the table knows of one segment. Messages are named by their ordinal in it.
struct Segment {
  Sequence first;  // no message is below; nor is one of the segment before at or above
  std::uint32_t generation = 0;  // see SegmentName
  SegmentState state = SegmentState::kActive;
  std::uint64_t data_bytes = SegmentHeader::kSize;  // of .data, its header and footer included
  std::uint64_t body_bytes = 0;
  std::uint64_t valid_body_bytes = 0;
  SegmentSequences sequences;
  SegmentValidity validity;
  SegmentSizes sizes;
  bool timed = false;  // its files have arrivals
  SegmentExpiry expiry;
  // What is in the files, from the first message on: the rest is still on its way.
  std::uint32_t written = 0;
  std::uint64_t written_end = SegmentHeader::kSize;
  // Since the last checkpoint: whether anything changed, and which flags.
  bool changed = true;
  SegmentWork work = SegmentWork::kNone;  // being copied: stays until the copy stands for it
  std::uint32_t dirty_first = 0;
  std::uint32_t dirty_end = 0;

  std::uint32_t messages() const { return sequences.count(); }
  Sequence last() const { return sequences.last(); }
  SegmentName name() const { return {first, generation}; }
  /// One above the ordinal of the last message at or below `sequence`.
  std::uint32_t end_ordinal(Sequence sequence) const {
    return sequence >= last() ? messages() : sequences.lower_bound(sequence.next());
  }
  bool collecting() const { return work != SegmentWork::kNone; }
  std::uint64_t disk_bytes() const { return data_bytes + IndexEntry::place(messages(), timed); }
  /// Adds a message that was just found in the index.
  void append_recovered(Sequence sequence, const IndexEntry& entry);
  /// As before the first append_recovered().
  void forget_messages();
  void mark_dirty(std::uint32_t first_ordinal, std::uint32_t end_ordinal);
  /// The flags that changed since the last checkpoint.
  IndexFlags dirty_flags() const;
  std::size_t memory_bytes() const;
};

/// A part of a store: messages for one segment.
struct SegmentWrite {
  Sequence segment;
  std::uint32_t first_ordinal = 0;  // 0: the segment's files are to be made
  std::uint64_t data_offset = 0;    // of the first record
  std::uint64_t records_end = 0;    // of the last one
  std::uint32_t messages = 0;
  std::vector<MessageRun> runs;
  bool timed = false;  // the segment's files have arrivals
};

/// A sealed segment to be copied, as it was when the copy was begun.
struct CopySource {
  SegmentName name;
  Sequence last;
  std::uint32_t messages = 0;
  std::uint64_t records_end = 0;
  std::vector<std::uint64_t> valid;  // bit i: message with ordinal i
  bool timed = false;
};

/// Where a queue's segments end; rollback() goes back there.
struct SegmentPosition {
  Sequence last;  // highest sequence stored; 0: none
  std::optional<Sequence> segment;
  SegmentState state = SegmentState::kActive;
  std::uint64_t data_bytes = 0;
};

/// Messages of one segment to be read.
struct SegmentLoad {
  SegmentName segment;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> ranges;  // ordinals [first, end)
  std::uint64_t body_bytes = 0;
  std::uint32_t messages = 0;     // that the segment has in its files
  std::uint64_t records_end = 0;  // where they end
  Sequence last;                  // the highest sequence in `ranges`
};

/// The segments of one queue in order, and which of their messages are valid: the truth while the
/// node runs; the files follow it. Pure state: no I/O. Lives on the reactor's thread.
class SegmentTable {
 public:
  /// Takes messages in; sequences above all stored. Says what is to be written where. Begins a
  /// segment when the active one would grow beyond `segment_bytes`.
  std::vector<SegmentWrite> append(const std::vector<MessageRun>& runs,
                                   std::uint64_t segment_bytes);
  SegmentPosition end() const;
  /// Forgets what was appended after `position`. Returns the segments that are gone.
  std::vector<SegmentName> rollback(const SegmentPosition& position);
  /// A write of append() is in the files now.
  void set_written(Sequence segment, std::uint32_t messages, std::uint64_t records_end);

  /// A checkpoint gave the full segment its footer.
  void set_sealed(SegmentName segment);
  /// A checkpoint did not come to write these flags of a segment.
  void mark_changed(SegmentName segment, std::uint32_t first_ordinal, std::uint32_t end_ordinal);

  /// Marks messages as gone. Returns the segments that have no valid message left and are gone,
  /// too.
  std::vector<SegmentName> settle(Sequence first, Sequence last);
  /// Also the active segment goes if it has no valid message.
  std::vector<SegmentName> drop_empty();

  /// Completes the active segment, so that a checkpoint can seal it; true if there was one.
  bool end_active();
  /// The sealed segments [first, first + count), from now on kept until install() or
  /// end_collecting().
  std::vector<CopySource> begin_collecting(std::size_t first, std::size_t count);
  /// `copies`, in order, of the sources' valid messages, stand for them from now on; what was
  /// settled since is settled in them. Of each, its flags that are not in its index yet.
  std::vector<IndexFlags> install(std::vector<std::unique_ptr<Segment>> copies,
                                  const std::vector<CopySource>& sources);
  /// All flags of a segment; none if there is none of the name.
  IndexFlags all_flags(SegmentName name) const;
  void end_collecting(const std::vector<CopySource>& sources);
  /// Segments that are complete and have no valid message.
  std::vector<SegmentName> drop_consumed();

  /// What to read for valid, written messages of [from, through]: of one segment, about
  /// `max_bytes`.
  std::optional<SegmentLoad> plan_load(Sequence from, Sequence through,
                                       std::size_t max_bytes) const;
  // ---- what has expired (segment_expiry.cc)

  /// Whether a look would find something, as far as the segments know.
  bool any_expired(const ExpiryScan& scan) const;
  /// What is to be looked at in the first segment with something to be found at or above scan.from.
  /// A look from the segment's first message on makes its SegmentExpiry exact: finish_expiry() must
  /// follow.
  std::optional<ExpiryPlan> plan_expiry(const ExpiryScan& scan);
  /// Appends the expired ones that are still valid to `found`; its scanned_through goes on.
  void finish_expiry(const ExpiryPlan& plan, const ExpiryFindings& findings, const ExpiryScan& scan,
                     ExpiredMessages& found);

  /// The same for messages of a delay lane that are due before scan.below, of which finish_due()
  /// then tells how far they were looked at.
  std::optional<ExpiryPlan> plan_due(const DueScan& scan);
  void finish_due(const ExpiryPlan& plan, const SegmentExpiry& left, const DueScan& scan,
                  FoundDue& found);

  /// The first valid message at or above `from`.
  std::optional<Sequence> next_valid(Sequence from) const;
  /// The first valid messages of [from, through] that have sequences without a hole, of one
  /// segment.
  std::optional<NumberRange> valid_run(Sequence from, Sequence through) const;
  /// Of the bodies of valid messages in [first, last].
  std::uint64_t body_bytes(Sequence first, Sequence last) const;
  /// Calls `body(first, count)` for the runs of [first, first + count), all of one segment, that
  /// are valid.
  template <typename Body>
  void for_valid(Sequence first, std::uint32_t count, Body body) const {
    const Segment* segment = find(first);
    if (segment == nullptr || segment->last() < first || count == 0) return;
    const std::uint32_t end = segment->end_ordinal(first.next(count - 1));
    for (std::uint32_t at =
             segment->validity.next_valid(segment->sequences.lower_bound(first), end);
         at < end; at = segment->validity.next_valid(at, end)) {
      const std::uint32_t run_end =
          segment->sequences.run_end(at, segment->validity.valid_end(at, end));
      body(segment->sequences.at(at), run_end - at);
      at = run_end;
    }
  }

  /// Whether nothing of what the load was planned for has been settled or moved since.
  bool all_valid(const SegmentLoad& load) const;

  /// Of segments that are gone because they had no valid message, since the last call.
  std::uint64_t take_dropped_bytes() { return std::exchange(dropped_bytes_, 0); }
  bool empty() const { return segments_.empty(); }
  bool has(SegmentName segment) const;
  std::uint64_t messages() const;
  std::uint64_t body_bytes() const;
  std::uint64_t disk_bytes() const;
  std::uint64_t total_messages() const;
  std::size_t memory_bytes() const;
  const std::vector<std::unique_ptr<Segment>>& segments() const { return segments_; }
  /// Adds a segment found by recovery; in order.
  void add_recovered(std::unique_ptr<Segment> segment) { segments_.push_back(std::move(segment)); }

 private:
  /// The segment whose range `sequence` would fall in: the last that begins at or below it.
  Segment* find(Sequence sequence) const;
  Segment* find_exact(SegmentName segment) const;
  Segment& begin_segment(Sequence first, bool timed);
  std::vector<std::unique_ptr<Segment>>::const_iterator next_expired(const ExpiryScan& scan) const;
  std::vector<std::unique_ptr<Segment>>::const_iterator next_due(const DueScan& scan) const;
  /// Takes as many of the run's messages as the segment has room for.
  static std::uint32_t take(Segment& segment, const MessageRun& run, std::uint64_t segment_bytes);
  template <typename Gone>
  std::vector<SegmentName> erase_if(Gone gone);

  std::vector<std::unique_ptr<Segment>> segments_;  // by first sequence
  std::uint64_t dropped_bytes_ = 0;
};

}  // namespace segue::storage
