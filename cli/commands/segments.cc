#include "cli/commands/commands.h"
#include "cli/exit_codes.h"
#include "cli/garbage_report.h"
#include "cli/session.h"

namespace segue::cli {

namespace {

constexpr const char* kDescription =
    "Shows the files that hold a queue's messages on its node's disk. What is acknowledged is\n"
    "garbage: a file without a valid message is removed at once, others are copied without their\n"
    "garbage once the queue has more than its bound, twice what is valid and gc.min_bytes.\n"
    "Messages that fit into memory are in the node's log only, and in no file here.\n"
    "\n"
    "A file is active (messages are added), full (complete, until a checkpoint seals it), sealed,\n"
    "or being compacted (copied without its garbage) or merged (with its neighbours, into one).\n"
    "\n"
    "Examples:\n"
    "  segue segments orders\n"
    "  segue segments orders --json | jq '.bytes - .valid_bytes'\n";

class SegmentsCommand final : public SessionCommand {
 protected:
  void declare_own(OptionTable& options) override {
    options.positional(name_, {"QUEUE", "the queue's name", true, OptionTable::Names::kQueues});
    options.flag(json_, {"json", 0, "", "print JSON"});
  }
  std::string queue() const override { return name_; }

  int run_with(Console& console, client::Connection& connection) override {
    const auto files = connection.admin().list_all_segments(name_);
    if (!files) return report(console, "list the segments of '" + name_ + "'", files.error());
    console.write(json_ ? segments_json(name_, *files) : segments_text(name_, *files));
    return kExitOk;
  }

 private:
  std::string name_;
  bool json_ = false;
};

}  // namespace

CommandEntry segments_command() {
  return {"segments", "show the files of a queue, and how much of them is garbage", kDescription,
          [] { return std::make_unique<SegmentsCommand>(); }};
}

}  // namespace segue::cli
