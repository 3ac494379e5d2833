#include "bench/matrix/runner.h"

#include <filesystem>
#include <fstream>
#include <thread>

#include "bench/matrix/test_bed.h"
#include "cli/child_process.h"

namespace segue::bench {

namespace {

using std::chrono::milliseconds;

constexpr int kProgramTimeoutMs = 300'000;
constexpr std::chrono::seconds kReadyTimeout{30};

std::string file_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

// What the program printed, errors included.
Result<std::string> output_of(const std::string& program, const std::vector<std::string>& arguments,
                              const std::string& directory) {
  const std::string log = directory + "/output";
  std::filesystem::remove(log);
  Result<cli::ChildProcess> process = cli::ChildProcess::start({program, arguments, log});
  if (!process) return process.status();
  const auto end = process->wait(kProgramTimeoutMs);
  if (end && end->signal == 0 && end->exit_code == 0) return file_text(log);
  return Status(Code::kInternalError, program + (end ? " ended with " + end->text() : " hangs") +
                                          ":\n" + file_text(log).substr(0, 2000));
}

Result<Measured> run_ceiling(const Scenario& scenario, const RunnerOptions& options) {
  const ScratchDirectory scratch(options.directory + "/ceiling");
  std::vector<std::string> arguments = scenario.ceiling;
  arguments.insert(arguments.end(), {"--json", "--dir", scratch.path()});
  const Result<std::string> json =
      output_of(options.binaries + "/pipeline_ceiling", arguments, scratch.path());
  if (!json) return json.status();
  return read_ceiling(*json);
}

Status wait_until_ready(const std::string& segue, const std::string& router,
                        const std::string& directory) {
  const auto deadline = std::chrono::steady_clock::now() + kReadyTimeout;
  for (;;) {
    const auto answer =
        output_of(segue, {"status", "--json", "--timeout", "1s", "--router", router}, directory);
    if (answer) return Status::ok();
    if (std::chrono::steady_clock::now() > deadline) return answer.status();
    std::this_thread::sleep_for(milliseconds(50));
  }
}

Result<Measured> run_broker(const Scenario& scenario, const RunnerOptions& options) {
  Result<std::unique_ptr<TestBed>> started =
      TestBed::start(options.directory + "/broker", options.binaries);
  if (!started) return started.status();
  TestBed& bed = **started;
  const std::string segue = options.binaries + "/segue";
  SEGUE_RETURN_IF_ERROR(wait_until_ready(segue, bed.router(), bed.directory()));
  std::vector<std::string> arguments = {"bench"};
  arguments.insert(arguments.end(), scenario.broker.begin(), scenario.broker.end());
  arguments.insert(arguments.end(), {"--json", "--durability", "sync", "--router", bed.router()});
  const Result<std::string> json = output_of(segue, arguments, bed.directory());
  if (!json) return json.status();
  return read_broker(*json, scenario.figure);
}

}  // namespace

Result<Measurements> run_scenario(const Scenario& scenario, const RunnerOptions& options) {
  Measurements all{scenario, {}, {}};
  for (unsigned run = 1; run <= options.runs; ++run) {
    options.progress(scenario.name + ", run " + std::to_string(run) + " of " +
                     std::to_string(options.runs));
    if (!scenario.ceiling.empty()) {
      const Result<Measured> ceiling = run_ceiling(scenario, options);
      if (!ceiling) return ceiling.status();
      all.ceiling.push_back(*ceiling);
    }
    const Result<Measured> broker = run_broker(scenario, options);
    if (!broker) return broker.status();
    all.broker.push_back(*broker);
  }
  return all;
}

}  // namespace segue::bench
