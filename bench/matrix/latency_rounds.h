#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "bench/matrix/test_bed.h"
#include "cli/load_generator.h"
#include "common/status.h"

namespace segue::bench {

/// How long each load goes on whose latencies are compared.
inline constexpr std::chrono::milliseconds kLatencyRun{8'000};

/// Microseconds at p50, p99 and p99.9.
struct Latencies {
  std::vector<double> confirm;
  std::vector<double> end_to_end;
};

/// One publisher and one consumer of 1 KiB messages, for kLatencyRun; `rate` 0: as fast as it goes.
Result<cli::LoadReport> run_latency_load(const TestBed& bed, std::uint64_t rate);
Result<Latencies> latencies_at(const TestBed& bed, std::uint64_t rate);

/// The same load with and without what is to be measured.
struct LatencyRound {
  double rate = 0;
  Latencies quiet;
  Latencies busy;
};

double median(std::vector<double> values);
template <typename Round, typename Figure>
double median_of(const std::vector<Round>& rounds, Figure figure) {
  std::vector<double> values;
  for (const Round& round : rounds) values.push_back(figure(round));
  return median(std::move(values));
}

/// Markdown: medians side by side, and of their ratios.
std::string latency_table(const std::vector<LatencyRound>& rounds, const std::string& quiet,
                          const std::string& busy);

}  // namespace segue::bench
