#include "bench/matrix/churn.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include "bench/matrix/bench_client.h"
#include "bench/matrix/test_bed.h"
#include "segue/client.h"

namespace segue::bench {

namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr seconds kRun{60};
constexpr int kParts = 6;
constexpr std::size_t kBodyBytes = 1024;
constexpr std::uint64_t kSlackBytes = 4ull << 20;
constexpr char kQueue[] = "churn";

/// A queue's files at one moment.
struct Sample {
  std::uint64_t file_bytes = 0;
  std::uint64_t valid_bytes = 0;
  std::uint64_t beyond() const {
    const std::uint64_t bound = 2 * valid_bytes + kSlackBytes;
    return file_bytes > bound ? file_bytes - bound : 0;
  }
};

/// Publishes until it is stopped, on a thread and a connection of its own.
class Source {
 public:
  explicit Source(client::Connection connection)
      : connection_(std::move(connection)), thread_([this] { run(); }) {}
  ~Source() { (void)stop(); }
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;

  std::uint64_t published() const { return published_.load(); }
  Status stop() {
    stopped_ = true;
    if (thread_.joinable()) thread_.join();
    return status_;
  }

 private:
  void run() {
    const auto header = client::PreparedHeader::to_queue(kQueue);
    const std::string body(kBodyBytes, 'x');
    while (!stopped_) {
      if (const auto taken = connection_.publisher().publish(header, body); !taken) {
        status_ = failed("publish", taken.error());
        return;
      }
      ++published_;
    }
    const auto confirmed = connection_.publisher().wait_for_confirms(kPatience);
    if (!confirmed) status_ = failed("publish", confirmed.error());
  }

  client::Connection connection_;
  std::atomic<bool> stopped_{false};
  std::atomic<std::uint64_t> published_{0};
  Status status_;
  std::thread thread_;
};

/// Holds `most` messages; for each that comes, a random one goes.
class Holder {
 public:
  explicit Holder(std::uint64_t most) : most_(most) {}

  void take(client::Delivery delivery) {
    if (held_.size() < most_) {
      held_.push_back(std::move(delivery));
      return;
    }
    std::uniform_int_distribution<std::size_t> any(0, held_.size() - 1);
    client::Delivery& goes = held_[any(random_)];
    goes.ack();
    goes = std::move(delivery);
    ++acked_;
  }
  std::uint64_t acked() const { return acked_; }

 private:
  const std::size_t most_;
  std::mt19937_64 random_{1};
  std::vector<client::Delivery> held_;
  std::uint64_t acked_ = 0;
};

Result<Sample> sample(client::Admin& admin) {
  const auto listed = admin.list_all_segments(kQueue);
  if (!listed) return failed("list segments", listed.error());
  Sample sample;
  for (const auto& segment : listed->segments) {
    sample.file_bytes += segment.bytes;
    sample.valid_bytes += segment.valid_bytes;
  }
  return sample;
}

struct Run {
  std::vector<Sample> samples;
  std::uint64_t published = 0;
  std::uint64_t acked = 0;
  Sample after;
  double idle_seconds = 0;  // until the bound was kept
  client::GarbageDescription garbage;
};

Status churn(Run& run, client::Connection& connection, Source& source, std::uint64_t held) {
  client::ConsumerOptions wanted;
  wanted.prefetch = 0;
  auto consumer = connection.subscribe(kQueue, wanted);
  if (!consumer) return failed("consume", consumer.error());
  Holder holder(held);
  const auto began = Clock::now();
  auto next_sample = began + seconds(1);
  const auto take = [&](milliseconds patience) -> Status {
    auto batch = consumer->next_batch(1000, patience);
    if (!batch) return failed("consume", batch.error());
    for (client::Delivery delivery : *batch) holder.take(std::move(delivery));
    return Status::ok();
  };
  while (Clock::now() < began + kRun) {
    SEGUE_RETURN_IF_ERROR(take(kPatience));
    if (Clock::now() < next_sample) continue;
    next_sample += seconds(1);
    auto now = sample(connection.admin());
    if (!now) return now.status();
    run.samples.push_back(*now);
  }
  run.published = source.published();
  run.acked = holder.acked();
  SEGUE_RETURN_IF_ERROR(source.stop());
  // What is held stays so.
  const auto ended = Clock::now();
  do {
    auto now = sample(connection.admin());
    if (!now) return now.status();
    run.after = *now;
    run.idle_seconds = std::chrono::duration<double>(Clock::now() - ended).count();
    if (Clock::now() > ended + kPatience) {
      return Status(Code::kInternalError, "the queue's files stay beyond their bound");
    }
    while (consumer->next_batch(1000, milliseconds(100))) {
    }
  } while (run.after.beyond() > 0);
  const auto garbage = connection.admin().collect_garbage(client::GarbageAction::kStatus);
  if (!garbage) return failed("ask", garbage.error());
  run.garbage = garbage->at(0);
  return Status::ok();
}

std::string table(const Run& run, std::uint64_t held) {
  const double mib = 1 << 20;
  std::string text =
      "| part of the run | valid, MiB | files, MiB (largest) | beyond the bound, MiB (largest) |\n"
      "| --- | --- | --- | --- |\n";
  char row[400];
  for (int part = 0; part < kParts; ++part) {
    Sample most;
    std::uint64_t beyond = 0;
    const std::size_t from = run.samples.size() * static_cast<std::size_t>(part) / kParts;
    const std::size_t to = run.samples.size() * static_cast<std::size_t>(part + 1) / kParts;
    for (std::size_t i = from; i < to; ++i) {
      if (run.samples[i].file_bytes > most.file_bytes) most = run.samples[i];
      beyond = std::max(beyond, run.samples[i].beyond());
    }
    std::snprintf(row, sizeof row, "| %d of %d | %.0f | %.0f | %.0f |\n", part + 1, kParts,
                  static_cast<double>(most.valid_bytes) / mib,
                  static_cast<double>(most.file_bytes) / mib, static_cast<double>(beyond) / mib);
    text += row;
  }
  const double seconds_run = static_cast<double>(kRun.count());
  std::snprintf(
      row, sizeof row,
      "| idle after %.1f s | %.0f | %.0f | 0 |\n\n%.0f published/s and %.0f acknowledged/s "
      "of 1 KiB for %.0f s, %llu held; %.0f MiB copied, %.0f MiB given back by that, "
      "%.0f MiB by removing whole files; longest pause %lld us.\n",
      run.idle_seconds, static_cast<double>(run.after.valid_bytes) / mib,
      static_cast<double>(run.after.file_bytes) / mib,
      static_cast<double>(run.published) / seconds_run,
      static_cast<double>(run.acked) / seconds_run, seconds_run,
      static_cast<unsigned long long>(held), static_cast<double>(run.garbage.copied_bytes) / mib,
      static_cast<double>(run.garbage.reclaimed_bytes) / mib,
      static_cast<double>(run.garbage.dropped_bytes) / mib,
      static_cast<long long>(run.garbage.longest_pause.count()));
  return text + row;
}

}  // namespace

Result<std::string> measure_churn(const BudgetOptions& options) {
  auto started = TestBed::start(options.directory + "/churn", options.binaries);
  if (!started) return started.status();
  auto consuming = connect(**started);
  if (!consuming) return consuming.status();
  auto publishing = connect(**started);
  if (!publishing) return publishing.status();
  const auto declared = consuming->admin().declare_queue(kQueue);
  if (!declared) return failed("declare", declared.error());
  options.progress("publishing and acknowledging at random");
  Run run;
  Source source(std::move(*publishing));
  SEGUE_RETURN_IF_ERROR(churn(run, *consuming, source, options.count));
  return table(run, options.count);
}

}  // namespace segue::bench
