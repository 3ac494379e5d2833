#include "bench/matrix/expiry.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include "bench/matrix/bench_client.h"
#include "bench/matrix/process_memory.h"
#include "bench/matrix/test_bed.h"
#include "segue/client.h"

namespace segue::bench {

namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr char kQueue[] = "expiry";
constexpr std::size_t kBodyBytes = 1024;
constexpr milliseconds kSpan{60'000};  // in which they expire, in any order
constexpr milliseconds kLead{45'000};  // from the first publish to the first that expires
constexpr milliseconds kBetweenSamples{250};
constexpr std::uint64_t kSlackBytes = 4ull << 20;

struct Sample {
  Clock::time_point asked;
  Clock::time_point answered;
  std::uint64_t ready = 0;
  std::uint64_t file_bytes = 0;
  std::uint64_t valid_bytes = 0;
};

/// When each is due at the earliest: from before it was published.
Status publish_all(client::Connection& connection, std::uint64_t count,
                   std::vector<Clock::time_point>& due) {
  std::mt19937_64 random(1);
  const auto begin = Clock::now();
  due.reserve(count);
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto now = Clock::now();
    const auto passed = std::chrono::duration_cast<milliseconds>(now - begin);
    const milliseconds at =
        kLead + milliseconds(random() % static_cast<std::uint64_t>(kSpan.count()));
    if (passed >= kLead) return Status(Code::kTimeout, "publishing takes too long");
    client::Message message = client::Message::to_queue(kQueue, std::string(kBodyBytes, 'x'));
    message.header.properties.expiration = at - passed;
    due.push_back(now + (at - passed));
    const auto taken = connection.publisher().publish(std::move(message));
    if (!taken) return failed("publish", taken.error());
  }
  const auto confirmed = connection.publisher().wait_for_confirms(kPatience);
  if (!confirmed) return failed("publish", confirmed.error());
  std::sort(due.begin(), due.end());
  return Status::ok();
}

Result<Sample> sample(client::Admin& admin) {
  Sample now;
  now.asked = Clock::now();
  const auto status = admin.queue_status(kQueue);
  now.answered = Clock::now();
  if (!status) return failed("ask for the queue", status.error());
  now.ready = status->ready;
  const auto listed = admin.list_all_segments(kQueue);
  if (!listed) return failed("list segments", listed.error());
  for (const auto& segment : listed->segments) {
    now.file_bytes += segment.bytes;
    now.valid_bytes += segment.valid_bytes;
  }
  return now;
}

/// How long after its time the message was still there that the sample has too many, in seconds.
double lateness(const Sample& sample, const std::vector<Clock::time_point>& due) {
  const std::uint64_t gone = due.size() - std::min<std::uint64_t>(sample.ready, due.size());
  if (gone == due.size()) return 0;
  return std::max(0.0, std::chrono::duration<double>(sample.asked - due[gone]).count());
}

}  // namespace

Result<std::string> measure_expiry(const BudgetOptions& options) {
  auto started = TestBed::start(options.directory + "/expiry", options.binaries);
  if (!started) return started.status();
  TestBed& bed = **started;
  auto connected = connect(bed);
  if (!connected) return connected.status();
  client::Connection& connection = *connected;
  const auto declared = connection.admin().declare_queue(kQueue);
  if (!declared) return failed("declare", declared.error());

  options.progress("publishing " + std::to_string(options.count) + " messages");
  std::vector<Clock::time_point> due;
  const auto begin = Clock::now();
  SEGUE_RETURN_IF_ERROR(publish_all(connection, options.count, due));
  const double publishing = std::chrono::duration<double>(Clock::now() - begin).count();
  const ProcessMemory filled = memory_of(node_pid(bed));
  options.progress("kill -9 and recovery");
  SEGUE_RETURN_IF_ERROR(restart_node(bed));
  const auto back = wait_available(connection, kQueue);
  if (!back) return back.status();
  options.progress("they expire");

  std::vector<double> late;
  double beyond = 0;
  double most_files = 0;
  for (std::uint64_t left = 1; left > 0;) {
    auto now = sample(connection.admin());
    if (!now) return now.status();
    left = now->ready;
    const auto not_due = static_cast<std::uint64_t>(
        due.end() - std::upper_bound(due.begin(), due.end(), now->answered));
    if (now->ready < not_due) {
      return Status(Code::kInternalError,
                    std::to_string(not_due - now->ready) + " messages went before their time");
    }
    if (now->asked > due.front() && now->asked < due.back()) late.push_back(lateness(*now, due));
    if (now->asked > due.back() + kPatience) {
      return Status(Code::kTimeout, std::to_string(left) + " messages stay");
    }
    const double bound = 2.0 * static_cast<double>(now->valid_bytes) + kSlackBytes;
    beyond = std::max(beyond, static_cast<double>(now->file_bytes) - bound);
    most_files = std::max(most_files, static_cast<double>(now->file_bytes));
    std::this_thread::sleep_for(kBetweenSamples);
  }
  const double over =
      std::max(0.0, std::chrono::duration<double>(Clock::now() - due.back()).count());
  const ProcessMemory after = memory_of(node_pid(bed));
  if (late.empty()) return Status(Code::kInternalError, "there was no time to look");
  std::sort(late.begin(), late.end());
  char text[1200];
  const double mib = 1 << 20;
  std::snprintf(text, sizeof text,
                "| %llu x 1 KiB, each with a time to live of its own, in one queue | figure |\n"
                "| --- | --- |\n"
                "| published | %.0f/s |\n"
                "| the node's peak resident memory meanwhile | %.0f MiB |\n"
                "| then kill -9; they expire in any order within | %lld s |\n"
                "| the last one to go was late by, median of %zu samples | %.2f s |\n"
                "| the same, worst sample | %.2f s |\n"
                "| gone after the last one's time | %.2f s |\n"
                "| went before their time | 0 |\n"
                "| largest files | %.0f MiB |\n"
                "| files beyond twice the valid bytes and 4 MiB, at most | %.0f MiB |\n"
                "| peak resident memory of recovery and expiry | %.0f MiB |\n",
                static_cast<unsigned long long>(options.count),
                static_cast<double>(options.count) / publishing,
                static_cast<double>(filled.peak_kib) / 1024,
                static_cast<long long>(kSpan.count() / 1000), late.size(), late[late.size() / 2],
                late.back(), over, most_files / mib, std::max(0.0, beyond) / mib,
                static_cast<double>(after.peak_kib) / 1024);
  return std::string(text);
}

}  // namespace segue::bench
