#pragma once

#include <functional>
#include <string>
#include <vector>

#include "bench/matrix/measurement.h"
#include "common/status.h"

namespace segue::bench {

struct RunnerOptions {
  std::string binaries;   // where segue, segue-router, segue-node and pipeline_ceiling are
  std::string directory;  // for data; on the disk that is to be measured. Left empty again.
  unsigned runs = 5;
  std::function<void(const std::string&)> progress;
};

/// Runs the scenario `runs` times, each time the bare pipeline and then the broker: a router and a
/// node of their own, with an empty data directory.
Result<Measurements> run_scenario(const Scenario& scenario, const RunnerOptions& options);

}  // namespace segue::bench
