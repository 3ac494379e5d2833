#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/message_batch.h"
#include "common/status.h"
#include "storage/quarantine.h"
#include "storage/segment_body_pool.h"
#include "storage/segment_buffer.h"
#include "storage/segment_context.h"
#include "storage/segment_files.h"
#include "storage/segment_format.h"
#include "storage/segment_table.h"

namespace segue::storage {

/// Messages as they were read: in order, those that were asked for.
struct ReadMessages {
  std::vector<MessageRun> runs;
  std::vector<Sequence> corrupt;
  std::vector<Sequence> not_set_aside;  // of `corrupt`
  bool index_made_anew = false;         // its flags may be behind those in the table
};

/// Reads messages back. Background thread only.
class SegmentReader {
 public:
  SegmentReader(SegmentContext& context, SegmentFiles& files, Quarantine& quarantine)
      : context_(context), files_(files), quarantine_(quarantine) {}

  /// Reads what `load` names, about 1 MiB at a time, one MessageBatch each. A record that fails a
  /// check is left out, set aside under the queue's `name`, and reported. NOT_FOUND if the segment
  /// has been removed.
  Result<ReadMessages> read(QueueFiles& queue, const std::string& name, const SegmentLoad& load);

  /// What the files of a segment hold.
  struct Extent {
    SegmentName segment;
    std::uint32_t messages = 0;
    std::uint64_t records_end = 0;
  };
  /// Entries [first, first + count) of the segment's index, which is made anew from the data if it
  /// is damaged; `made_anew` is set then.
  Result<std::vector<IndexEntry>> entries(QueueFiles& queue, OpenSegment& files,
                                          const Extent& extent, std::uint32_t first,
                                          std::uint32_t count, bool& made_anew);
  Quarantine& quarantine() { return quarantine_; }

 private:
  struct Wanted {
    Sequence sequence;
    std::uint64_t offset = 0;  // of its record
    std::uint64_t end = 0;     // where the record ends at the latest
    std::uint32_t body_bytes = 0;
  };
  struct Found {
    Sequence sequence;
    std::string_view header;
    std::string_view body;
    std::int64_t arrived_ms = 0;
  };

  Result<std::vector<Wanted>> look_up(QueueFiles& queue, OpenSegment& files,
                                      const SegmentLoad& load, bool& made_anew);
  /// Reads [first, end) of `wanted`, which lie near each other.
  Status read_piece(QueueFiles& queue, File& data, std::span<const Wanted> wanted, ReadMessages& to,
                    std::vector<QuarantineRecord>& damaged);
  std::optional<Found> check(QueueId queue, const Wanted& wanted, std::string_view bytes) const;
  void add_batch(const std::vector<Found>& found, ReadMessages& to);

  SegmentContext& context_;
  SegmentFiles& files_;
  Quarantine& quarantine_;
  SegmentBuffer piece_;
  SegmentBodyPool bodies_;
};

}  // namespace segue::storage
