#include "cli/load_generator.h"

#include <sys/resource.h>

#include <atomic>
#include <charconv>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "cli/cluster_cpu.h"
#include "cli/load_consumer.h"
#include "cli/load_producer.h"
#include "cli/table_output.h"
#include "common/random.h"
#include "segue/client.h"

namespace segue::cli {

namespace {

using std::chrono::milliseconds;

constexpr milliseconds kWatchInterval{100};
// Consumers that get nothing for so long get nothing more.
constexpr std::chrono::seconds kNoProgress{15};

double own_cpu_seconds() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

/// One run from the declaring of its queues to their deletion.
class LoadRun {
 public:
  LoadRun(const LoadOptions& options, const LoadWatcher& watcher, client::Connection& control)
      : options_(options), watcher_(watcher), control_(control) {}
  ~LoadRun() { delete_queues(); }

  client::Result<LoadReport> run() {
    if (client::Status declared = declare_queues(); !declared) return declared.error();
    if (const auto cluster = control_.admin().cluster_status()) {
      processes_ = cluster_processes(*cluster);
    }
    const auto cpu_before = cluster_cpu_seconds(processes_);
    const double own_before = own_cpu_seconds();
    if (!options_.drain) start_consumers();
    produce();
    if (options_.drain) {
      consume_start_ = clock_.now();
      start_consumers();
    }
    finish_consuming();
    report_.cpu_seconds = own_cpu_seconds() - own_before;
    for (const auto& [id, seconds] : cluster_cpu_seconds(processes_)) {
      const auto before = cpu_before.find(id);
      if (before != cpu_before.end()) report_.cluster_seconds[id] = seconds - before->second;
    }
    collect();
    return std::move(report_);
  }

 private:
  client::Status declare_queues() {
    SystemRandom random;
    char prefix[32];
    const auto end = std::to_chars(prefix, prefix + sizeof prefix, random.next_u64(), 36).ptr;
    client::QueueOptions queue;
    queue.durable = !options_.transient;
    if (options_.durability == "sync") {
      queue.arguments["x-durability"] = "sync";
    } else if (options_.durability) {
      queue.arguments["x-durability"] = std::stoll(*options_.durability);
    }
    std::vector<std::future<client::Result<client::DeclaredQueue>>> answers;
    for (std::uint64_t i = 0; i < options_.queues; ++i) {
      queues_.push_back("bench-" + std::string(prefix, end) + "-" + std::to_string(i));
      answers.push_back(control_.admin().declare_queue_async(queues_.back(), queue));
    }
    for (auto& answer : answers) {
      if (const auto declared = answer.get(); !declared) return declared.error();
    }
    return {};
  }

  void delete_queues() {
    std::vector<std::future<client::Result<std::uint64_t>>> answers;
    for (const std::string& queue : queues_) {
      answers.push_back(control_.admin().delete_queue_async(queue));
    }
    for (auto& answer : answers) (void)answer.get();
  }

  void problem(const std::string& text) {
    if (report_.problem.empty()) report_.problem = text;
  }

  // Queues are dealt to the connections; more connections than queues share them.
  void start_consumers() {
    for (std::uint64_t i = 0; i < options_.consumers; ++i) {
      auto connection = client::Connection::open(options_.connection);
      if (!connection) return problem(connection.error().to_string());
      connections_.push_back(std::make_unique<client::Connection>(std::move(connection).value()));
      for (std::uint64_t queue = i % options_.queues; queue < options_.queues;
           queue += options_.consumers) {
        auto consumer = LoadConsumer::start(*connections_.back(), queues_[queue],
                                            static_cast<std::uint32_t>(options_.prefetch));
        if (!consumer) return problem(consumer.error().to_string());
        consumers_.push_back(std::move(consumer).value());
      }
    }
  }

  LoadProducer::Options producer_options(std::uint64_t index) const {
    LoadProducer::Options producer;
    producer.connection = options_.connection;
    producer.queues = queues_;
    producer.first_queue = index;
    producer.size = options_.size;
    producer.window = options_.window;
    if (options_.rate > 0) {
      const double total = 1e9 / static_cast<double>(options_.rate);
      producer.interval_ns = total * static_cast<double>(options_.producers);
      producer.offset_ns = total * static_cast<double>(index);
    }
    if (options_.count) {
      producer.count = *options_.count / options_.producers +
                       (index < *options_.count % options_.producers ? 1 : 0);
    }
    producer.start = start_;
    producer.end = start_ + options_.duration;
    return producer;
  }

  void produce() {
    // Time for all to connect.
    start_ = clock_.now() + milliseconds(300);
    consume_start_ = start_;
    for (std::uint64_t i = 0; i < options_.producers; ++i) {
      if (options_.count && producer_options(i).count == 0) continue;
      producers_.push_back(std::make_unique<LoadProducer>(producer_options(i)));
    }
    std::vector<client::Status> results(producers_.size());
    std::atomic<std::size_t> running{producers_.size()};
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < producers_.size(); ++i) {
      threads.emplace_back([&, i] {
        results[i] = producers_[i]->run(stop_);
        running.fetch_sub(1);
      });
    }
    while (running.load() > 0) watch();
    for (std::thread& thread : threads) thread.join();
    for (const client::Status& result : results) {
      if (!result) problem(result.error().to_string());
    }
  }

  std::uint64_t consumed() const {
    std::uint64_t total = 0;
    for (const auto& consumer : consumers_) total += consumer->consumed();
    return total;
  }

  std::uint64_t confirmed() const {
    std::uint64_t total = 0;
    for (const auto& producer : producers_) total += producer->confirmed();
    return total;
  }

  void watch() {
    std::this_thread::sleep_for(kWatchInterval);
    std::string line = grouped(confirmed()) + " confirmed";
    if (options_.consumers > 0) line += ", " + grouped(consumed()) + " consumed";
    if (watcher_(line)) stop_.store(true);
  }

  void finish_consuming() {
    const std::uint64_t expected = confirmed();
    std::uint64_t before = 0;
    TimePoint last_progress = clock_.now();
    while (!consumers_.empty() && consumed() < expected && !stop_.load()) {
      watch();
      const TimePoint now = clock_.now();
      if (consumed() != before) last_progress = now;
      before = consumed();
      if (now - last_progress > kNoProgress) {
        problem("only " + grouped(before) + " of " + grouped(expected) +
                " confirmed messages were delivered");
        break;
      }
    }
    for (const auto& consumer : consumers_) consumer->stop();
  }

  void collect() {
    TimePoint last_confirm = start_;
    for (const auto& producer : producers_) {
      report_.published += producer->published();
      report_.confirmed += producer->confirmed();
      report_.rejected += producer->rejected();
      report_.confirm_ns.merge(producer->latency());
      last_confirm = std::max(last_confirm, producer->last_confirm());
      if (report_.rejection.empty()) report_.rejection = producer->rejection();
    }
    TimePoint last_message = consume_start_;
    for (const auto& consumer : consumers_) {
      report_.consumed += consumer->consumed();
      report_.redelivered += consumer->redelivered();
      report_.end_to_end_ns.merge(consumer->latency());
      last_message = std::max(last_message, consumer->last_message());
    }
    report_.publish_seconds = std::chrono::duration<double>(last_confirm - start_).count();
    report_.consume_seconds = std::chrono::duration<double>(last_message - consume_start_).count();
    const std::uint64_t open = report_.published - report_.confirmed - report_.rejected;
    if (open > 0) problem(counted(open, "message") + " never got a confirm");
  }

  const LoadOptions& options_;
  const LoadWatcher& watcher_;
  client::Connection& control_;
  const SystemClock clock_;
  std::vector<std::string> queues_;
  std::map<std::string, pid_t> processes_;
  std::atomic<bool> stop_{false};
  std::vector<std::unique_ptr<LoadProducer>> producers_;
  std::vector<std::unique_ptr<client::Connection>> connections_;
  std::vector<std::unique_ptr<LoadConsumer>> consumers_;  // gone before their connections
  TimePoint start_;
  TimePoint consume_start_;
  LoadReport report_;
};

}  // namespace

client::Result<LoadReport> run_load(const LoadOptions& options, const LoadWatcher& watcher) {
  auto control = client::Connection::open(options.connection);
  if (!control) return control.error();
  return LoadRun(options, watcher, *control).run();
}

}  // namespace segue::cli
