#include "bench/matrix/latency_rounds.h"

#include <algorithm>
#include <cstdio>
#include <iterator>

#include "bench/matrix/bench_client.h"
#include "cli/latency_histogram.h"

namespace segue::bench {

namespace {

constexpr double kQuantiles[] = {0.5, 0.99, 0.999};
constexpr const char* kNames[] = {"p50", "p99", "p99.9"};

std::vector<double> quantiles(const cli::LatencyHistogram& histogram) {
  std::vector<double> values;
  for (const double quantile : kQuantiles) {
    values.push_back(static_cast<double>(histogram.quantile(quantile)) / 1000);
  }
  return values;
}

std::string row(const std::string& name, double quiet, double busy, double ratio) {
  char text[160];
  std::snprintf(text, sizeof text, "| %s | %.0f | %.0f | %.2f |\n", name.c_str(), quiet, busy,
                ratio);
  return text;
}

}  // namespace

Result<cli::LoadReport> run_latency_load(const TestBed& bed, std::uint64_t rate) {
  cli::LoadOptions options;
  options.consumers = 1;
  options.rate = rate;
  options.duration = kLatencyRun;
  options.connection.routers = {bed.router()};
  auto report = cli::run_load(options, [](const std::string&) { return false; });
  if (!report) return failed("the load", report.error());
  if (!report->problem.empty()) return Status(Code::kInternalError, report->problem);
  return std::move(*report);
}

Result<Latencies> latencies_at(const TestBed& bed, std::uint64_t rate) {
  const auto report = run_latency_load(bed, rate);
  if (!report) return report.status();
  return Latencies{quantiles(report->confirm_ns), quantiles(report->end_to_end_ns)};
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

std::string latency_table(const std::vector<LatencyRound>& rounds, const std::string& quiet,
                          const std::string& busy) {
  char rate[96];
  std::snprintf(rate, sizeof rate, "| 1 KiB at %.0f/s, half of what it can do, us | ",
                median_of(rounds, [](const LatencyRound& round) { return round.rate; }));
  std::string text = rate + quiet + " | " + busy + " | ratio |\n| --- | --- | --- | --- |\n";
  const std::vector<double> Latencies::*const kinds[] = {&Latencies::confirm,
                                                         &Latencies::end_to_end};
  for (const auto kind : kinds) {
    for (std::size_t i = 0; i < std::size(kQuantiles); ++i) {
      text += row(std::string(kind == kinds[0] ? "confirm " : "publish to delivery ") + kNames[i],
                  median_of(rounds, [&](const LatencyRound& r) { return (r.quiet.*kind)[i]; }),
                  median_of(rounds, [&](const LatencyRound& r) { return (r.busy.*kind)[i]; }),
                  median_of(rounds, [&](const LatencyRound& r) {
                    return (r.busy.*kind)[i] / (r.quiet.*kind)[i];
                  }));
    }
  }
  return text;
}

}  // namespace segue::bench
