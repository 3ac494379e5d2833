#include "cli/commands/commands.h"
#include "cli/durability_option.h"
#include "cli/endpoint.h"
#include "cli/exit_codes.h"
#include "cli/load_generator.h"
#include "cli/session.h"

namespace segue::cli {

namespace {

constexpr const char* kDescription =
    "Makes a load on queues of its own, which it deletes at the end, and says what came of it:\n"
    "rates, latencies, processor time (of the router and the nodes too, as far as they run on "
    "this\n"
    "machine and lived from start to end). Latency is counted from the publish, or with --rate "
    "from\n"
    "the moment at which the message should have been published, so that a stall shows in all\n"
    "messages that it held up.\n"
    "Messages under 8 bytes carry no time, so there is no end-to-end latency of them.\n"
    "\n"
    "Exit code 1 when a message was refused, not confirmed, or not delivered.\n"
    "\n"
    "Examples:\n"
    "  segue bench                                     # publish only, 1 KiB, 10 s\n"
    "  segue bench --consumers 1                       # publish, consume and ack at once\n"
    "  segue bench --count 1000000 --consumers 1 --drain\n"
    "  segue bench --rate 1000 --consumers 1 --seconds 30 --json\n";

class BenchCommand final : public Command {
 public:
  void declare(OptionTable& options) override {
    options.size(load_.size,
                 {"size", 's', "BYTES", "size of a body, e.g. 100, 16KiB; at most 16MiB (1KiB)"}, 0,
                 16u << 20);
    options.number(load_.queues, {"queues", 'q', "N", "queues, used in turn (1)"}, 1, 10'000);
    options.number(load_.producers, {"producers", 0, "N", "publishing connections (1)"}, 1, 1000);
    options.number(load_.consumers,
                   {"consumers", 'c', "N",
                    "consuming connections; the queues are dealt to them "
                    "(0)"},
                   0, 1000);
    options.number(load_.window, {"window", 'w', "N", "unconfirmed messages of a producer (1000)"},
                   1, 60'000);
    options.number(load_.prefetch, {"prefetch", 'p', "N", "unsettled messages of a queue (1000)"},
                   1, 1'000'000);
    options.number(load_.rate,
                   {"rate", 0, "N",
                    "messages per second, all producers together (as "
                    "fast as it goes)"},
                   1, 10'000'000);
    options.duration(
        load_.duration,
        {"seconds", 0, "TIME", "how long to publish, e.g. 30s, 2m, or a number of seconds (10s)"});
    options.number(load_.count, {"count", 'n', "N", "publish N messages instead"}, 1, UINT64_MAX);
    options.custom({"durability", 0, kDurabilityValue,
                    "of the queues: sync, or MS (1 to 60000) milliseconds between syncs (the "
                    "cluster's)"},
                   [this](std::string_view value) {
                     const Result<client::Value> parsed = parse_durability(value);
                     if (parsed) load_.durability = std::string(value);
                     return parsed.status();
                   });
    options.flag(load_.transient, {"transient", 0, "", "queues in memory"});
    options.flag(load_.drain, {"drain", 0, "", "start to consume when all is published"});
    options.flag(json_, {"json", 0, "", "print JSON"});
    session_.declare(options);
  }

  Status check(const OptionTable& options) override {
    if (load_.drain && load_.consumers == 0) load_.consumers = 1;
    if (load_.count && options.given("seconds")) {
      return Status(Code::kInvalidConfig, "--count and --seconds exclude each other");
    }
    if (load_.duration.count() == 0) {
      return Status(Code::kInvalidConfig,
                    "option --seconds: expected some time, e.g. 500ms or 10s, got 0");
    }
    return Status::ok();
  }

  int run(Console& console) override {
    const Result<Endpoint> endpoint = choose_endpoint(session_.routers, system_lookup());
    if (!endpoint) {
      console.note("segue: " + endpoint.status().message());
      return kExitUsage;
    }
    load_.connection.routers = endpoint->routers;
    load_.connection.vhost = session_.vhost.value_or(endpoint->vhost);
    load_.connection.client_name = "segue bench";
    load_.connection.connect_timeout = session_.timeout;
    WaitNotes notes;
    watch(load_.connection, notes);
    const auto report = run_load(load_, [&](const std::string& progress) {
      console.progress(progress);
      return console.stop_requested();
    });
    console.end_progress();
    if (!report && report.error().code == client::ErrorCode::kDisconnected) {
      return cli::report(console, connecting_to(*endpoint),
                         without_repetition(report.error(), notes));
    }
    if (!report) return cli::report(console, "run the load", report.error());
    console.write(json_ ? load_report_json(load_, *report) : load_report_text(load_, *report));
    if (console.stop_requested()) return kExitInterrupted;
    const bool well = report->problem.empty() && report->rejected == 0;
    return well ? kExitOk : kExitRefused;
  }

 private:
  LoadOptions load_;
  SessionOptions session_;
  bool json_ = false;
};

}  // namespace

CommandEntry bench_command() {
  return {"bench", "make a load and measure rates and latencies", kDescription,
          [] { return std::make_unique<BenchCommand>(); }};
}

}  // namespace segue::cli
