#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "common/ids.h"
#include "common/status.h"
#include "storage/file_system.h"
#include "storage/segment_format.h"

namespace segue::storage {

/// Whether the entries of the index have arrivals. CORRUPTION, with the file, if its header is
/// damaged.
Result<bool> index_is_timed(File& index);

/// Reads entries [first, first + count) of a segment's index. CORRUPTION, with the file and the
/// offset, when one is missing or fails its checksum.
Result<std::vector<IndexEntry>> read_index(File& index, Sequence segment, std::uint32_t first,
                                           std::uint32_t count);

/// Reads the header and the first `count` entries, and checks that they are `queue`'s and in order.
/// Calls `body` for each.
Status scan_index(File& index, QueueId queue, Sequence segment, std::uint32_t count,
                  std::uint64_t records_end, const std::function<void(const IndexEntry&)>& body);

/// Flags of a segment to be written.
struct IndexFlags {
  std::uint32_t first = 0;  // ordinals; a multiple of 64
  std::uint32_t end = 0;
  std::vector<std::uint64_t> valid;  // bit i: message first + i
};

/// Brings the flags of entries up to date; writes only what changes. CORRUPTION as read_index().
Status write_index_flags(File& index, Sequence segment, const IndexFlags& flags);

/// An index made from the message records.
struct RebuiltIndex {
  std::vector<IndexEntry> entries;
  std::uint32_t damaged_records = 0;  // places in the data that are no records
  /// Ordinals of entries of which the old index does not tell whether they were settled: they count
  /// as valid.
  std::vector<std::uint32_t> uncertain;

  std::uint32_t valid() const;
  /// At a checkpoint so many messages were not settled, and none has become valid since. Marks the
  /// uncertain ones as that decides; false if some uncertain ones must have been settled, and
  /// nothing tells which.
  bool decide(std::uint32_t valid_at_checkpoint);
};

/// Finds the records of a data file again, up to `records_end`, and takes from the old index what
/// it can: flags, and the entries of records that are damaged themselves. Entries that fail their
/// checksum are compared with what they can have been, so that no single damaged bit brings a
/// settled message back. Does not write. `index` is
/// null if there is none.
Result<RebuiltIndex> rebuild_index(File& data, File* index, QueueId queue, Sequence segment,
                                   std::uint64_t records_end);

/// Whether an index of these entries is to keep arrivals: whether any has one.
bool any_timed(const std::vector<IndexEntry>& entries);

/// Writes the header and the entries; what stands behind them stays.
Status write_index(File& index, QueueId queue, Sequence segment,
                   const std::vector<IndexEntry>& entries);

}  // namespace segue::storage
