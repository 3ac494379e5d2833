#pragma once

#include <cstdint>

namespace segue::storage {

/// When a segment's garbage is worth collecting. Bytes are those of files.
struct GcThresholds {
  std::uint64_t segment_bytes = 64ull << 20;  // files are cut at; no copy is made of more at once
  std::uint64_t min_bytes = 4ull << 20;       // a segment above either is compacted by itself
  std::uint32_t min_messages = 2000;
  std::uint32_t valid_percent = 50;        // below this share of valid bytes
  std::uint32_t merge_percent = 75;        // of segment_bytes, that a merged segment may have
  std::uint64_t slack_bytes = 4ull << 20;  // garbage of a queue that is never collected
};

struct GcOptions {
  GcThresholds thresholds;
  /// Bytes copied per second while there is little garbage; more, the more there is.
  std::uint64_t bytes_per_second = 64ull << 20;
};

struct GcStats {
  std::uint64_t copies = 0;         // that were put in place of segments
  std::uint64_t failed_copies = 0;  // broken off, for lack of space for example
  std::uint64_t copied_bytes = 0;
  std::uint64_t reclaimed_bytes = 0;  // by copying; not those of segments that were dropped
};

}  // namespace segue::storage
