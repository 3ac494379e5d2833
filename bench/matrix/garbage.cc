#include "bench/matrix/garbage.h"

#include <chrono>
#include <cstdio>
#include <future>
#include <string>
#include <vector>

#include "bench/matrix/bench_client.h"
#include "bench/matrix/latency_rounds.h"
#include "bench/matrix/test_bed.h"
#include "segue/client.h"

namespace segue::bench {

namespace {

constexpr int kRounds = 3;
constexpr std::size_t kBodyBytes = 1024;

struct Round {
  LatencyRound latencies;
  client::GarbageDescription garbage;
};

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

Result<Round> measure_round(const BudgetOptions& options) {
  auto started = TestBed::start(options.directory + "/garbage", options.binaries);
  if (!started) return started.status();
  const TestBed& bed = **started;
  auto connected = connect(bed);
  if (!connected) return connected.status();
  options.progress("making garbage of " + std::to_string(options.count) + " messages");
  SEGUE_RETURN_IF_ERROR(make_garbage(*connected, "garbage", options.count));
  options.progress("finding the rate");
  const auto full = run_latency_load(bed, 0);
  if (!full) return full.status();
  Round round;
  round.latencies.rate = full->publish_per_s() / 2;
  const auto rate = static_cast<std::uint64_t>(round.latencies.rate);
  options.progress("latencies at " + std::to_string(rate) + "/s");
  const auto quiet = latencies_at(bed, rate);
  if (!quiet) return quiet.status();
  round.latencies.quiet = *quiet;

  options.progress("the same while garbage is collected");
  client::Admin& admin = connected->admin();
  for (const auto action : {client::GarbageAction::kResume, client::GarbageAction::kRun}) {
    const auto told = admin.collect_garbage(action);
    if (!told) return failed("collect", told.error());
  }
  const auto collecting = latencies_at(bed, rate);
  if (!collecting) return collecting.status();
  round.latencies.busy = *collecting;
  const auto garbage = admin.collect_garbage(client::GarbageAction::kStatus);
  if (!garbage) return failed("ask", garbage.error());
  round.garbage = garbage->at(0);
  if (round.garbage.copies == 0) return Status(Code::kInternalError, "nothing was collected");
  return round;
}

std::string table(const std::vector<Round>& rounds, std::uint64_t count) {
  std::vector<LatencyRound> latencies;
  for (const Round& round : rounds) latencies.push_back(round.latencies);
  const std::string text = latency_table(latencies, "garbage lies there", "is collected");
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
      static_cast<long long>(kLatencyRun.count() / 1000), median_of(rounds, [](const Round& r) {
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
