#include "storage/segment_scanner.h"

#include <algorithm>

namespace segue::storage {

namespace {
constexpr std::size_t kWindowBytes = 1u << 20;
}  // namespace

Result<std::string_view> SegmentScanner::bytes(std::uint64_t offset, std::size_t size) {
  if (offset >= end_) return std::string_view();
  size = static_cast<std::size_t>(std::min<std::uint64_t>(size, end_ - offset));
  if (offset < window_offset_ || offset + size > window_offset_ + window_.size()) {
    window_offset_ = offset / SegmentFiles::kBlock * SegmentFiles::kBlock;
    const auto before = static_cast<std::size_t>(offset - window_offset_);
    window_.clear();
    window_.resize(std::max(kWindowBytes, before + size));
    window_.pad();
    auto read = file_.read(window_offset_, window_.data(), window_.size());
    if (!read.is_ok()) {
      window_.clear();
      return read.status();
    }
    window_.resize(*read);
  }
  const auto at = static_cast<std::size_t>(offset - window_offset_);
  if (at >= window_.size()) return std::string_view();
  const std::size_t there =
      static_cast<std::size_t>(std::min<std::uint64_t>(window_.size() - at, end_ - offset));
  return window_.view().substr(at, std::min(size, there));
}

}  // namespace segue::storage
