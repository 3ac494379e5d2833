#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "common/status.h"
#include "storage/segment_buffer.h"
#include "storage/segment_context.h"
#include "storage/segment_files.h"
#include "storage/segment_reader.h"
#include "storage/segment_table.h"

namespace segue::storage {

/// What is to be copied into one new segment: sealed segments that stand side by side, with at
/// least one valid message.
struct CopyPlan {
  std::shared_ptr<QueueFiles> queue;
  std::vector<CopySource> sources;
  std::string queue_name = {};
  SegmentName to = {};  // the first one's sequence, a generation above all
  /// 0: into one. Else a single source is cut: into segments of so many bytes of data at most, or
  /// of one message.
  std::uint64_t piece_bytes = 0;
};

/// Copies the valid messages of segments into a new one, or of one segment into several, which are
/// then whole and durable under their names; the sources stay. Until the last step nothing has such
/// a name, so that a copy that is broken off counts for nothing. Records are checked on the way; a
/// damaged one is set aside, and copied as it is, so that whoever reads the message finds out.
///
/// Background thread only.
class SegmentCopier {
 public:
  /// The references outlive the copier.
  SegmentCopier(SegmentContext& context, SegmentFiles& files, SegmentReader& reader, CopyPlan plan);

  /// Copies about 1 MiB; true when finished.
  bool step();
  /// How it ended. After a failure nothing is left of the copy.
  const Status& status() const { return status_; }
  /// What the table is to know of the copies, in order. Once, after success.
  std::vector<std::unique_ptr<Segment>> take_segments() { return std::move(segments_); }
  /// Bytes of the copies so far.
  std::uint64_t progress_bytes() const { return done_bytes_ + chunk_offset_ + chunk_.size(); }
  const CopyPlan& plan() const { return plan_; }
  /// An index had to be made anew: the flags in it may be behind those in the table.
  const std::vector<SegmentName>& indexes_made_anew() const { return made_anew_; }

 private:
  /// A new segment, from this message on.
  Status begin(Sequence first);
  /// Copies the next records that lie near each other; sets `end_` after the last.
  Status copy_some();
  Status copy_records(const CopySource& source, OpenSegment& from,
                      const std::vector<IndexEntry>& entries, std::size_t count);
  void add_record(const CopySource& source, const IndexEntry& entry, std::string_view bytes);
  Status write_chunk(bool last);
  /// Whether so many bytes of records more go into the segment.
  bool fits(std::uint64_t bytes) const;
  /// Makes the segment whole, not yet under its name.
  Status finish_segment();
  Status write_header(Sequence replaced_last);
  /// Gives all their names.
  Status finish();
  Status sync(File& file);
  void remove_files();
  /// The next valid ordinal of the source at or above `from`; its count of messages if none.
  static std::uint32_t next_valid(const CopySource& source, std::uint32_t from);
  std::string path(SegmentName name, const char* extension) const;

  SegmentContext& context_;
  SegmentFiles& files_;
  SegmentReader& reader_;
  const CopyPlan plan_;
  std::unique_ptr<File> data_;
  std::unique_ptr<Segment> segment_;                // being written
  std::vector<std::unique_ptr<Segment>> segments_;  // whole
  bool timed_ = false;                              // there may be records with arrivals
  std::vector<IndexEntry> entries_;
  std::size_t source_ = 0;
  std::uint32_t ordinal_ = 0;  // of the source: all before are copied
  bool full_ = false;          // the segment: the next message goes into another
  bool end_ = false;
  bool named_ = false;
  SegmentBuffer piece_;  // read
  SegmentBuffer chunk_;  // to be written at chunk_offset_
  std::uint64_t chunk_offset_ = 0;
  std::uint64_t done_bytes_ = 0;           // of segments_
  std::vector<QuarantineRecord> damaged_;  // of the piece that was read
  std::vector<SegmentName> made_anew_;
  Status status_;
};

}  // namespace segue::storage
