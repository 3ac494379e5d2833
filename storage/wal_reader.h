#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/status.h"
#include "storage/aligned_buffer.h"
#include "storage/file_system.h"
#include "storage/log_record.h"
#include "storage/wal_format.h"

namespace segue::storage {

/// A valid group as it stands in the reader's memory.
struct WalGroupView {
  struct Record {
    WalRecordHeader header;
    std::string_view payload;
  };
  WalGroupHeader header;
  std::vector<Record> records;
  std::uint64_t next_offset = 0;  // where the next group would start
};

/// Where a file's bytes are read from.
enum class WalReading {
  kPastCache,  // the disk, where the file system allows it
  kFresh,      // the disk, by way of the page cache: another reading will follow
  kAgain,      // the page cache, as far as it still has what was read before
};

/// Reads one WAL file group by group. What counts is on the disk: a first reading takes it from
/// there. One thread.
class WalReader {
 public:
  /// Checks the file header. CORRUPTION if it is damaged or has another number than the name;
  /// INVALID_CONFIG if it is another node's or of another version.
  static Result<std::unique_ptr<WalReader>> open(FileSystem& files, const std::string& path,
                                                 std::uint64_t number, std::uint64_t node_hash,
                                                 WalReading reading = WalReading::kPastCache);
  /// The same, but what is left of a file that was cut off is read too; see missing_bytes().
  static Result<std::unique_ptr<WalReader>> open_cut(FileSystem& files, const std::string& path,
                                                     std::uint64_t number, std::uint64_t node_hash);

  /// The group at this offset, with every checksum right; nothing if there is none. Valid until the
  /// next call.
  Result<std::optional<WalGroupView>> group_at(std::uint64_t offset);
  /// True if a group was written at this offset, though its header is damaged: its first record's
  /// is there.
  Result<bool> has_remains_at(std::uint64_t offset);
  /// Calls `see` for every group header at or behind `offset`, whether or not the group's records
  /// are whole.
  Status each_header(std::uint64_t offset,
                     const std::function<void(std::uint64_t, const WalGroupHeader&)>& see);

  const std::string& path() const { return path_; }
  std::uint64_t number() const { return number_; }
  std::uint64_t size() const { return size_; }
  /// How many of the bytes that it was made with are not there.
  std::uint64_t missing_bytes() const { return missing_bytes_; }

 private:
  WalReader(std::string path, std::uint64_t number) : path_(std::move(path)), number_(number) {}

  Status open_file(FileSystem& files, WalReading reading);
  Status check_header(std::uint64_t node_hash);
  /// The file's bytes [offset, offset + length); the caller has checked the range. `offset` is a
  /// block's start.
  Result<std::string_view> bytes(std::uint64_t offset, std::uint64_t length);
  bool parse_records(std::string_view group, WalGroupView& view) const;

  std::string path_;
  std::uint64_t number_;
  std::unique_ptr<File> file_;
  std::uint64_t size_ = 0;
  std::uint64_t missing_bytes_ = 0;
  std::uint64_t seed_ = 0;
  AlignedBuffer window_;
  std::uint64_t window_offset_ = 0;
  std::uint64_t window_bytes_ = 0;
  std::uint64_t next_window_ = 0;  // how much to read at once; grows while reading goes on
};

}  // namespace segue::storage
