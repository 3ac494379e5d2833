#pragma once

#include <cstdint>
#include <string_view>

#include "storage/aligned_buffer.h"
#include "storage/log_record.h"
#include "storage/wal_format.h"

namespace segue::storage {

/// The bytes that the record takes in a group.
inline std::uint64_t wal_record_bytes(const LogRecord& record) {
  std::uint64_t bytes = WalRecordHeader::kBytes + record.command.size();
  for (const SharedBytes& body : record.bodies) bytes += body.size();
  return bytes;
}

/// Puts records into one piece of aligned memory, as they go to the disk. One thread at a time.
class WalGroup {
 public:
  /// Starts a group; `header.records` and `header.bytes` are filled in by finish().
  void begin(const WalGroupHeader& header, std::uint64_t seed);
  void add(const LogRecord& record);
  bool is_open() const { return bytes_ > 0; }
  /// Bytes so far, header included; 0 when none is open.
  std::uint64_t bytes() const { return bytes_; }
  /// The group as it is to be written, a multiple of kWalBlock; valid until close().
  std::string_view finish();
  void close();

 private:
  AlignedBuffer buffer_;
  WalGroupHeader header_;
  std::uint64_t seed_ = 0;
  std::uint64_t bytes_ = 0;
};

}  // namespace segue::storage
