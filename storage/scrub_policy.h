#pragma once

#include <cstdint>
#include <optional>

#include "common/clock.h"

namespace segue::storage {

struct ScrubOptions {
  std::uint64_t bytes_per_second = 0;  // that the scrubber reads; 0: it is off
  /// A pass begins no sooner after the one before began: little data is not read over and over.
  Duration between_passes = std::chrono::hours(1);
};

struct ScrubStats {
  std::uint64_t bytes_per_second = 0;  // as configured
  std::uint64_t bytes = 0;             // read since the start
  std::uint64_t passes = 0;            // over all complete segments (there were some), that ended
  Duration since_last_pass{};          // since the last one ended; meaningless without one
  std::uint64_t found = 0;             // damaged messages that nothing else had found before
};

/// When the scrubber may read, and how much at once. Pure state.
class ScrubPolicy {
 public:
  /// Less is not worth a job, and more would keep others from the disk.
  static constexpr std::uint64_t kSliceBytes = 256u << 10;

  /// There was nothing to verify: what comes is not left alone for as long as what was verified.
  static constexpr Duration kAfterEmptyPass = std::chrono::seconds(10);

  explicit ScrubPolicy(const ScrubOptions& options) : options_(options) {}

  bool off() const { return options_.bytes_per_second == 0; }
  /// Whether a segment may be begun, or gone on with, now.
  bool may_read(TimePoint now);
  /// So much was read.
  void read(std::uint64_t bytes);
  /// A pass came to its end; the next one waits for its time.
  void pass_ended(TimePoint now);
  void found(std::uint64_t messages) { stats_.found += messages; }
  ScrubStats stats(TimePoint now) const;

 private:
  const ScrubOptions options_;
  ScrubStats stats_;
  std::uint64_t pass_bytes_ = 0;  // read by the pass under way, or that ended last
  double allowance_ = 0;          // bytes; below 0 after a large message
  std::optional<TimePoint> allowed_at_;
  std::optional<TimePoint> pass_began_;
  std::optional<TimePoint> pass_ended_;  // unless the next one has begun
  std::optional<TimePoint> last_pass_;
};

}  // namespace segue::storage
