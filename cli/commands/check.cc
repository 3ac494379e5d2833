#include <utility>

#include "cli/commands/commands.h"
#include "cli/node_program.h"

namespace segue::cli {

namespace {

constexpr const char* kDescription =
    "Verifies everything in the data directory of a node that does not run: identity, log,\n"
    "checkpoints, the queues' files against each other and their checksums, the catalog. A\n"
    "directory with the data of several nodes right below, as `segue up` makes it, is checked "
    "node\n"
    "by node. Only reads, whatever it finds; refuses while a node runs on the directory. It needs\n"
    "no cluster: the work is done by the segue-node that lies beside this program.\n"
    "\n"
    "With --repair it makes a directory that the node refuses to start on one that it starts on,\n"
    "with as much as can be kept, and tells in sentences what it does: damaged checkpoints, a log\n"
    "damaged in its middle or without some of its files, lost indexes, damaged copies, a catalog\n"
    "that another node leads; and what is lost by it. What is replaced is kept in the folder\n"
    "repair-<time> of the node's directory. With --dry-run it only tells. If there is a backup, "
    "weigh\n"
    "what the rehearsal says against what has changed since the backup.\n"
    "\n"
    "A PROBLEM is damage, a loss, or a file that does not belong there. A note tells what a crash\n"
    "leaves behind: the next start deals with it, and nothing is lost.\n"
    "\n"
    "Exit codes: 0 nothing is wrong; 1 problems, or, with --repair, something that it cannot "
    "repair;\n"
    "2 repaired, and no message is lost; 4 the node starts, but messages are lost or may be, or\n"
    "problems are left; 66 there is no such directory, or it may not be read; 71 the disk fails;\n"
    "73 a node runs on it, or it is no data directory. A rehearsal has the code of the repair.\n"
    "\n"
    "Examples:\n"
    "  segue check segue-data\n"
    "  segue check /var/lib/segue/n1 --repair --dry-run\n"
    "  segue check /var/lib/segue/n1 --json | jq '.findings[] | select(.kind == \"problem\")'\n";

class CheckCommand final : public Command {
 public:
  void declare(OptionTable& options) override {
    options.positional(directory_, {"DATA_DIR", "the data directory", true});
    options.flag(repair_, {"repair", 0, "", "repair what keeps the node from starting"});
    options.flag(dry_run_, {"dry-run", 0, "", "with --repair: only tell what it would do"});
    options.flag(json_, {"json", 0, "", "print JSON"});
  }

  Status check(const OptionTable& /*options*/) override {
    if (!dry_run_ || repair_) return Status::ok();
    return Status(Code::kInvalidConfig, "--dry-run goes with --repair only");
  }

  int run(Console& console) override {
    // A name that begins with '-' is no option.
    std::vector<std::string> arguments{"--check-data=" + directory_};
    if (repair_) arguments.emplace_back("--repair");
    if (dry_run_) arguments.emplace_back("--dry-run");
    if (json_) arguments.emplace_back("--json");
    return run_node_program(console, std::move(arguments));
  }

 private:
  std::string directory_;
  bool repair_ = false;
  bool dry_run_ = false;
  bool json_ = false;
};

}  // namespace

CommandEntry check_command() {
  return {"check", "verify a node's data directory, offline", kDescription,
          [] { return std::make_unique<CheckCommand>(); }};
}

}  // namespace segue::cli
