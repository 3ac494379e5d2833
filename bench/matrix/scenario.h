#pragma once

#include <string>
#include <vector>

namespace segue::bench {

/// One row of the matrix: a load on the broker, and the same load on the bare pipeline.
struct Scenario {
  enum class Figure {
    kPublish,  // confirmed messages per second
    kConsume,  // consumed messages per second
    kLatency,  // confirm latency at a fixed rate
  };

  std::string name;
  Figure figure = Figure::kPublish;
  std::vector<std::string> broker;   // arguments of `segue bench`
  std::vector<std::string> ceiling;  // arguments of `pipeline_ceiling`; empty: nothing to compare
  std::string aim;                   // what is hoped for on the machine of two cores
};

/// All rows; `seconds` is how long one run publishes.
std::vector<Scenario> scenarios(unsigned seconds);

}  // namespace segue::bench
