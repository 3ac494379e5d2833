#pragma once

#include <cstdint>
#include <string>

#include "common/status.h"
#include "storage/segment_buffer.h"
#include "storage/segment_files.h"
#include "storage/segment_table.h"

namespace segue::storage {

/// How far a SegmentWrite has come.
struct WriteProgress {
  std::size_t run = 0;
  std::uint32_t message = 0;   // of the run
  std::uint32_t messages = 0;  // in all
  std::uint64_t bytes = 0;     // of records
};

/// Writes message records, index entries and footers. Background thread only.
///
/// Data goes out in blocks of 4096 bytes: the last one, incomplete, is filled up with zeros and
/// written again with the next messages behind it. Nothing is synced here.
class SegmentWriter {
 public:
  explicit SegmentWriter(SegmentFiles& files) : files_(files) {}

  /// Writes the next chunk (about 1 MiB) of `write`, and moves `progress`. It is complete when
  /// progress.messages is write.messages.
  Status write_some(QueueFiles& queue, const SegmentWrite& write, WriteProgress& progress);
  /// Completes a segment whose records end at `records_end`, and cuts the file to its size.
  /// Repeatable.
  Status seal(QueueFiles& queue, SegmentName segment, const SegmentFooter& footer);

 private:
  /// Begins a chunk that is to be written at `offset`: with what stands before it in its block.
  Status begin_chunk(OpenSegment& files, std::uint64_t offset);
  /// Writes the chunk.
  Status end_chunk(OpenSegment& files);
  /// The message that stands `skip` messages behind the run's first.
  void add_message(QueueId queue, const SegmentWrite& write, const MessageRun& run,
                   std::uint32_t skip);

  SegmentFiles& files_;
  SegmentBuffer chunk_;
  std::uint64_t chunk_offset_ = 0;  // where chunk_ goes; a multiple of kBlock
  std::string entries_;
};

}  // namespace segue::storage
