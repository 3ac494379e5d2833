#include "bench/matrix/policies.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <deque>
#include <future>
#include <optional>
#include <thread>
#include <vector>

#include "bench/matrix/bench_client.h"
#include "bench/matrix/latency_rounds.h"
#include "bench/matrix/test_bed.h"
#include "segue/client.h"

namespace segue::bench {

namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr int kRounds = 3;
constexpr std::uint64_t kRate = 2'000;  // messages in a second
constexpr milliseconds kBetweenChanges{500};
constexpr std::size_t kWindow = 500;  // declares on their way

Status declare_queues(client::Connection& connection, std::uint64_t count) {
  std::deque<std::future<client::Result<client::DeclaredQueue>>> open;
  for (std::uint64_t i = 0; i < count || !open.empty(); ++i) {
    if (i < count) {
      open.push_back(connection.admin().declare_queue_async("many." + std::to_string(i)));
    }
    if (i < count && open.size() < kWindow) continue;
    const auto declared = open.front().get();
    if (!declared) return failed("declare", declared.error());
    open.pop_front();
  }
  return Status::ok();
}

/// Sets, replaces and deletes a policy of all queues until it is told to stop.
class Changes {
 public:
  explicit Changes(client::Connection& connection)
      : connection_(connection), thread_([this] { run(); }) {}
  ~Changes() { stop(); }
  void stop() {
    stopping_ = true;
    if (thread_.joinable()) thread_.join();
  }
  /// After stop().
  std::vector<double> milliseconds_each;
  std::optional<client::Error> error;

 private:
  void run() {
    for (int step = 0; !stopping_ && !error; ++step) {
      client::PolicyDescription policy{"many", "^many\\.", "queues", 0, {}};
      policy.definition = {{"max-length", 1000 + step}, {"message-ttl", 3'600'000}};
      const auto begin = Clock::now();
      const auto done = step % 3 == 2 ? connection_.admin().delete_policy(policy.name)
                                      : connection_.admin().set_policy(policy);
      if (!done) error = done.error();
      milliseconds_each.push_back(
          std::chrono::duration<double, std::milli>(Clock::now() - begin).count());
      std::this_thread::sleep_for(kBetweenChanges);
    }
  }

  client::Connection& connection_;
  std::atomic<bool> stopping_ = false;
  std::thread thread_;  // the last: it uses the others
};

void add_rows(std::string& text, const std::vector<LatencyRound>& rounds,
              std::vector<double> Latencies::*kind, const char* what) {
  constexpr const char* kNames[] = {"p50", "p99", "p99.9"};
  for (std::size_t i = 0; i < std::size(kNames); ++i) {
    char row[160];
    std::snprintf(row, sizeof row, "| %s %s, us | %.0f | %.0f |\n", what, kNames[i],
                  median_of(rounds, [&](const LatencyRound& r) { return (r.quiet.*kind)[i]; }),
                  median_of(rounds, [&](const LatencyRound& r) { return (r.busy.*kind)[i]; }));
    text += row;
  }
}

}  // namespace

Result<std::string> measure_policies(const BudgetOptions& options) {
  auto started = TestBed::start(options.directory + "/policies", options.binaries);
  if (!started) return started.status();
  TestBed& bed = **started;
  auto connected = connect(bed);
  if (!connected) return connected.status();
  options.progress("declaring " + std::to_string(options.count) + " queues");
  SEGUE_RETURN_IF_ERROR(declare_queues(*connected, options.count));
  std::vector<LatencyRound> rounds;
  std::vector<double> changes;
  for (int i = 0; i < kRounds; ++i) {
    options.progress("round " + std::to_string(i + 1) + ": alone");
    auto quiet = latencies_at(bed, kRate);
    if (!quiet) return quiet.status();
    options.progress("round " + std::to_string(i + 1) + ": while policies change");
    Changes changing(*connected);
    auto busy = latencies_at(bed, kRate);
    changing.stop();
    if (!busy) return busy.status();
    if (changing.error) return failed("change the policy", *changing.error);
    changes.insert(changes.end(), changing.milliseconds_each.begin(),
                   changing.milliseconds_each.end());
    rounds.push_back({static_cast<double>(kRate), std::move(*quiet), std::move(*busy)});
  }
  std::sort(changes.begin(), changes.end());
  std::string text = "| 1 KiB at 2,000/s through one queue beside " +
                     std::to_string(options.count) +
                     " others | alone | while a policy of those changes twice a second |\n"
                     "| --- | --- | --- |\n";
  add_rows(text, rounds, &Latencies::confirm, "confirm");
  add_rows(text, rounds, &Latencies::end_to_end, "publish to delivery");
  char row[160];
  std::snprintf(row, sizeof row,
                "| a change is answered, median and slowest of %zu | | %.1f ms, %.1f ms |\n",
                changes.size(), changes[changes.size() / 2], changes.back());
  return text + row;
}

}  // namespace segue::bench
