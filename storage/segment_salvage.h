#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/ids.h"
#include "common/status.h"
#include "storage/checkpoint_file.h"
#include "storage/file_system.h"
#include "storage/segment_format.h"
#include "storage/segment_index.h"

namespace segue::storage {

/// What is found in a segment's files alone, without a checkpoint that names it.
struct SalvagedSegment {
  CheckpointSegment named;  // what a checkpoint is to say of it
  std::vector<IndexEntry> entries;
  Sequence replaced_first;  // of a copy
  Sequence replaced_last;
  std::uint64_t file_bytes = 0;  // of the .data file
  bool has_footer = false;
  bool write_index = false;     // the index is not what `entries` says
  std::uint32_t damaged = 0;    // places where messages were that nothing can be read of
  std::uint32_t uncertain = 0;  // messages that count as unsettled because nothing tells

  std::string data_path(const std::string& directory) const {
    return directory + "/" + segment_file_name(named.name(), ".data");
  }
  std::uint32_t valid() const;
  Sequence sequence(std::size_t ordinal) const {
    return named.first.next(entries[ordinal].sequence_offset);
  }
  /// Settles what `other` says is settled: a message is never unsettled again.
  void settle_as(const SalvagedSegment& other);
  /// Leaves out the messages from this sequence on; how many. Of a segment that is not sealed.
  std::uint32_t cut_from(Sequence from);
};

/// Reads a segment, also behind damaged records. A `complete` one is sealed, also if its footer is
/// damaged. Nothing if it has no message.
Result<std::optional<SalvagedSegment>> salvage_segment(FileSystem& files, QueueId queue,
                                                       const std::string& directory,
                                                       SegmentName name, bool complete);

/// Which of its messages pass every check: one for each of its entries. Reads all of them.
Result<std::vector<bool>> find_intact(FileSystem& files, QueueId queue,
                                      const std::string& directory, const SalvagedSegment& segment);

/// Writes its index, and its footer if a complete one lacks it, and syncs them.
Status write_salvaged(FileSystem& files, QueueId queue, const std::string& directory,
                      const SalvagedSegment& segment);

}  // namespace segue::storage
