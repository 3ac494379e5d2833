#pragma once

#include <cstdint>
#include <optional>

#include "common/clock.h"

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

/// What one queue has in the place of the node's thresholds.
struct GcOverrides {
  std::optional<std::uint64_t> min_bytes;  // and slack_bytes
  std::optional<std::uint32_t> min_messages;
  std::optional<std::uint32_t> valid_percent;
  /// It is one of so many that have min_bytes and slack_bytes together: the lanes of a queue.
  std::uint32_t shared_by = 1;

  bool empty() const { return !min_bytes && !min_messages && !valid_percent && shared_by == 1; }
};

struct GcOptions {
  GcThresholds thresholds;
  /// Bytes copied per second while there is little garbage; more, the more there is.
  std::uint64_t bytes_per_second = 64ull << 20;
};

/// What a person may ask of the collection of garbage.
enum class GcCommand {
  kRun,    // once, also what the thresholds leave: every file that is less than 90 % valid
  kPause,  // copy nothing until kResume, or a restart; files without a valid message still go
  kResume,
};

struct GcStats {
  std::uint64_t copies = 0;         // that were put in place of segments
  std::uint64_t failed_copies = 0;  // broken off, for lack of space for example
  std::uint64_t copied_bytes = 0;
  std::uint64_t reclaimed_bytes = 0;  // by copying; not those of segments that were dropped
  std::uint64_t dropped_bytes = 0;    // of segments that went without a copy
  /// Garbage in the files of queues that are beyond their bound, when each was looked at last.
  std::uint64_t debt_bytes = 0;
  std::uint64_t waiting_queues = 0;    // to be looked at
  std::uint64_t paused_queues = 0;     // by themselves
  std::uint64_t bytes_per_second = 0;  // copied, during the last full second
  Duration last_pause{};               // of the reactor, to put a copy in its place
  Duration longest_pause{};
  bool paused = false;   // as a whole, whatever single queues are
  bool running = false;  // something that kRun asked for is not finished
};

/// The collection of one queue's garbage.
struct QueueGc {
  bool paused = false;   // by itself
  bool running = false;  // asked for by kRun, and not finished
};

}  // namespace segue::storage
