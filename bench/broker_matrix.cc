// Measures the broker over a matrix of loads, each run beside the bare pipeline's, and prints
// Markdown tables. `./dev bench` runs it and puts them into bench/RESULTS.md.

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <thread>

#include "bench/matrix/budgets.h"
#include "bench/matrix/checkpoints.h"
#include "bench/matrix/churn.h"
#include "bench/matrix/delayed.h"
#include "bench/matrix/expiry.h"
#include "bench/matrix/garbage.h"
#include "bench/matrix/measurement.h"
#include "bench/matrix/policies.h"
#include "bench/matrix/runner.h"
#include "cli/local_cluster.h"
#include "cli/options.h"

namespace segue::bench {
namespace {

constexpr const char* kBegin = "<!-- figures: begin -->\n";
constexpr const char* kEnd = "<!-- figures: end -->\n";
constexpr std::uint64_t kQueues = 100'000;
constexpr std::uint64_t kBacklog = 10'000'000;
constexpr std::uint64_t kGarbage = 1'000'000;
constexpr std::uint64_t kChurn = 200'000;
constexpr std::uint64_t kExpiry = 1'000'000;
constexpr std::uint64_t kDelayed = 5'000'000;

struct Settings {
  std::uint64_t runs = 5;
  std::uint64_t seconds = 5;
  std::string only;
  std::string directory = ".";
  std::string results;
  std::string title;
  std::string budget;
  std::uint64_t count = 0;
  std::uint64_t bytes = 1024;
  bool list = false;
  bool help = false;
};

void declare(cli::OptionTable& options, Settings& settings) {
  options.number(settings.runs, {"runs", 'r', "N", "runs of each scenario (5)"}, 1, 100);
  options.number(settings.seconds, {"seconds", 's', "N", "seconds of each run (5)"}, 1, 600);
  options.text(settings.only, {"only", 0, "TEXT", "only scenarios whose names have this in them"});
  options.text(settings.directory,
               {"dir", 'd', "PATH", "where the data goes: the disk to measure (.)"});
  options.text(settings.results,
               {"results", 0, "FILE", "put the tables between the marks in this file"});
  options.text(settings.title, {"title", 0, "TEXT", "a line above the tables"});
  options.choice(
      settings.budget,
      {"budget", 0, "queues|backlog|garbage|churn|checkpoints|expiry|policies|delayed",
       "instead of the matrix: 100,000 queues on one node, or 10 million messages of 1 "
       "KiB in one queue (11 GiB of disk); memory, kill -9, recovery. Or latencies "
       "while the garbage of a queue of 1 million messages of 1 KiB is collected; or "
       "what a queue's files take while random ones of "
       "200,000 messages are acknowledged at full speed; or latencies with and without "
       "checkpoints; or how late 1 million messages leave a queue that expire in any "
       "order; or latencies while a policy of 10,000 queues changes; or how late 5 million delayed "
       "messages come"},
      {"queues", "backlog", "garbage", "churn", "checkpoints", "expiry", "policies", "delayed"});
  options.number(settings.count, {"count", 'n', "N", "with --budget: another number of them"}, 1,
                 1'000'000'000);
  options.number(settings.bytes, {"bytes", 'b', "N", "with --budget backlog: bytes of each (1024)"},
                 8, 1u << 20);
  options.flag(settings.list, {"list", 'l', "", "list the scenarios"});
  options.flag(settings.help, {"help", 'h', "", "this text"});
}

std::string processor() {
  std::ifstream file("/proc/cpuinfo");
  std::string line;
  while (std::getline(file, line)) {
    if (line.rfind("model name", 0) == 0) return line.substr(line.find(':') + 2);
  }
  return "unknown processor";
}

// Puts `text` between the marks of the file.
Status put_into(const std::string& path, const std::string& text) {
  std::ifstream in(path, std::ios::binary);
  std::string content(std::istreambuf_iterator<char>(in), {});
  const std::size_t begin = content.find(kBegin);
  const std::size_t end = content.find(kEnd);
  if (!in || begin == std::string::npos || end == std::string::npos || end < begin) {
    return Status(Code::kIoError, path + " cannot be read or has no marks '" +
                                      std::string(kBegin, std::string(kBegin).size() - 1) + "'");
  }
  const std::size_t from = begin + std::string(kBegin).size();
  content.replace(from, end - from, text);
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out << content;
  out.close();
  return out ? Status::ok() : Status(Code::kIoError, "cannot write " + path);
}

int fail(const Status& status) {
  std::fprintf(stderr, "broker_matrix: %s\n", status.message().c_str());
  return 1;
}

void show_progress(const std::string& line) {
  std::fprintf(stderr, "==> %s\n", line.c_str());
}

int run_budget(const Settings& settings, const std::string& directory) {
  BudgetOptions options;
  options.binaries = cli::own_directory();
  options.directory = directory;
  options.progress = show_progress;
  struct Budget {
    const char* name;
    std::uint64_t count;
    Result<std::string> (*measure)(const BudgetOptions&);
  };
  constexpr Budget kBudgets[] = {
      {"queues", kQueues, measure_queues},     {"backlog", kBacklog, measure_backlog},
      {"garbage", kGarbage, measure_garbage},  {"churn", kChurn, measure_churn},
      {"checkpoints", 0, measure_checkpoints}, {"expiry", kExpiry, measure_expiry},
      {"policies", 10'000, measure_policies},  {"delayed", kDelayed, measure_delayed}};
  const Budget& budget =
      *std::find_if(std::begin(kBudgets), std::end(kBudgets),
                    [&](const Budget& one) { return settings.budget == one.name; });
  options.count = settings.count != 0 ? settings.count : budget.count;
  options.bytes = settings.bytes;
  const Result<std::string> text = budget.measure(options);
  ::rmdir(directory.c_str());
  if (!text) return fail(text.status());
  std::printf("%s", text->c_str());
  return 0;
}

int run(std::span<const std::string> arguments) {
  Settings settings;
  cli::OptionTable options;
  declare(options, settings);
  const Status parsed = options.parse(arguments);
  if (!parsed.is_ok()) {
    fail(parsed);
    return 64;
  }
  if (settings.help) {
    std::printf("Usage: broker_matrix%s\n\n%s", options.usage().c_str(), options.help().c_str());
    return 0;
  }
  RunnerOptions runner;
  runner.binaries = cli::own_directory();
  runner.directory = settings.directory + "/segue-bench." + std::to_string(::getpid());
  runner.runs = static_cast<unsigned>(settings.runs);
  runner.progress = show_progress;
  if (!settings.budget.empty()) return run_budget(settings, runner.directory);
  std::vector<Measurements> all;
  for (const Scenario& scenario : scenarios(static_cast<unsigned>(settings.seconds))) {
    if (scenario.name.find(settings.only) == std::string::npos) continue;
    if (settings.list) {
      std::printf("%s\n", scenario.name.c_str());
      continue;
    }
    Result<Measurements> measured = run_scenario(scenario, runner);
    if (!measured) return fail(measured.status());
    all.push_back(std::move(*measured));
  }
  ::rmdir(runner.directory.c_str());
  if (settings.list) return 0;
  std::string text = settings.title.empty() ? "" : settings.title + "\n\n";
  text += processor() + ", " + std::to_string(std::thread::hardware_concurrency()) + " cores; " +
          std::to_string(settings.runs) + " runs of " + std::to_string(settings.seconds) +
          " s each.\n\n" + results_markdown(all);
  std::printf("%s", text.c_str());
  if (settings.results.empty()) return 0;
  const Status put = put_into(settings.results, "\n" + text + "\n");
  return put.is_ok() ? 0 : fail(put);
}

}  // namespace
}  // namespace segue::bench

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  return segue::bench::run(arguments);
}
