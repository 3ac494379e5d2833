#include "storage/scrub_policy.h"

#include <algorithm>

namespace segue::storage {

bool ScrubPolicy::may_read(TimePoint now) {
  if (off()) return false;
  if (!allowed_at_) allowed_at_ = now;
  const double seconds = std::chrono::duration<double>(now - *allowed_at_).count();
  // What was not used is lost: no burst after a pause.
  allowance_ = std::min(static_cast<double>(kSliceBytes),
                        allowance_ + seconds * static_cast<double>(options_.bytes_per_second));
  allowed_at_ = now;
  if (!pass_began_) {
    pass_began_ = now;
  } else if (pass_ended_) {
    const Duration wait = pass_bytes_ > 0 ? options_.between_passes
                                          : std::min(options_.between_passes, kAfterEmptyPass);
    if (now < *pass_began_ + wait) return false;
    pass_began_ = now;
    pass_ended_.reset();
    pass_bytes_ = 0;
  }
  const std::uint64_t least = std::min(kSliceBytes, options_.bytes_per_second);
  return allowance_ >= static_cast<double>(least);
}

void ScrubPolicy::read(std::uint64_t bytes) {
  stats_.bytes += bytes;
  pass_bytes_ += bytes;
  allowance_ -= static_cast<double>(bytes);
}

void ScrubPolicy::pass_ended(TimePoint now) {
  pass_ended_ = now;
  if (pass_bytes_ == 0) return;
  ++stats_.passes;
  last_pass_ = now;
}

ScrubStats ScrubPolicy::stats(TimePoint now) const {
  ScrubStats stats = stats_;
  stats.bytes_per_second = options_.bytes_per_second;
  if (last_pass_) stats.since_last_pass = now - *last_pass_;
  return stats;
}

}  // namespace segue::storage
