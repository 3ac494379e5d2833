#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "common/ids.h"
#include "common/status.h"
#include "storage/file_system.h"

namespace segue::storage {

/// A message whose record on disk is damaged, as a quarantine file keeps it. Records of the file
/// stand back to back, each with a checksum of its own, so that one can be found without those
/// before it. Drawn in docs/storage-format.md.
struct QuarantineRecord {
  static constexpr std::size_t kHeaderBytes = 72;

  ShardId shard;
  QueueId queue;
  std::string queue_name;
  Sequence sequence;
  std::string file;          // where it was found, below the data directory
  std::uint64_t offset = 0;  // and at which place
  std::string bytes;  // what is there: record, message header, body; fewer if they end before

  bool operator==(const QuarantineRecord&) const = default;
  std::uint64_t record_bytes() const {
    return kHeaderBytes + queue_name.size() + file.size() + bytes.size();
  }
  void append_to(std::string& to) const;
};

/// What a scan of a quarantine file has seen.
struct QuarantineScan {
  std::uint64_t records = 0;
  std::uint64_t file_bytes = 0;
  /// Bytes that belong to no whole record: what a crash left half-written, or damage.
  std::uint64_t lost_bytes = 0;
  std::uint64_t lost_at = 0;  // the first of them
};

/// Calls `found` for every whole record. A file that is missing has none. IO_ERROR.
Result<QuarantineScan> scan_quarantine(FileSystem& files, const std::string& path,
                                       const std::function<void(const QuarantineRecord&)>& found);

}  // namespace segue::storage
