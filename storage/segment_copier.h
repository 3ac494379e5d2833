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
};

/// Copies the valid messages of segments into a new one, which is then whole and durable under its
/// name; the others stay. Until the last step nothing has the name, so that a copy that is broken
/// off counts for nothing. Records are checked on the way; a damaged one is set aside, and copied
/// as it is, so that whoever reads the message finds out.
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
  /// What the table is to know of the copy. Once, after success.
  std::unique_ptr<Segment> take_segment() { return std::move(segment_); }
  /// Bytes of the copy so far.
  std::uint64_t progress_bytes() const { return chunk_offset_ + chunk_.size(); }
  const CopyPlan& plan() const { return plan_; }
  /// An index had to be made anew: the flags in it may be behind those in the table.
  const std::vector<SegmentName>& indexes_made_anew() const { return made_anew_; }

 private:
  Status begin();
  /// Copies the next records that lie near each other; sets `end_` after the last.
  Status copy_some();
  Status copy_records(const CopySource& source, OpenSegment& from,
                      const std::vector<IndexEntry>& entries, std::size_t count);
  void add_record(const CopySource& source, const IndexEntry& entry, std::string_view bytes);
  Status write_chunk(bool last);
  Status finish();
  Status sync(File& file);
  void remove_files();
  /// The next valid ordinal of the source at or above `from`; its count of messages if none.
  static std::uint32_t next_valid(const CopySource& source, std::uint32_t from);
  std::string path(const char* extension) const;

  SegmentContext& context_;
  SegmentFiles& files_;
  SegmentReader& reader_;
  const CopyPlan plan_;
  std::unique_ptr<File> data_;
  std::unique_ptr<Segment> segment_;
  std::vector<IndexEntry> entries_;
  std::size_t source_ = 0;
  std::uint32_t ordinal_ = 0;  // of the source: all before are copied
  bool end_ = false;
  bool named_ = false;
  SegmentBuffer piece_;  // read
  SegmentBuffer chunk_;  // to be written at chunk_offset_
  std::uint64_t chunk_offset_ = 0;
  std::vector<QuarantineRecord> damaged_;  // of the piece that was read
  std::vector<SegmentName> made_anew_;
  Status status_;
};

}  // namespace segue::storage
