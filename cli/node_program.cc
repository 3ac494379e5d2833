#include "cli/node_program.h"

#include <signal.h>

#include <optional>
#include <utility>

#include "cli/child_process.h"
#include "cli/exit_codes.h"
#include "cli/local_cluster.h"

namespace segue::cli {

namespace {

constexpr int kNotStarted = 127;  // of a program that cannot be run
constexpr int kPollMs = 50;
constexpr int kKillAfterMs = 2000;

}  // namespace

int run_node_program(Console& console, std::vector<std::string> arguments) {
  ChildProcess::Options options;
  options.program = own_directory() + "/segue-node";
  options.arguments = std::move(arguments);
  auto process = ChildProcess::start(options);
  if (!process) {
    console.note("segue: " + process.status().message());
    return kExitInputOutput;
  }
  std::optional<ChildProcess::End> end;
  while (!(end = process->wait(kPollMs))) {
    if (!console.stop_requested()) continue;
    process->signal(SIGTERM);
    process->wait(kKillAfterMs);
    return kExitInterrupted;
  }
  if (end->signal == 0 && end->exit_code != kNotStarted) return end->exit_code;
  console.note("segue: " + options.program + " failed: " + end->text());
  return end->exit_code == kNotStarted ? kExitInputOutput : kExitInternal;
}

}  // namespace segue::cli
