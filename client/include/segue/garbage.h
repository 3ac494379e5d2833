#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "segue/result.h"

namespace segue::client {

/// One of the files that hold a queue's messages on its node's disk, with its index.
struct SegmentDescription {
  /// "active": messages are added; "full": complete, until a checkpoint seals it; "sealed";
  /// "compacting", "merging": what is valid in it is being copied, alone or with its neighbours.
  std::string state;
  /// No message has a lower sequence number; the last one's.
  std::uint64_t first = 0;
  std::uint64_t last = 0;
  /// How often what is in it has been copied.
  std::uint32_t generation = 0;
  /// Of its files, and what they would have without garbage.
  std::uint64_t bytes = 0;
  std::uint64_t valid_bytes = 0;
  std::uint32_t messages = 0;
  std::uint32_t valid = 0;
  /// Of the messages: each priority has files of its own.
  std::uint32_t priority = 0;
};

/// The files of a queue.
struct QueueSegments {
  std::string node;
  std::vector<SegmentDescription> segments;
  /// The queue's collection is paused by itself; it is under way because it was asked for.
  bool paused = false;
  bool running = false;
};

/// The collection of garbage on one node's disk. Numbers count since the node's start.
struct GarbageDescription {
  std::string node;
  /// The node did not answer, or refused; the rest is unknown then.
  std::optional<Error> error{};
  /// As a whole; single queues may be besides (paused_queues).
  bool paused = false;
  /// Something that kRun asked for is not finished.
  bool running = false;
  /// Garbage in the files of queues that have more than their bound, when they were looked at last.
  std::uint64_t debt_bytes = 0;
  /// Queues that are to be looked at.
  std::uint64_t waiting_queues = 0;
  /// Queues that are paused by themselves.
  std::uint64_t paused_queues = 0;
  std::uint64_t copies = 0;
  std::uint64_t failed_copies = 0;
  std::uint64_t copied_bytes = 0;
  /// Given back: by copying, and by removing files that had no valid message.
  std::uint64_t reclaimed_bytes = 0;
  std::uint64_t dropped_bytes = 0;
  /// Copied during the last second.
  std::uint64_t bytes_per_second = 0;
  /// For which the node did nothing else, to put a copy in its place.
  std::chrono::microseconds last_pause{0};
  std::chrono::microseconds longest_pause{0};
  /// The scrubber, which verifies complete files: how fast it may (0: it is off), what it has read,
  /// passes over all files that ended, how long ago the last one did (nothing without one), damaged
  /// messages that it found.
  std::uint64_t scrub_bytes_per_second = 0;
  std::uint64_t scrubbed_bytes = 0;
  std::uint64_t scrub_passes = 0;
  std::chrono::milliseconds last_scrub_ago{0};
  std::uint64_t scrub_found = 0;
};

enum class GarbageAction {
  kStatus,
  /// Once, also what the thresholds leave: every file that is less than 90 % valid.
  kRun,
  /// Until it is resumed, or the node restarts. Files without a valid message still go.
  kPause,
  kResume,
};

}  // namespace segue::client
