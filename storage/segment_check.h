#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "common/ids.h"
#include "storage/check_report.h"
#include "storage/checkpoint_file.h"
#include "storage/damaged_messages.h"
#include "storage/file_system.h"
#include "storage/segment_index.h"
#include "storage/segment_scanner.h"

namespace segue::storage {

/// Reads entries of an index one after the other, whatever their state. One thread.
class IndexCursor {
 public:
  /// `timed`: the entries have arrivals.
  IndexCursor(File* index, Sequence segment, std::uint32_t count, bool timed)
      : index_(index), segment_(segment), count_(count), timed_(timed) {}

  /// The bytes of an entry; null when there is none (any more). Valid until the next call.
  const char* raw(std::uint32_t ordinal);
  /// The entry, if its checksum is right.
  std::optional<IndexEntry> entry(std::uint32_t ordinal);

 private:
  File* index_;  // null: there is no index
  const Sequence segment_;
  const std::uint32_t count_;
  const bool timed_;
  std::string window_;
  std::uint32_t window_first_ = 0;
};

/// Verifies the two files of a segment that a queue has: every byte of them that means anything,
/// against its checksum, against the other file, and against what the checkpoint says. Memory: two
/// windows of about 1 MiB, or the largest message. One use.
class SegmentCheck {
 public:
  struct Queue {
    QueueId id;
    std::string name;
    std::string directory;
  };
  SegmentCheck(FileSystem& files, CheckReport& report, const Queue& queue,
               const CheckpointSegment& named, DamagedMessages& damaged);

  void run();

 private:
  Status open();
  void check_sizes();
  void check_data_header();
  void check_footer();
  void check_index_header();
  void check_records();
  /// Checks the record at `offset_`, which is message number `ordinal_`; goes on to the next.
  /// False: the file cannot be read.
  bool check_record();
  bool damaged_record();
  void check_entry(const IndexEntry& expected);
  void check_flags();
  bool is_half_written(const IndexEntry& expected, const char* raw) const;
  /// Tells of a damaged message; as a note if it was set aside.
  void report_damaged(CheckFinding finding, bool settled);
  void report_cut();
  CheckFinding in_data(std::uint64_t offset, std::string what) const;
  CheckFinding in_index(std::uint64_t offset, std::string what) const;

  FileSystem& files_;
  CheckReport& report_;
  const Queue& queue_;
  const CheckpointSegment& named_;
  DamagedMessages& damaged_;
  const std::string data_path_;
  const std::string index_path_;
  const std::uint64_t records_end_;
  std::unique_ptr<File> data_;
  std::unique_ptr<File> index_;  // null: missing
  std::uint64_t data_bytes_ = 0;
  std::uint64_t index_bytes_ = 0;
  std::unique_ptr<SegmentScanner> scanner_;
  std::unique_ptr<IndexCursor> entries_;
  bool index_timed_ = false;

  std::uint64_t offset_ = SegmentHeader::kSize;
  std::uint32_t ordinal_ = 0;
  std::uint64_t least_;  // the next message's sequence is this or higher
  std::uint64_t body_bytes_ = 0;
  std::uint64_t good_ = 0;
  std::uint64_t unsettled_ = 0;  // entries that say so
  bool whole_ = true;            // no record is damaged so far
};

}  // namespace segue::storage
