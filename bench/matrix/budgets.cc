#include "bench/matrix/budgets.h"

#include <chrono>
#include <cstdio>
#include <cstring>
#include <deque>
#include <future>
#include <thread>

#include "bench/matrix/bench_client.h"
#include "bench/matrix/process_memory.h"
#include "bench/matrix/test_bed.h"
#include "segue/client.h"

namespace segue::bench {

namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::size_t kRequestsOnTheWay = 1000;  // limits.max_requests_in_flight is 1024
constexpr milliseconds kPause{5};

class Stopwatch {
 public:
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - began_).count();
  }

 private:
  std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
};

template <typename... Values>
std::string line(const char* format, Values... values) {
  char text[256];
  std::snprintf(text, sizeof text, format, values...);
  return std::string("| ") + text + " |\n";
}

// Memory that was only of use to what was just done goes back within a moment.
ProcessMemory settled_memory(TestBed& bed) {
  ProcessMemory last = memory_of(node_pid(bed));
  for (int i = 0; i < 50; ++i) {
    std::this_thread::sleep_for(milliseconds(100));
    const ProcessMemory now = memory_of(node_pid(bed));
    const bool still = now.resident_kib == last.resident_kib;
    last = now;
    if (still && i >= 20) break;
  }
  return last;
}

std::string queue_name(std::uint64_t number) {
  char name[32];
  std::snprintf(name, sizeof name, "queue-%08llu", static_cast<unsigned long long>(number));
  return name;
}

Status declare_all(client::Connection& connection, std::uint64_t count) {
  std::deque<std::future<client::Result<client::DeclaredQueue>>> open;
  const auto take = [&]() -> Status {
    const auto declared = open.front().get();
    open.pop_front();
    return declared ? Status::ok() : failed("declare", declared.error());
  };
  for (std::uint64_t i = 0; i < count; ++i) {
    if (open.size() >= kRequestsOnTheWay) SEGUE_RETURN_IF_ERROR(take());
    open.push_back(connection.admin().declare_queue_async(queue_name(i)));
  }
  while (!open.empty()) SEGUE_RETURN_IF_ERROR(take());
  return Status::ok();
}

// Every queue is listed and its node answers for it.
Status list_all(client::Connection& connection, std::uint64_t count) {
  const auto queues = connection.admin().list_all_queues();
  if (!queues) return failed("list", queues.error());
  std::uint64_t available = 0;
  for (const auto& queue : queues.value()) available += queue.available ? 1 : 0;
  if (queues.value().size() == count && available == count) return Status::ok();
  return Status(Code::kCorruption, std::to_string(queues.value().size()) + " of " +
                                       std::to_string(count) + " queues are listed, " +
                                       std::to_string(available) + " of them available");
}

double per_queue(const ProcessMemory& after, const ProcessMemory& before, std::uint64_t count) {
  return (static_cast<double>(after.resident_kib) - static_cast<double>(before.resident_kib)) /
         static_cast<double>(count);
}

// Publishes bodies that begin with their number.
Status publish_all(client::Connection& connection, const std::string& queue,
                   const BudgetOptions& options) {
  const auto header = client::PreparedHeader::to_queue(queue);
  std::string body(options.bytes, 'x');
  for (std::uint64_t i = 0; i < options.count; ++i) {
    std::memcpy(body.data(), &i, sizeof i);
    const auto published = connection.publisher().publish(header, body);
    if (!published) return failed("publish", published.error());
    if (i % 1'000'000 == 0) options.progress(std::to_string(i) + " published");
  }
  const auto confirmed = connection.publisher().wait_for_confirms(kPatience);
  return confirmed ? Status::ok() : failed("publish", confirmed.error());
}

Status drain_all(client::Consumer& consumer, const BudgetOptions& options, double& first_seconds) {
  const Stopwatch watch;
  std::uint64_t next = 0;
  while (next < options.count) {
    const auto batch = consumer.next_batch(1000, kPatience);
    if (next == 0) first_seconds = watch.seconds();
    if (!batch) return failed("consume after " + std::to_string(next), batch.error());
    for (std::size_t i = 0; i < batch.value().size(); ++i, ++next) {
      std::uint64_t number = 0;
      const std::string_view body = batch.value().body(i);
      if (body.size() != options.bytes) return Status(Code::kCorruption, "a body of another size");
      std::memcpy(&number, body.data(), sizeof number);
      if (number != next) {
        return Status(Code::kCorruption, "message " + std::to_string(number) + " came instead of " +
                                             std::to_string(next));
      }
      if (next % 1'000'000 == 0) options.progress(std::to_string(next) + " consumed");
    }
    batch.value().ack();
  }
  return Status::ok();
}

}  // namespace

Result<std::string> measure_queues(const BudgetOptions& options) {
  auto started = TestBed::start(options.directory + "/queues", options.binaries);
  if (!started) return started.status();
  TestBed& bed = **started;
  auto connected = connect(bed);
  if (!connected) return connected.status();
  client::Connection& connection = *connected;
  // What the first queue costs is not the queue's.
  SEGUE_RETURN_IF_ERROR(declare_all(connection, 1));
  auto first = wait_available(connection, queue_name(0));
  if (!first) return first.status();
  const ProcessMemory before = settled_memory(bed);

  options.progress("declaring " + std::to_string(options.count) + " queues");
  const Stopwatch declaring;
  SEGUE_RETURN_IF_ERROR(declare_all(connection, options.count));
  const double declare_seconds = declaring.seconds();
  const ProcessMemory after = settled_memory(bed);
  options.progress("listing");
  const Stopwatch listing;
  SEGUE_RETURN_IF_ERROR(list_all(connection, options.count));
  const double list_seconds = listing.seconds();

  options.progress("kill -9 and recovery");
  SEGUE_RETURN_IF_ERROR(restart_node(bed));
  const Stopwatch recovering;
  const auto last = wait_available(connection, queue_name(options.count - 1));
  if (!last) return last.status();
  const double recover_seconds = recovering.seconds();
  SEGUE_RETURN_IF_ERROR(list_all(connection, options.count));
  const ProcessMemory recovered = settled_memory(bed);

  const auto count = static_cast<double>(options.count);
  return "| " + std::to_string(options.count) + " queues on one node | figure |\n| --- | --- |\n" +
         line("declared, pipelined | %.0f/s", count / declare_seconds) +
         line("listed, with counts | %.2f s", list_seconds) +
         line("back after kill -9 | %.2f s", recover_seconds) +
         line("resident memory for each | %.2f KiB", per_queue(after, before, options.count)) +
         line("the same after the restart | %.2f KiB",
              per_queue(recovered, before, options.count)) +
         line("descriptors of the node before, after, restarted | %llu, %llu, %llu",
              static_cast<unsigned long long>(before.descriptors),
              static_cast<unsigned long long>(after.descriptors),
              static_cast<unsigned long long>(recovered.descriptors));
}

Result<std::string> measure_backlog(const BudgetOptions& options) {
  auto started = TestBed::start(options.directory + "/backlog", options.binaries);
  if (!started) return started.status();
  TestBed& bed = **started;
  auto connected = connect(bed);
  if (!connected) return connected.status();
  client::Connection& connection = *connected;
  const std::string queue = "backlog";
  const auto declared = connection.admin().declare_queue(queue);
  if (!declared) return failed("declare", declared.error());

  const Stopwatch publishing;
  SEGUE_RETURN_IF_ERROR(publish_all(connection, queue, options));
  const double publish_seconds = publishing.seconds();
  const ProcessMemory filled = memory_of(node_pid(bed));

  options.progress("kill -9 and recovery");
  SEGUE_RETURN_IF_ERROR(restart_node(bed));
  const Stopwatch recovering;
  const auto status = wait_available(connection, queue);
  if (!status) return status.status();
  const double recover_seconds = recovering.seconds();
  if (status->ready != options.count) {
    return Status(Code::kCorruption, "after the restart " + std::to_string(status->ready) + " of " +
                                         std::to_string(options.count) + " messages are ready");
  }
  const ProcessMemory recovered = memory_of(node_pid(bed));

  client::ConsumerOptions wanted;
  wanted.prefetch = 10'000;
  double first_seconds = 0;
  const Stopwatch draining;
  auto consumer = connection.subscribe(queue, wanted);
  if (!consumer) return failed("consume", consumer.error());
  SEGUE_RETURN_IF_ERROR(drain_all(*consumer, options, first_seconds));
  const double drain_seconds = draining.seconds();
  const ProcessMemory drained = memory_of(node_pid(bed));

  const auto count = static_cast<double>(options.count);
  const auto mib = [](std::uint64_t kib) { return static_cast<double>(kib) / 1024; };
  return "| " + std::to_string(options.count) + " x " + std::to_string(options.bytes) +
         " B in one queue | figure |\n| --- | --- |\n" +
         line("published | %.0f/s", count / publish_seconds) +
         line("the node's peak resident memory meanwhile | %.0f MiB", mib(filled.peak_kib)) +
         line("back after kill -9 | %.2f s", recover_seconds) +
         line("first delivery then | %.3f s later", first_seconds) +
         line("peak resident memory of recovery | %.0f MiB", mib(recovered.peak_kib)) +
         line("drained, in order | %.0f/s", count / drain_seconds) +
         line("peak resident memory of recovery and draining | %.0f MiB", mib(drained.peak_kib));
}

}  // namespace segue::bench
