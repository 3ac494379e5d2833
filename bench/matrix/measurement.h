#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bench/matrix/scenario.h"
#include "common/status.h"

namespace segue::bench {

/// What one run of one program said. Rates per second, latencies in microseconds.
struct Measured {
  double rate = 0;
  double p50 = 0;
  double p99 = 0;
  double client_cpu_us = 0;  // for each message, as the two below
  double router_cpu_us = 0;
  double node_cpu_us = 0;
};

/// The figure in the JSON that `segue bench` or `pipeline_ceiling` printed. CORRUPTION when it is
/// not that.
Result<Measured> read_broker(const std::string& json, Scenario::Figure figure);
Result<Measured> read_ceiling(const std::string& json);

/// All runs of a scenario. `ceiling` is empty or as long as `broker`: run i stands beside run i.
struct Measurements {
  Scenario scenario;
  std::vector<Measured> broker;
  std::vector<Measured> ceiling;
};

/// The middle one (the mean of two) of one member over all runs; 0 without runs.
double median(const std::vector<Measured>& runs, double Measured::*member);
double smallest(const std::vector<Measured>& runs, double Measured::*member);
double largest(const std::vector<Measured>& runs, double Measured::*member);
/// Median over the runs of `broker / ceiling` of the rate; 0 without a ceiling.
double median_ratio(const Measurements& measurements);

/// The tables for bench/RESULTS.md.
std::string results_markdown(const std::vector<Measurements>& all);

}  // namespace segue::bench
