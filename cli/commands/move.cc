#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/commands/commands.h"
#include "cli/exit_codes.h"
#include "cli/message_mover.h"
#include "cli/session.h"
#include "cli/table_output.h"
#include "common/json_output.h"

namespace segue::cli {

namespace {

constexpr const char* kDescription =
    "Moves the messages that are in a queue now, or those of them that --filter chooses: to a "
    "queue,\n"
    "to an exchange, or, as is meant for dead letters, back to the queue in which they died (as "
    "their\n"
    "headers x-last-death-queue and x-death say; with --back-to first, x-first-death-queue).\n"
    "\n"
    "No message is lost, whatever ends in between: each is published, and leaves its queue only "
    "when\n"
    "the publish was confirmed. A message can be moved twice, when this command, its router or a "
    "node\n"
    "dies between the two; a finished command says how many that can be. A message that no queue "
    "takes,\n"
    "or that is refused, stays, and is reported. So do those that the filter leaves: they are "
    "taken too,\n"
    "and put back to their places in the end without counting as delivered, but flagged "
    "redelivered.\n"
    "(If the command is killed they come back, and that counts.) Messages that consumers hold are "
    "left.\n"
    "Ctrl-C stops taking more, and finishes what is on its way.\n"
    "\n"
    "With --copy the queue stays as it is; what consumers hold is copied, too.\n"
    "\n"
    "A message keeps its properties, but for its delay, which is over, and x-deduplication-id,\n"
    "since it is no repeat. One that goes back loses x-death, x-first-death-* and x-last-death-*:\n"
    "with them its next death could count as a cycle, and drop it (--keep-headers leaves them).\n"
    "Elsewhere they stay,\n"
    "unless --strip-headers. To an exchange it goes with the key with which it\n"
    "was published at first, as far as x-death tells; an exchange may lead it to several queues.\n"
    "\n"
    "Exit codes beside the usual ones: 1 also when a message stayed that should have gone; 3 when "
    "there\n"
    "was nothing to move.\n"
    "\n"
    "Examples:\n"
    "  segue move orders-dlq\n"
    "  segue move orders-dlq --filter reason=rejected --max 100 --rate 20 --dry-run\n"
    "  segue move orders-dlq --to-exchange orders --copy\n"
    "  segue move old --to-queue new\n";

class MoveCommand final : public SessionCommand {
 public:
  Status check(const OptionTable& options) override {
    for (const std::string& expression : filters_) {
      SEGUE_RETURN_IF_ERROR(options_.filter.add(expression));
    }
    RedrivePlan& plan = options_.plan;
    if (plan.to_queue && plan.to_exchange) return exclude("--to-queue", "--to-exchange");
    if (plan.routing_key && !plan.to_exchange) {
      return Status(Code::kInvalidConfig, "--routing-key goes with --to-exchange");
    }
    const bool elsewhere = plan.to_queue || plan.to_exchange;
    if (elsewhere && options.given("back-to")) {
      return exclude("--back-to", plan.to_queue ? "--to-queue" : "--to-exchange");
    }
    if (keep_ && strip_) return exclude("--keep-headers", "--strip-headers");
    if (plan.to_queue == options_.source) {
      return Status(Code::kInvalidConfig,
                    "the messages are in '" + printable(options_.source) + "' already");
    }
    plan.keep_headers = keep_ || (elsewhere && !strip_);
    plan.back_to_first = back_to_ == "first";
    return Status::ok();
  }

 protected:
  void declare_own(OptionTable& options) override {
    RedrivePlan& plan = options_.plan;
    options.positional(options_.source,
                       {"SOURCE", "the queue's name", true, OptionTable::Names::kQueues});
    options.text(plan.to_queue, {"to-queue", 'q', "NAME", "to this queue"});
    options.offer("to-queue", OptionTable::Names::kQueues);
    options.text(plan.to_exchange, {"to-exchange", 'e', "NAME", "to this exchange"});
    options.offer("to-exchange", OptionTable::Names::kExchanges);
    options.text(plan.routing_key, {"routing-key", 'k', "KEY",
                                    "with --to-exchange: the key to publish with (the message's)"});
    options.choice(back_to_,
                   {"back-to", 0, "WHICH", "the queue of its last death, or of its first (last)"},
                   {"last", "first"});
    options.list(filters_, {"filter", 'f', "EXPR", "only messages like this; may be given again"});
    options.number(options_.max, {"max", 'n', "N", "N messages at most"}, 1, UINT64_MAX);
    options.custom({"rate", 0, "N", "N messages in a second at most, e.g. 50 or 50/s"},
                   [this](std::string_view value) {
                     if (value.ends_with("/s")) value.remove_suffix(2);
                     auto rate = parse_number(value, 1, 1'000'000'000);
                     if (rate) options_.rate = *rate;
                     return rate ? Status::ok() : rate.status();
                   });
    options.flag(options_.copy, {"copy", 0, "", "leave the queue as it is"});
    options.flag(options_.dry_run, {"dry-run", 0, "", "only say what would go where"});
    options.flag(keep_, {"keep-headers", 0, "", "leave the headers that tell of deaths"});
    options.flag(strip_, {"strip-headers", 0, "", "take them off, wherever it goes"});
    options.flag(json_, {"json", 0, "", "print JSON"});
  }
  std::string queue() const override { return options_.source; }

  client::ConnectionOptions connection_options() const override {
    client::ConnectionOptions options;
    options.max_in_flight_messages = 10'000;
    options.full_timeout = std::chrono::milliseconds(200);
    return options;
  }
  std::string timeout_limits() const override {
    return "for a router, and for each of its answers (not for confirms: Ctrl-C)";
  }

  int run_with(Console& console, client::Connection& connection) override {
    MessageMover mover(console, connection, options_);
    const client::Status status = mover.run();
    console.end_progress();
    const MessageMover::Counts& counts = mover.counts();
    if (!status && counts.looked_at == 0) return failed(console, status.error());
    if (!console.write(json_ ? json_of(counts) : text_of(counts))) return output_failed(console);
    if (!console.flush()) return output_failed(console);
    tell(console, counts);
    if (mover.delayed() > 0) {
      console.note("segue: not looked at: " + counted(mover.delayed(), "delayed message") +
                   ", whose time had not come (`segue browse --delayed` shows them)");
    }
    if (!status) return failed(console, status.error());
    if (!counts.all_moved()) return kExitRefused;
    if (console.stop_requested()) return kExitInterrupted;
    return counts.matched == 0 ? kExitNothing : kExitOk;
  }

 private:
  static Status exclude(const std::string& one, const std::string& other) {
    return Status(Code::kInvalidConfig, one + " and " + other + " exclude each other");
  }

  const char* verb() const { return options_.copy ? "copy" : "move"; }
  const char* done() const {
    if (options_.dry_run) return options_.copy ? "would copy" : "would move";
    return options_.copy ? "copied" : "moved";
  }

  int failed(Console& console, const client::Error& error) const {
    return report(console, std::string(verb()) + " messages of '" + options_.source + "'", error);
  }

  std::string text_of(const MessageMover::Counts& counts) const {
    std::string text = std::string(done()) + " " + counted(counts.moved, "message") + " of '" +
                       printable(options_.source) + "'";
    const char* before = ": ";
    for (const auto& [destination, count] : counts.destinations) {
      text += before + grouped(count) + " to " + destination;
      before = ", ";
    }
    return text + "\n";
  }

  std::string json_of(const MessageMover::Counts& counts) const {
    JsonWriter json;
    json.begin_object().field("queue", options_.source);
    json.field("copy", options_.copy).field("dry_run", options_.dry_run);
    json.field("looked_at", counts.looked_at).field("moved", counts.moved);
    json.field("unroutable", counts.unroutable).field("refused", counts.refused);
    json.field("without_origin", counts.without_origin);
    json.field("unsure", counts.unsure).field("repeated", counts.repeated);
    json.field("unreadable", counts.unreadable).field("reason", counts.reason);
    json.key("destinations").begin_object();
    for (const auto& [destination, count] : counts.destinations) json.field(destination, count);
    json.end_object().end_object();
    return json.take() + "\n";
  }

  void tell(Console& console, const MessageMover::Counts& counts) const {
    const auto say = [&](std::uint64_t count, const std::string& what) {
      if (count > 0) console.note("segue: " + counted(count, "message") + " " + what);
    };
    say(counts.without_origin,
        "stayed: they do not say in which queue they died (give --to-queue or --to-exchange)");
    say(counts.unroutable, "stayed: no queue takes them at their destination");
    say(counts.refused, "stayed: refused, the first because of " + printable(counts.reason));
    say(counts.unreadable, "cannot be read, as they are damaged on the node's disk");
    say(counts.unsure,
        "may be in the queue still, although they were moved: the connection broke in between");
    say(counts.repeated, "may have been moved twice: the connection broke in between");
  }

  MessageMover::Options options_;
  std::vector<std::string> filters_;
  std::string back_to_ = "last";
  bool keep_ = false;
  bool strip_ = false;
  bool json_ = false;
};

}  // namespace

CommandEntry move_command() {
  return {"move", "move or copy messages: dead letters back, or a queue's elsewhere",
          std::string(kDescription) + "\n" + kFilterHelp,
          [] { return std::make_unique<MoveCommand>(); }};
}

}  // namespace segue::cli
