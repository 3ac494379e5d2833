#include <optional>
#include <utility>

#include "cli/commands/commands.h"
#include "cli/exit_codes.h"
#include "cli/garbage_report.h"
#include "cli/session.h"
#include "cli/table_output.h"

namespace segue::cli {

namespace {

using client::GarbageAction;

constexpr const char* kStatusHelp =
    "Shows the collection of garbage on the nodes' disks: the debt (garbage in the files of "
    "queues\n"
    "that have more than their bound, twice what is valid and gc.min_bytes), what has been "
    "copied,\n"
    "reclaimed by copying, and dropped (files without a valid message) since each node started,\n"
    "the rate of the last second, and for how long the node stalled: did nothing else, to put a\n"
    "copy in its place. A node is collecting while a queue is copied or waits for it. QUEUES "
    "PAUSED\n"
    "are paused by themselves. With QUEUE it shows the queue's node, and whether the queue is "
    "paused\n"
    "or being collected. `segue segments QUEUE` shows its files. Below: what the scrubber has\n"
    "verified of complete files since the node started, and when its last pass over all ended.\n"
    "\n"
    "Examples:\n"
    "  segue gc status\n"
    "  segue gc status --json | jq 'map(.debt_bytes) | add'\n";

constexpr const char* kRunHelp =
    "Collects what garbage there is now, also below the thresholds: every file that is less than\n"
    "90 % valid is copied, of one queue or of all, at the pace of gc.bytes_per_second. Returns\n"
    "when that has begun; with --wait, when it is done. Queues that are paused by themselves are "
    "left\n"
    "out of a collection of all, and how many there are is told.\n"
    "\n"
    "Examples:\n"
    "  segue gc run orders --wait\n"
    "  segue gc run\n";

constexpr const char* kPauseHelp =
    "Begins no more copies, of one queue or of all, until `segue gc resume`, or until the node\n"
    "restarts: for an hour in which the disk is needed for something else. Files without a valid\n"
    "message are still removed.\n"
    "\n"
    "Examples:\n"
    "  segue gc pause\n"
    "  segue gc pause orders\n";

constexpr const char* kResumeHelp =
    "Ends a pause, of one queue, or of all and of the nodes.\n"
    "\n"
    "Examples:\n"
    "  segue gc resume\n"
    "  segue gc resume orders\n";

constexpr int kPollMs = 200;

class GcCommand final : public SessionCommand {
 public:
  GcCommand(GarbageAction action, std::string verb) : action_(action), verb_(std::move(verb)) {}

  Status check(const OptionTable& options) override {
    if (!name_.empty() || !options.argument_given("QUEUE")) return Status::ok();
    // An unset variable of a script, more likely than the wish for all queues.
    return Status(Code::kInvalidConfig,
                  "the queue's name is empty; leave QUEUE out for all queues");
  }

 protected:
  void declare_own(OptionTable& options) override {
    options.positional(name_, {"QUEUE", "this queue's only", false, OptionTable::Names::kQueues});
    if (action_ == GarbageAction::kRun) {
      options.flag(wait_, {"wait", 'w', "", "return when it is done"});
    }
    options.flag(json_, {"json", 0, "", "print JSON"});
  }
  std::string queue() const override { return name_; }

  int run_with(Console& console, client::Connection& connection) override {
    auto nodes = connection.admin().collect_garbage(action_, name_);
    if (!nodes) return report(console, what(), nodes.error());
    int code = kExitOk;
    if (wait_ && !failed(*nodes)) code = wait(console, connection, *nodes);
    if (code != kExitOk) return code;
    std::optional<QueueGarbage> queue;
    if (!name_.empty()) {
      const auto files = connection.admin().list_segments({.queue = name_, .limit = 1});
      if (!files) return report(console, what(), files.error());
      queue = QueueGarbage{name_, files->files.paused, files->files.running};
    }
    const QueueGarbage* shown = queue ? &*queue : nullptr;
    console.write(json_ ? garbage_json(*nodes, shown) : garbage_text(*nodes, shown));
    if (action_ == GarbageAction::kRun && !queue) tell_left_out(console, *nodes);
    return failed(*nodes) ? kExitRefused : kExitOk;
  }

 private:
  std::string what() const { return verb_ + (name_.empty() ? "" : " of queue '" + name_ + "'"); }
  static bool failed(const std::vector<client::GarbageDescription>& nodes) {
    for (const client::GarbageDescription& node : nodes) {
      if (node.error) return true;
    }
    return false;
  }

  static void tell_left_out(Console& console,
                            const std::vector<client::GarbageDescription>& nodes) {
    std::uint64_t paused = 0;
    for (const client::GarbageDescription& node : nodes) paused += node.paused_queues;
    if (paused == 0) return;
    console.note("segue: note: left out: " + counted(paused, "queue") +
                 (paused == 1 ? " that is" : " that are") + " paused by " +
                 (paused == 1 ? "itself" : "themselves") + "; `segue gc resume` ends all pauses");
  }

  // Whether there is nothing left to do; asked again and again.
  client::Result<bool> is_done(client::Connection& connection,
                               std::vector<client::GarbageDescription>& nodes) const {
    bool done = true;
    if (!name_.empty()) {
      const auto files = connection.admin().list_segments({.queue = name_, .limit = 1});
      if (!files) return files.error();
      done = !files->files.running;
    }
    // Asked last, so that the numbers are those of the end.
    auto now = connection.admin().collect_garbage(GarbageAction::kStatus, name_);
    if (!now) return now.error();
    nodes = std::move(*now);
    if (!name_.empty()) return done;
    for (const client::GarbageDescription& node : nodes) {
      if (node.error) return *node.error;
      if (node.running) return false;
    }
    return done;
  }

  int wait(Console& console, client::Connection& connection,
           std::vector<client::GarbageDescription>& nodes) {
    while (true) {
      const auto done = is_done(connection, nodes);
      if (!done) {
        console.end_progress();
        return report(console, what(), done.error());
      }
      if (*done) break;
      std::uint64_t reclaimed = 0;
      for (const client::GarbageDescription& node : nodes) reclaimed += node.reclaimed_bytes;
      console.progress(human_bytes(reclaimed) + " reclaimed since the nodes started");
      console.wait_readable(-1, kPollMs);
      if (console.stop_requested()) return kExitInterrupted;
    }
    console.end_progress();
    return kExitOk;
  }

  const GarbageAction action_;
  const std::string verb_;
  std::string name_;
  bool wait_ = false;
  bool json_ = false;
};

CommandEntry entry(const char* path, const char* summary, const char* help, GarbageAction action,
                   const char* verb) {
  return {path, summary, help,
          [action, verb] { return std::make_unique<GcCommand>(action, verb); }};
}

}  // namespace

CommandEntry gc_status_command() {
  return entry("gc status", "show how much garbage is on disk, and what is done about it",
               kStatusHelp, GarbageAction::kStatus, "look at the collection of garbage");
}

CommandEntry gc_run_command() {
  return entry("gc run", "collect garbage now", kRunHelp, GarbageAction::kRun,
               "collect the garbage");
}

CommandEntry gc_pause_command() {
  return entry("gc pause", "copy nothing until `segue gc resume`", kPauseHelp,
               GarbageAction::kPause, "pause the collection of garbage");
}

CommandEntry gc_resume_command() {
  return entry("gc resume", "end a pause", kResumeHelp, GarbageAction::kResume,
               "resume the collection of garbage");
}

}  // namespace segue::cli
