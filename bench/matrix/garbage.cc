#include "bench/matrix/garbage.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <future>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "bench/matrix/bench_client.h"
#include "bench/matrix/test_bed.h"
#include "cli/latency_histogram.h"
#include "cli/load_generator.h"
#include "segue/client.h"

namespace segue::bench {

namespace {

using std::chrono::seconds;

constexpr int kRounds = 3;
constexpr std::chrono::milliseconds kRun{8'000};
constexpr std::size_t kBodyBytes = 1024;
constexpr double kQuantiles[] = {0.5, 0.99, 0.999};

/// Microseconds at each of kQuantiles.
struct Latencies {
  std::vector<double> confirm;
  std::vector<double> end_to_end;
};

struct Round {
  double rate = 0;
  Latencies quiet;
  Latencies collecting;
  client::GarbageDescription garbage;
};

std::vector<double> quantiles(const cli::LatencyHistogram& histogram) {
  std::vector<double> values;
  for (const double quantile : kQuantiles) {
    values.push_back(static_cast<double>(histogram.quantile(quantile)) / 1000);
  }
  return values;
}

// Fills the queue and acknowledges two messages of three; nothing is collected meanwhile.
Status make_garbage(client::Connection& connection, const std::string& queue, std::uint64_t count) {
  const auto paused = connection.admin().collect_garbage(client::GarbageAction::kPause);
  if (!paused) return failed("pause collecting", paused.error());
  const auto declared = connection.admin().declare_queue(queue);
  if (!declared) return failed("declare", declared.error());
  const auto header = client::PreparedHeader::to_queue(queue);
  const std::string body(kBodyBytes, 'x');
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto published = connection.publisher().publish(header, body);
    if (!published) return failed("publish", published.error());
  }
  const auto confirmed = connection.publisher().wait_for_confirms(kPatience);
  if (!confirmed) return failed("publish", confirmed.error());
  client::ConsumerOptions wanted;
  wanted.prefetch = 0;
  auto consumer = connection.subscribe(queue, wanted);
  if (!consumer) return failed("consume", consumer.error());
  std::future<client::Status> settled;
  for (std::uint64_t taken = 0; taken < count;) {
    const auto batch = consumer->next_batch(1000, kPatience);
    if (!batch) return failed("consume", batch.error());
    for (std::size_t i = 0; i < batch->size(); ++i, ++taken) {
      if (taken % 3 == 0) continue;
      if (taken + 3 < count) {
        (*batch)[i].ack();
      } else {
        settled = (*batch)[i].ack_confirmed();
      }
    }
  }
  const client::Status all = settled.get();  // what was settled before is settled too
  return all ? Status::ok() : failed("settle", all.error());
}

cli::LoadOptions load(const TestBed& bed, std::uint64_t rate) {
  cli::LoadOptions options;
  options.consumers = 1;
  options.rate = rate;
  options.duration = kRun;
  options.connection.routers = {bed.router()};
  return options;
}

Result<cli::LoadReport> run(const TestBed& bed, std::uint64_t rate) {
  auto report = cli::run_load(load(bed, rate), [](const std::string&) { return false; });
  if (!report) return failed("the load", report.error());
  if (!report->problem.empty()) return Status(Code::kInternalError, report->problem);
  return std::move(*report);
}

Result<Latencies> latencies_at(const TestBed& bed, std::uint64_t rate) {
  const auto report = run(bed, rate);
  if (!report) return report.status();
  return Latencies{quantiles(report->confirm_ns), quantiles(report->end_to_end_ns)};
}

Result<Round> measure_round(const BudgetOptions& options) {
  auto started = TestBed::start(options.directory + "/garbage", options.binaries);
  if (!started) return started.status();
  const TestBed& bed = **started;
  auto connected = connect(bed);
  if (!connected) return connected.status();
  options.progress("making garbage of " + std::to_string(options.count) + " messages");
  SEGUE_RETURN_IF_ERROR(make_garbage(*connected, "garbage", options.count));
  options.progress("finding the rate");
  const auto full = run(bed, 0);
  if (!full) return full.status();
  Round round;
  round.rate = full->publish_per_s() / 2;
  const auto rate = static_cast<std::uint64_t>(round.rate);
  options.progress("latencies at " + std::to_string(rate) + "/s");
  const auto quiet = latencies_at(bed, rate);
  if (!quiet) return quiet.status();
  round.quiet = *quiet;

  options.progress("the same while garbage is collected");
  client::Admin& admin = connected->admin();
  for (const auto action : {client::GarbageAction::kResume, client::GarbageAction::kRun}) {
    const auto told = admin.collect_garbage(action);
    if (!told) return failed("collect", told.error());
  }
  const auto collecting = latencies_at(bed, rate);
  if (!collecting) return collecting.status();
  round.collecting = *collecting;
  const auto garbage = admin.collect_garbage(client::GarbageAction::kStatus);
  if (!garbage) return failed("ask", garbage.error());
  round.garbage = garbage->at(0);
  if (round.garbage.copies == 0) return Status(Code::kInternalError, "nothing was collected");
  return round;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

template <typename Figure>
double median_of(const std::vector<Round>& rounds, Figure figure) {
  std::vector<double> values;
  for (const Round& round : rounds) values.push_back(figure(round));
  return median(std::move(values));
}

std::string row(const std::string& name, double quiet, double collecting, double ratio) {
  char text[160];
  std::snprintf(text, sizeof text, "| %s | %.0f | %.0f | %.2f |\n", name.c_str(), quiet, collecting,
                ratio);
  return text;
}

std::string table(const std::vector<Round>& rounds, std::uint64_t count) {
  char title[256];
  std::snprintf(
      title, sizeof title,
      "| 1 KiB at %.0f/s, half of what it can do, us | garbage lies there | is collected | "
      "ratio |\n| --- | --- | --- | --- |\n",
      median_of(rounds, [](const Round& round) { return round.rate; }));
  std::string text = title;
  const std::vector<double> Latencies::*const kinds[] = {&Latencies::confirm,
                                                         &Latencies::end_to_end};
  const char* const names[] = {"p50", "p99", "p99.9"};
  for (const auto kind : kinds) {
    for (std::size_t i = 0; i < std::size(kQuantiles); ++i) {
      text += row(std::string(kind == kinds[0] ? "confirm " : "publish to delivery ") + names[i],
                  median_of(rounds, [&](const Round& r) { return (r.quiet.*kind)[i]; }),
                  median_of(rounds, [&](const Round& r) { return (r.collecting.*kind)[i]; }),
                  median_of(rounds, [&](const Round& r) {
                    return (r.collecting.*kind)[i] / (r.quiet.*kind)[i];
                  }));
    }
  }
  const double mib = 1 << 20;
  char end[256];
  std::snprintf(
      end, sizeof end,
      "\nOf %llu x 1 KiB, two of three acknowledged: %.0f MiB copied and %.0f MiB given back by "
      "the "
      "end of the run of %lld s; longest pause of the node %.0f us.\n",
      static_cast<unsigned long long>(count),
      median_of(rounds, [&](const Round& r) { return double(r.garbage.copied_bytes) / mib; }),
      median_of(rounds, [&](const Round& r) { return double(r.garbage.reclaimed_bytes) / mib; }),
      static_cast<long long>(kRun.count() / 1000), median_of(rounds, [](const Round& r) {
        return static_cast<double>(r.garbage.longest_pause.count());
      }));
  return text + end;
}

}  // namespace

Result<std::string> measure_garbage(const BudgetOptions& options) {
  std::vector<Round> rounds;
  for (int i = 0; i < kRounds; ++i) {
    auto round = measure_round(options);
    if (!round) return round.status();
    rounds.push_back(std::move(*round));
  }
  return table(rounds, options.count);
}

}  // namespace segue::bench
