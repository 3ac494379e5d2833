#include <chrono>

#include "cli/commands/commands.h"
#include "cli/demo/demo_run.h"
#include "cli/exit_codes.h"
#include "cli/local_cluster.h"

namespace segue::cli {

namespace {

constexpr const char* kDescription =
    "Shows the broker at work on a real file, and checks it. Starts a router and three nodes in a\n"
    "temporary directory, publishes every record of FILE with confirms to a topic exchange, keyed\n"
    "<section>.<priority>, into queues on all nodes, and consumes them meanwhile. In the middle a\n"
    "node is killed with SIGKILL and started again, then the router is restarted. In the end "
    "every\n"
    "confirmed record must have been consumed from every queue whose pattern matches, in order,\n"
    "twice only where flagged redelivered, and byte for byte.\n"
    "\n"
    "FILE is a Debian package database, by default this machine's; of any other text each line is\n"
    "a record. It is published several times over if it is small. Exits with 0 when all checks\n"
    "passed, with 1 when one failed, with 75 when the time was up.\n"
    "\n"
    "Examples:\n"
    "  segue demo\n"
    "  segue demo /usr/share/dict/words --messages 100000 --rate 20000\n";

class DemoCommand final : public Command {
 public:
  void declare(OptionTable& options) override {
    options.number(messages_, {"messages", 'm', "N", "publish at least so many (20000)"}, 1,
                   100'000'000);
    options.number(producers_, {"producers", 'p', "N", "how many producers (4)"}, 1, 64);
    options.number(
        rate_,
        {"rate", 0, "N", "messages per second until the router is back (2000, or a tenth of all)"},
        1, 10'000'000);
    options.choice(victim_, {"kill", 0, "NODE", "the node to kill (one with busy queues)"},
                   {"n1", "n2", "n3"});
    options.duration(deadline_, {"deadline", 0, "TIME", "give up after this (180s)"});
    options.flag(keep_, {"keep", 0, "", "keep the data directory also when all is well"});
    options.positional(file_, {"FILE", "the records (/var/lib/dpkg/status)", false});
  }

  int run(Console& console) override {
    const Result<demo::RecordFile> file = demo::RecordFile::load(file_);
    if (!file) {
      console.note("segue: " + file.status().message());
      return kExitInputOutput;
    }
    const Result<std::unique_ptr<demo::DemoDirectory>> directory = demo::DemoDirectory::make();
    if (!directory) {
      console.note("segue: " + directory.status().message());
      return kExitInputOutput;
    }
    if (keep_) {
      directory.value()->keep();
      console.note("data and logs: " + directory.value()->path());
    }
    demo::DemoOptions options;
    options.file_name = file_;
    options.binaries = own_directory();
    options.messages = messages_;
    options.producers = producers_;
    options.rate = rate_.value_or(0);
    options.victim = victim_;
    options.deadline = deadline_;
    return demo::DemoRun(console, *file, std::move(options)).run(*directory.value());
  }

 private:
  std::string file_ = "/var/lib/dpkg/status";
  std::uint64_t messages_ = 20'000;
  std::uint64_t producers_ = 4;
  std::optional<std::uint64_t> rate_;
  std::string victim_;
  std::chrono::milliseconds deadline_{std::chrono::seconds(180)};
  bool keep_ = false;
};

}  // namespace

CommandEntry demo_command() {
  return {"demo", "send a real file through a cluster whose processes are killed, and check it",
          kDescription, [] { return std::make_unique<DemoCommand>(); }};
}

}  // namespace segue::cli
