#include "bench/matrix/checkpoints.h"

#include <chrono>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "bench/matrix/bench_client.h"
#include "bench/matrix/latency_rounds.h"
#include "bench/matrix/test_bed.h"
#include "segue/client.h"

namespace segue::bench {

namespace {

namespace fs = std::filesystem;

constexpr int kRounds = 3;
/// More than a run writes; the log of both runs goes into files that exist before.
constexpr std::uint64_t kPreparedBytes = 4ull << 30;
constexpr const char* kWithout =
    "  checkpoint_wal_bytes: 64GiB\n  checkpoint_interval: 24h\n  wal_reserve_bytes: 4GiB\n";
constexpr const char* kWith = "  checkpoint_wal_bytes: 256MiB\n";

std::uint64_t log_bytes(const std::string& directory) {
  std::uint64_t bytes = 0;
  std::error_code error;
  for (auto at = fs::recursive_directory_iterator(directory, error);
       !error && at != fs::recursive_directory_iterator(); at.increment(error)) {
    if (at->path().extension() == ".wal") bytes += at->file_size(error);
  }
  return bytes;
}

Status wait_until_prepared(const std::string& directory) {
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  while (log_bytes(directory) < kPreparedBytes) {
    if (std::chrono::steady_clock::now() > deadline) {
      return Status(Code::kInternalError, directory + ": the log's files are not prepared");
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  return {};
}

/// Latencies at half the full rate, which is found first if it is 0.
Result<Latencies> measure(const BudgetOptions& options, const char* storage, bool prepared,
                          double& rate) {
  auto started = TestBed::start(options.directory + "/checkpoints", options.binaries, storage);
  if (!started) return started.status();
  const TestBed& bed = **started;
  auto connected = connect(bed);
  if (!connected) return connected.status();
  if (prepared) SEGUE_RETURN_IF_ERROR(wait_until_prepared(bed.directory()));
  if (!prepared) {
    // Also fills and recycles the log's files.
    const auto full = run_latency_load(bed, 0);
    if (!full) return full.status();
    if (rate == 0) rate = full->publish_per_s() / 2;
  }
  options.progress(std::string(prepared ? "without" : "with") + " checkpoints at " +
                   std::to_string(static_cast<std::uint64_t>(rate)) + "/s");
  return latencies_at(bed, static_cast<std::uint64_t>(rate));
}

}  // namespace

Result<std::string> measure_checkpoints(const BudgetOptions& options) {
  std::vector<LatencyRound> rounds;
  for (int i = 0; i < kRounds; ++i) {
    LatencyRound round;
    auto busy = measure(options, kWith, false, round.rate);
    if (!busy) return busy.status();
    auto quiet = measure(options, kWithout, true, round.rate);
    if (!quiet) return quiet.status();
    round.busy = std::move(*busy);
    round.quiet = std::move(*quiet);
    rounds.push_back(std::move(round));
  }
  return latency_table(rounds, "no checkpoint", "one each 256 MiB of the log");
}

}  // namespace segue::bench
