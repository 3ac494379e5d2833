#include "bench/matrix/delayed.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <random>
#include <thread>
#include <unordered_set>
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

constexpr char kQueue[] = "delayed";
constexpr std::size_t kBodyBytes = 100;
constexpr std::int64_t kSpanMs = 3'600'000;  // in which they come, in any order
constexpr seconds kSampled{60};

std::int64_t wall_ms() {
  return std::chrono::duration_cast<milliseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

/// A body says which message it is, and when it is due.
struct Body {
  std::uint64_t number = 0;
  std::int64_t due_ms = 0;
};

Status publish_all(client::Connection& connection, std::uint64_t count, std::int64_t first_ms) {
  std::mt19937_64 random(1);
  for (std::uint64_t i = 0; i < count; ++i) {
    const Body body{i, first_ms + static_cast<std::int64_t>(random() % kSpanMs)};
    client::Message message = client::Message::to_queue(kQueue, std::string(kBodyBytes, 'x'));
    std::memcpy(message.body.data(), &body, sizeof body);
    message.header.properties.deliver_at = client::Timestamp(milliseconds(body.due_ms));
    const auto taken = connection.publisher().publish(std::move(message));
    if (!taken) return failed("publish", taken.error());
  }
  const auto confirmed = connection.publisher().wait_for_confirms(kPatience);
  if (!confirmed) return failed("publish", confirmed.error());
  return Status::ok();
}

/// How late each message came, in milliseconds.
Result<std::vector<std::int64_t>> consume(client::Connection& connection, std::int64_t first_ms) {
  auto consumer = connection.subscribe(kQueue);
  if (!consumer) return failed("subscribe", consumer.error());
  std::vector<std::int64_t> late;
  std::unordered_set<std::uint64_t> seen;
  std::int64_t last_due = 0;
  while (wall_ms() < first_ms + std::chrono::duration_cast<milliseconds>(kSampled).count()) {
    const auto batch = consumer->next_batch(10'000, seconds(1));
    const std::int64_t now = wall_ms();
    if (!batch) continue;
    for (const client::Delivery& delivery : *batch) {
      Body body;
      std::memcpy(&body, delivery.body().data(), sizeof body);
      late.push_back(now - body.due_ms);
      const bool wrong = now < body.due_ms || body.due_ms < last_due;
      if (wrong || !seen.insert(body.number).second) {
        return Status(Code::kInternalError,
                      "message " + std::to_string(body.number) +
                          " came too early, twice, or out of the order of times");
      }
      last_due = body.due_ms;
    }
    batch->ack();
  }
  if (late.empty()) return Status(Code::kTimeout, "no message came");
  return late;
}

}  // namespace

Result<std::string> measure_delayed(const BudgetOptions& options) {
  auto started = TestBed::start(options.directory + "/delayed", options.binaries);
  if (!started) return started.status();
  TestBed& bed = **started;
  auto connected = connect(bed);
  if (!connected) return connected.status();
  client::Connection& connection = *connected;
  const auto declared = connection.admin().declare_queue(kQueue);
  if (!declared) return failed("declare", declared.error());

  options.progress("publishing " + std::to_string(options.count) + " messages");
  // Publishing takes a while: a message is published before the first is due.
  const std::int64_t first_ms = wall_ms() + 30'000 + static_cast<std::int64_t>(options.count / 15);
  const auto begin = Clock::now();
  SEGUE_RETURN_IF_ERROR(publish_all(connection, options.count, first_ms));
  const double publishing = std::chrono::duration<double>(Clock::now() - begin).count();
  const ProcessMemory filled = memory_of(node_pid(bed));
  options.progress("kill -9 and recovery");
  const auto killed = Clock::now();
  SEGUE_RETURN_IF_ERROR(restart_node(bed));
  const auto status = wait_available(connection, kQueue);
  if (!status) return status.status();
  const double recovery = std::chrono::duration<double>(Clock::now() - killed).count();
  if (wall_ms() > first_ms) return Status(Code::kTimeout, "publishing took too long");
  if (status->delayed != options.count || status->ready != 0) {
    return Status(Code::kInternalError, std::to_string(status->delayed) + " are delayed");
  }
  options.progress("they come");
  while (wall_ms() < first_ms - 100) std::this_thread::sleep_for(milliseconds(20));
  auto late = consume(connection, first_ms);
  if (!late) return late.status();
  const ProcessMemory after = memory_of(node_pid(bed));
  std::sort(late->begin(), late->end());
  char text[1200];
  std::snprintf(
      text, sizeof text,
      "| %llu x 100 B, each to be delivered at a time of its own, in one queue | figure |\n"
      "| --- | --- |\n"
      "| published | %.0f/s |\n"
      "| the node's resident memory then; at its peak | %.0f MiB; %.0f MiB |\n"
      "| back after kill -9, all of them delayed | %.2f s |\n"
      "| came in the first %lld s, in the order of their times, none before its | %zu |\n"
      "| late at a consumer, median | %lld ms |\n"
      "| the same, 99 of 100 | %lld ms |\n"
      "| the same, worst | %lld ms |\n"
      "| the node's resident memory then; at its peak since the kill -9 | %.0f MiB; %.0f "
      "MiB |\n",
      static_cast<unsigned long long>(options.count),
      static_cast<double>(options.count) / publishing,
      static_cast<double>(filled.resident_kib) / 1024, static_cast<double>(filled.peak_kib) / 1024,
      recovery, static_cast<long long>(kSampled.count()), late->size(),
      static_cast<long long>((*late)[late->size() / 2]),
      static_cast<long long>((*late)[late->size() * 99 / 100]),
      static_cast<long long>(late->back()), static_cast<double>(after.resident_kib) / 1024,
      static_cast<double>(after.peak_kib) / 1024);
  return std::string(text);
}

}  // namespace segue::bench
