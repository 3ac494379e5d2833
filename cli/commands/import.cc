#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "cli/commands/commands.h"
#include "cli/exit_codes.h"
#include "cli/input_file.h"
#include "cli/publish_feed.h"
#include "cli/session.h"
#include "cli/table_output.h"
#include "client/convert.h"
#include "common/export_stream.h"

namespace segue::cli {

namespace {

constexpr const char* kDescription =
    "Publishes the messages of a stream that `segue export` has written and waits until all are\n"
    "confirmed: straight to QUEUE, or else to the queue of the name that the stream has, which "
    "must be\n"
    "there; or, with --route, to the exchange and with the routing key that each was published "
    "with.\n"
    "Properties, headers and bodies are the same as before, but for a delay, which is over; "
    "without\n"
    "--route exchange and routing key are those of the new queue. A queue's deduplication window\n"
    "counts: a message that it remembers is confirmed, and is not there twice.\n"
    "\n"
    "A stream that is damaged or cut short is imported up to the damaged block (exit code 74); "
    "the\n"
    "message tells the offset and how many messages were imported. Importing again begins anew, "
    "and\n"
    "publishes everything once more; --skip N leaves out the first N messages. When the command "
    "fails\n"
    "it says which N leads on without a gap.\n"
    "\n"
    "Exit codes beside the usual ones: 1 messages were refused, or reached no queue; 64 --skip is\n"
    "more than the stream has; 74 the stream is damaged, cut short, or none.\n"
    "\n"
    "Examples:\n"
    "  segue import < orders.segue\n"
    "  segue import copy < orders.segue\n"
    "  segue import copy --skip 12000 < orders.segue\n";

/// After so many bytes everything is waited for, so that it is known what is there.
constexpr std::uint64_t kSettleEvery = 16 << 20;

class ImportCommand final : public SessionCommand {
 public:
  Status check(const OptionTable& options) override {
    if (route_ && options.argument_given("QUEUE")) {
      return Status(Code::kInvalidConfig, "--route and QUEUE exclude each other");
    }
    if (queue_.empty() && options.argument_given("QUEUE")) {
      return Status(Code::kInvalidConfig,
                    "the queue's name is empty; leave QUEUE out for the one that the stream names");
    }
    return Status::ok();
  }

 protected:
  void declare_own(OptionTable& options) override {
    options.positional(queue_, {"QUEUE", "the queue to publish to (the one that the stream names)",
                                false, OptionTable::Names::kQueues});
    options.flag(route_, {"route", 0, "", "publish as each message was published before"});
    options.number(skip_, {"skip", 0, "N", "leave out the first N messages"}, 0, UINT64_MAX);
  }
  std::string timeout_limits() const override { return "for a router (not for confirms)"; }
  std::string queue() const override { return queue_; }
  client::ConnectionOptions connection_options() const override {
    client::ConnectionOptions options;
    options.full_timeout = std::chrono::milliseconds(200);
    return options;
  }

  int run_with(Console& console, client::Connection& connection) override {
    auto input = InputFile::open(console, "");
    if (!input) return fail(console, input.status().message(), kExitInputOutput);
    PublishFeed feed(console, connection);
    int code = read(console, connection, *input, feed);
    const bool settled = feed.wait_for_confirms();
    console.end_progress();
    const PublishFeed::Counts counts = feed.counts();
    const bool refused = counts.rejected > 0 || counts.unroutable > 0;
    if (settled && !refused) safe_ = counts.published;
    if (refused) {
      console.note("segue: " + grouped(counts.rejected + counts.unroutable) + " of " +
                   counted(counts.published, "message") + " were refused, or reached no queue" +
                   (counts.reason.empty() ? "" : ": " + printable(counts.reason)));
      if (code == kExitOk) code = kExitRefused;
    }
    if (!settled && code == kExitOk) {
      code = console.stop_requested() ? kExitInterrupted : kExitTimeout;
      console.note("segue: " + counted(counts.open(), "message") + " were not answered");
    }
    if (code == kExitOk && skipped_ < skip_) {
      return fail(console,
                  "--skip " + std::to_string(skip_) +
                      " leaves out more than the stream has: " + counted(skipped_, "message") +
                      ". Nothing was imported; is it the right file?",
                  kExitUsage);
    }
    if (code == kExitOk) {
      console.write("imported " + counted(counts.confirmed, "message") +
                    (route_ ? std::string() : " into '" + printable(queue_) + "'") + "\n");
      return code;
    }
    console.note("segue: imported " + counted(safe_, "message") +
                 (counts.published > safe_ ? ", and perhaps more" : "") +
                 "; to go on behind them: --skip " + std::to_string(skip_ + safe_));
    return code;
  }

 private:
  static int fail(Console& console, const std::string& text, int code) {
    console.end_progress();
    console.note("segue: " + text);
    return code;
  }

  int read(Console& console, client::Connection& connection, InputFile& input, PublishFeed& feed) {
    ExportParser parser;
    std::string bytes;
    while (true) {
      auto event = parser.next();
      if (!event.is_ok()) {
        return fail(console, "the input " + event.status().message(), kExitInputOutput);
      }
      if (console.stop_requested()) return kExitInterrupted;
      int code = kExitOk;
      switch (event->kind) {
        case ExportParser::Kind::kMore:
          if (ended_) return kExitOk;  // and nothing is behind the end
          if (const Status got = input.read(bytes); !got) {
            return fail(console, got.message(), kExitInputOutput);
          }
          if (bytes.empty() && console.stop_requested()) return kExitInterrupted;
          if (bytes.empty()) parser.finish();
          parser.add(bytes);
          break;
        case ExportParser::Kind::kHeader:
          code = find_queue(console, connection, parser.header());
          break;
        case ExportParser::Kind::kBlock:
          code = publish(console, *event->messages, feed);
          break;
        case ExportParser::Kind::kEnd:
          // What is behind it must be nothing.
          if (const Status got = input.read(bytes); !got) {
            return fail(console, got.message(), kExitInputOutput);
          }
          parser.add(bytes);
          ended_ = true;
          break;
      }
      if (code != kExitOk) return code;
    }
  }

  int find_queue(Console& console, client::Connection& connection, const ExportHeader& header) {
    if (route_) return kExitOk;
    if (queue_.empty()) queue_ = header.queue;
    const auto found = connection.admin().find_queue(queue_);
    if (found) return kExitOk;
    return report(console, "import into '" + queue_ + "'", found.error());
  }

  int publish(Console& console, const MessageBatch& messages, PublishFeed& feed) {
    if (skipped_ + messages.count() <= skip_) {
      skipped_ += messages.count();
      return kExitOk;
    }
    const std::vector<client::PreparedHeader> headers = prepare(messages);
    for (std::uint32_t i = 0; i < messages.count(); ++i) {
      if (skipped_ < skip_) {
        ++skipped_;
        continue;
      }
      const auto published = feed.publish(headers[messages.header_number(i)], messages.body(i));
      if (!published) {
        if (console.stop_requested()) return kExitInterrupted;
        console.end_progress();
        return report(console, "publish", published.error());
      }
      unsettled_bytes_ += messages.body_size(i);
    }
    feed.show_progress(-1);
    return settle(feed);
  }

  /// Now and then waits for everything, so that it is known up to where all is there.
  int settle(PublishFeed& feed) {
    if (unsettled_bytes_ < kSettleEvery) return look(feed);
    unsettled_bytes_ = 0;
    if (!feed.wait_for_confirms()) return kExitTimeout;
    const int code = look(feed);
    if (code == kExitOk) safe_ = feed.counts().published;
    return code;
  }
  static int look(const PublishFeed& feed) {
    const PublishFeed::Counts counts = feed.counts();
    return counts.rejected > 0 || counts.unroutable > 0 ? kExitRefused : kExitOk;
  }

  std::vector<client::PreparedHeader> prepare(const MessageBatch& messages) const {
    std::vector<client::PreparedHeader> headers;
    for (const std::string_view bytes : messages.distinct_headers()) {
      v1::MessageHeader wire;  // the parser has seen that it can be read
      (void)wire.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()));
      client::MessageHeader header = client::from_wire(wire);
      header.mandatory = false;
      // They have waited: a stream has none whose time had not come.
      header.properties.delay = {};
      header.properties.deliver_at.reset();
      if (!route_) {
        header.exchange.clear();
        header.routing_key = queue_;
      }
      headers.emplace_back(header);
    }
    return headers;
  }

  std::string queue_;
  bool route_ = false;
  std::uint64_t skip_ = 0;
  std::uint64_t skipped_ = 0;
  std::uint64_t unsettled_bytes_ = 0;
  std::uint64_t safe_ = 0;  // of what was published: all is there
  bool ended_ = false;
};

}  // namespace

CommandEntry import_command() {
  return {"import", "publish what `segue export` has written", kDescription,
          [] { return std::make_unique<ImportCommand>(); }};
}

}  // namespace segue::cli
