#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "cli/latency_histogram.h"
#include "cli/load_options.h"

namespace segue::cli {

/// What a run of `segue bench` measured.
struct LoadReport {
  std::uint64_t published = 0;
  std::uint64_t confirmed = 0;
  std::uint64_t rejected = 0;
  std::uint64_t consumed = 0;
  std::uint64_t redelivered = 0;
  double publish_seconds = 0;  // from the start to the last confirm
  double consume_seconds = 0;  // from the start (of the drain, if it is one) to the last message
  LatencyHistogram confirm_ns;
  LatencyHistogram end_to_end_ns;
  double cpu_seconds = 0;                         // this process's
  std::map<std::string, double> cluster_seconds;  // by router and node, where they run here
  std::string rejection;                          // the first one's reason
  std::string problem;                            // what went wrong; empty when nothing did

  double publish_per_s() const { return per_s(confirmed, publish_seconds); }
  double consume_per_s() const { return per_s(consumed, consume_seconds); }

 private:
  static double per_s(std::uint64_t count, double seconds) {
    return seconds > 0 ? static_cast<double>(count) / seconds : 0;
  }
};

/// One JSON object; docs/operations.md lists the fields.
std::string load_report_json(const LoadOptions& options, const LoadReport& report);
/// A table for people.
std::string load_report_text(const LoadOptions& options, const LoadReport& report);

}  // namespace segue::cli
