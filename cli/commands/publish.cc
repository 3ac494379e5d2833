#include <cstdint>

#include "cli/commands/commands.h"
#include "cli/exit_codes.h"
#include "cli/field_values.h"
#include "cli/input_file.h"
#include "cli/lines.h"
#include "cli/ndjson.h"
#include "cli/publish_feed.h"
#include "cli/session.h"
#include "cli/table_output.h"
#include "cli/time_text.h"

namespace segue::cli {

namespace {

constexpr const char* kDescription =
    "What is published: --body, or one message for each line (--lines, --ndjson), or else the "
    "whole\n"
    "of FILE or the standard input as one message. Where to: --queue, or --exchange with\n"
    "--routing-key.\n"
    "\n"
    "The command always waits until the cluster has confirmed or refused every message, and fails\n"
    "when one was refused. --confirm prints the counts, and also fails when a message reached no\n"
    "queue. What it waits for is told on standard error; a message whose node is down is refused\n"
    "after timeouts.shard_unavailable_timeout (30s unless configured), and the command gives up\n"
    "(exit code 75) when nothing at all was answered for a minute.\n"
    "\n"
    "--lines takes any bytes: lines end at a newline and nothing else. The newline is not part of\n"
    "the message; `segue consume` writes it again. A last line without one is marked with the\n"
    "header x-segue-no-newline, so that a file comes back byte for byte.\n"
    "\n"
    "--ndjson takes one JSON object on each line, as `segue consume --ndjson` writes them:\n"
    "  {\"body\": \"text\", \"routing_key\": \"a.b\", \"properties\": {\"headers\": {\"n\": 1}}}\n"
    "with body_base64 instead of body for other bytes. --queue, --exchange and --routing-key go "
    "before\n"
    "what the line says. At a line that is none of those the command ends (exit code 64): what "
    "stands\n"
    "before it is published, nothing from it on.\n"
    "\n"
    "Examples:\n"
    "  segue publish --queue orders --body 'hello'\n"
    "  segue publish --queue lines --lines < /var/lib/dpkg/status\n"
    "  segue publish --queue reminders --body 'call back' --delay 2h\n"
    "  segue publish --exchange amq.topic --routing-key order.eu.created --body '{}' --confirm\n"
    "  segue consume old --until-empty --ndjson | segue publish --ndjson --queue new\n";

class PublishCommand final : public SessionCommand {
 public:
  Status check(const OptionTable& options) override {
    header_.properties.priority = static_cast<std::uint32_t>(priority_);
    if (options.given("expiration")) header_.properties.expiration = expiration_;
    const int sources = (body_ ? 1 : 0) + (lines_ ? 1 : 0) + (ndjson_ ? 1 : 0);
    if (sources > 1) {
      return Status(Code::kInvalidConfig, "only one of --body, --lines and --ndjson can be given");
    }
    if (body_ && !file_.empty()) {
      return Status(Code::kInvalidConfig, "--body and FILE exclude each other");
    }
    if (queue_ && (options.given("exchange") || options.given("routing-key"))) {
      return Status(Code::kInvalidConfig,
                    "--queue excludes --exchange and --routing-key: it names the queue itself");
    }
    if (!queue_ && !options.given("exchange") && !options.given("routing-key") && !ndjson_) {
      return Status(Code::kInvalidConfig, "say where to: --queue Q, or --exchange E");
    }
    if (queue_) header_.routing_key = *queue_;
    if (queue_ || options.given("exchange")) exchange_override_ = header_.exchange;
    if (queue_ || options.given("routing-key")) key_override_ = header_.routing_key;
    return Status::ok();
  }

 protected:
  void declare_own(OptionTable& options) override {
    options.positional(file_, {"FILE", "what to publish; - or none: the standard input", false});
    options.text(queue_, {"queue", 'q', "NAME", "straight to this queue, without bindings"});
    options.offer("queue", OptionTable::Names::kQueues);
    options.text(header_.exchange, {"exchange", 'e', "NAME", "to this exchange (the default one)"});
    options.offer("exchange", OptionTable::Names::kExchanges);
    options.text(header_.routing_key, {"routing-key", 'k', "KEY", "with this key (empty)"});
    options.text(body_, {"body", 'b', "TEXT", "publish this text"});
    options.flag(lines_, {"lines", 'l', "", "a message for each line"});
    options.flag(ndjson_, {"ndjson", 0, "", "a message for each line of JSON"});
    options.flag(confirm_, {"confirm", 'c', "",
                            "print how many were confirmed; fail if one reached no queue"});
    options.flag(header_.mandatory, {"mandatory", 0, "",
                                     "have messages returned that no queue "
                                     "takes; counts as failure"});
    options.custom({"header", 0, "NAME=VALUE",
                    "a header; VALUE is a whole number, true, false, or else text (in double "
                    "quotes always); may be given again"},
                   [this](std::string_view value) {
                     return add_assignment(header_.properties.headers, value);
                   });
    options.repeatable("header");
    options.text(header_.properties.content_type, {"content-type", 0, "TYPE", "e.g. text/plain"});
    options.number(priority_, {"priority", 0, "N", "for queues with priorities (0)"}, 0, 255);
    options.duration(expiration_, {"expiration", 0, "TIME",
                                   "delivered within this time or not at all, e.g. 500ms, 30s, 2m "
                                   "(never)"});
    options.duration(header_.properties.delay,
                     {"delay", 0, "TIME",
                      "not delivered before so long after it arrived, e.g. 500ms, 30s, 2h; a plain "
                      "number is seconds (none)"});
    options.custom({"deliver-at", 0, "TIME",
                    "not delivered before this time: 2030-01-31T08:00:00Z, or milliseconds since "
                    "1970 (UTC)"},
                   [this](std::string_view value) { return set_deliver_at(value); });
    options.text(header_.properties.message_id,
                 {"message-id", 0, "ID", "a name for the message; the cluster does not go by it"});
    options.text(header_.properties.group_id,
                 {"group-id", 0, "ID", "for queues with message groups"});
    options.text(header_.properties.correlation_id, {"correlation-id", 0, "ID", "for replies"});
    options.text(header_.properties.reply_to,
                 {"reply-to", 0, "QUEUE", "the queue that replies go to"});
    options.offer("reply-to", OptionTable::Names::kQueues);
    options.number(window_, {"window", 'w', "N", "unconfirmed messages at most (10000)"}, 1,
                   1'000'000);
  }

  client::ConnectionOptions connection_options() const override {
    client::ConnectionOptions options;
    options.max_in_flight_messages = static_cast<std::size_t>(window_);
    options.full_timeout = std::chrono::milliseconds(200);
    return options;
  }

  std::string timeout_limits() const override {
    return "for a router (not for confirms, see below)";
  }
  std::string queue() const override { return queue_.value_or(""); }

  int run_with(Console& console, client::Connection& connection) override {
    PublishFeed feed(console, connection);
    int code =
        body_ ? publish_one(console, feed, *body_) : publish_input(console, connection, feed);
    const bool settled = feed.wait_for_confirms();
    console.end_progress();
    const PublishFeed::Counts counts = feed.counts();
    if (!settled) code = tell_unsettled(console, counts);
    return tell_counts(console, counts, code);
  }

 private:
  Status set_deliver_at(std::string_view text) {
    Result<std::chrono::sys_time<std::chrono::milliseconds>> time = parse_time(text);
    if (!time) return time.status();
    header_.properties.deliver_at = *time;
    return Status::ok();
  }

  int publish_one(Console& console, PublishFeed& feed, std::string_view body) {
    const client::Status status = feed.publish(client::PreparedHeader(header_), body);
    return status ? static_cast<int>(kExitOk) : failed(console, status.error());
  }

  int failed(Console& console, const client::Error& error) {
    if (console.stop_requested()) return kExitInterrupted;
    return report(console, "publish", error);
  }

  int publish_input(Console& console, client::Connection& connection, PublishFeed& feed) {
    Result<InputFile> input = InputFile::open(console, file_);
    if (!input) return fail_input(console, input.status());
    std::size_t limit = std::size_t{16} << 20;
    if (const auto server = connection.server()) {
      limit = static_cast<std::size_t>(server->max_message_bytes);
    }
    // A line of JSON says a body of N bytes in at most 6 N of its own, and something more.
    if (ndjson_) limit = limit * 6 + (std::size_t{1} << 20);
    if (!lines_ && !ndjson_) return publish_whole(console, feed, *input, limit);
    LineSplitter lines(limit);
    const client::PreparedHeader header(header_);
    std::string block;
    do {
      const Status read = input->read(block);
      if (!read.is_ok()) return fail_input(console, read);
      if (console.stop_requested()) return kExitInterrupted;
      if (block.empty()) lines.finish();
      lines.add(block);
      while (const auto line = lines.next()) {
        const int code = publish_line(console, feed, header, *line, lines.count());
        if (code != kExitOk) return code;
      }
      if (const auto number = lines.too_long()) {
        console.note("segue: " + input_name() + ":" + std::to_string(*number) +
                     ": the line is longer than " + human_bytes(limit) +
                     ", the cluster's limit for a message");
        return kExitRefused;
      }
      const std::size_t total = input->total_bytes();
      feed.show_progress(total == 0 ? -1 : static_cast<int>(input->bytes_read() * 100 / total));
    } while (!block.empty());
    return kExitOk;
  }

  int publish_line(Console& console, PublishFeed& feed, const client::PreparedHeader& header,
                   const LineSplitter::Line& line, std::size_t number) {
    client::Status status;
    if (ndjson_) {
      if (line.text.find_first_not_of(" \t\r") == std::string_view::npos) return kExitOk;
      Result<client::Message> message = parse_message(line.text, header_);
      if (!message) {
        console.note("segue: " + input_name() + ":" + std::to_string(number) + ": " +
                     printable(message.status().message()));
        console.note("  published: " + counted(feed.counts().published, "message") +
                     " before this line; nothing from it on");
        return kExitUsage;
      }
      if (exchange_override_) message->header.exchange = *exchange_override_;
      if (key_override_) message->header.routing_key = *key_override_;
      status = feed.publish(std::move(*message));
    } else if (line.ended) {
      status = feed.publish(header, line.text);
    } else {
      client::MessageHeader marked = header_;
      marked.properties.headers[std::string(kNoNewlineHeader)] = true;
      status = feed.publish(client::PreparedHeader(marked), line.text);
    }
    return status ? static_cast<int>(kExitOk) : failed(console, status.error());
  }

  std::string input_name() const {
    return file_.empty() || file_ == "-" ? "standard input" : printable(file_);
  }

  int publish_whole(Console& console, PublishFeed& feed, InputFile& input, std::size_t limit) {
    std::string body;
    std::string block;
    do {
      const Status read = input.read(block);
      if (!read.is_ok()) return fail_input(console, read);
      if (console.stop_requested()) return kExitInterrupted;
      body += block;
      if (body.size() > limit) {
        console.note("segue: the input is larger than " + human_bytes(limit) +
                     ", the cluster's limit for a message");
        return kExitRefused;
      }
    } while (!block.empty());
    return publish_one(console, feed, body);
  }

  static int fail_input(Console& console, const Status& status) {
    console.note("segue: " + status.message());
    return kExitInputOutput;
  }

  static int tell_unsettled(Console& console, const PublishFeed::Counts& counts) {
    console.note("segue: " + grouped(counts.open()) + " of " +
                 counted(counts.published, "message") + (counts.open() == 1 ? " was" : " were") +
                 " not confirmed; they may or may not be in their queues");
    return console.stop_requested() ? kExitInterrupted : kExitTimeout;
  }

  int tell_counts(Console& console, const PublishFeed::Counts& counts, int code) const {
    if (counts.rejected > 0) {
      std::string line = "segue: " + grouped(counts.rejected) + " of " +
                         counted(counts.published, "message") +
                         (counts.rejected == 1 ? " was" : " were") +
                         " refused, the first: " + printable(counts.reason);
      if (!counts.queues.empty()) line += " (queue " + printable(counts.queues) + ")";
      console.note(line);
      if (code == kExitOk) code = kExitRefused;
    }
    if (counts.unroutable > 0) {
      const bool failure = queue_.has_value() || confirm_ || header_.mandatory;
      console.note(std::string(failure ? "segue: " : "segue: note: ") + grouped(counts.unroutable) +
                   " of " + counted(counts.published, "message") + " reached no queue");
      if (queue_)
        console.note("  is there a queue '" + printable(*queue_) + "'? `segue queue list`");
      if (failure && code == kExitOk) code = kExitRefused;
    }
    if (confirm_) {
      console.write(grouped(counts.published) + " published, " + grouped(counts.confirmed) +
                    " confirmed, " + grouped(counts.rejected) + " refused, " +
                    grouped(counts.unroutable) + " unroutable\n");
    }
    return code;
  }

  std::string file_;
  std::optional<std::string> queue_;
  std::optional<std::string> body_;
  client::MessageHeader header_;
  std::optional<std::string> exchange_override_;  // of what a line of JSON says
  std::optional<std::string> key_override_;
  bool lines_ = false;
  bool ndjson_ = false;
  bool confirm_ = false;
  std::uint64_t priority_ = 0;
  std::chrono::milliseconds expiration_{0};
  std::uint64_t window_ = 10'000;
};

}  // namespace

CommandEntry publish_command() {
  return {"publish", "publish a message, the lines of a file, or NDJSON", kDescription,
          [] { return std::make_unique<PublishCommand>(); }};
}

}  // namespace segue::cli
