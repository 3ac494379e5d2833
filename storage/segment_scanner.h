#pragma once

#include <cstdint>
#include <string_view>

#include "common/status.h"
#include "storage/file_system.h"
#include "storage/segment_buffer.h"

namespace segue::storage {

/// Reads a data file from front to back through a window, without regard to how it was opened. One
/// thread.
class SegmentScanner {
 public:
  /// `file` outlives the scanner; nothing at or beyond `end` is looked at.
  SegmentScanner(File& file, std::uint64_t end) : file_(file), end_(end) {}

  /// Bytes [offset, offset + size), fewer at the end. Valid until the next call.
  Result<std::string_view> bytes(std::uint64_t offset, std::size_t size);
  std::uint64_t end() const { return end_; }

 private:
  File& file_;
  const std::uint64_t end_;
  SegmentBuffer window_;
  std::uint64_t window_offset_ = 0;
};

}  // namespace segue::storage
