#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "cli/latency_histogram.h"
#include "common/status.h"

namespace segue::bench {

/// What the first process of the pipeline sends.
struct Load {
  std::uint64_t size = 1024;    // bytes of a body
  std::uint64_t batch = 64;     // messages in a frame; 1 with a rate
  std::uint64_t window = 1000;  // messages without a confirm, at most
  std::uint64_t count = 0;      // messages in all; 0: until `duration` is over
  std::uint64_t rate = 0;       // messages per second; 0: as fast as the window lets
  std::chrono::milliseconds duration{5000};
};

struct LoadResult {
  std::uint64_t confirmed = 0;
  double seconds = 0;                // from the first publish to the last confirm
  cli::LatencyHistogram latency_ns;  // with a rate: from the intended send time
};

/// Publishes to `router` and waits for every confirm, then sends Close. TIMEOUT when nothing came
/// back for ten seconds.
Result<LoadResult> run_load(const std::string& router, const Load& load);

}  // namespace segue::bench
