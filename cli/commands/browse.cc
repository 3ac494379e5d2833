#include <cstdint>
#include <string>
#include <vector>

#include "cli/browse_reader.h"
#include "cli/commands/commands.h"
#include "cli/exit_codes.h"
#include "cli/message_filter.h"
#include "cli/ndjson.h"
#include "cli/session.h"
#include "cli/table_output.h"

namespace segue::cli {

namespace {

constexpr const char* kDescription =
    "Reads a queue's messages in order, and changes nothing: nothing is delivered or marked, and\n"
    "consumers go on. Also those are shown that consumers have and have not settled. For each "
    "message\n"
    "there is a line with its place (the number that names it in its queue), where it was "
    "published\n"
    "to, its size and its properties as JSON, and a line with its body, unless --headers-only; "
    "bytes\n"
    "that do not show stand as \\xNN. With --ndjson a message is one line of JSON, as `segue "
    "consume\n"
    "--ndjson` writes them, with its place.\n"
    "\n"
    "What is published meanwhile may be shown, too. In a queue with priorities the order is that "
    "of\n"
    "delivery, from the highest down.\n"
    "\n"
    "Exit codes beside the usual ones: 3 when there was nothing to show; 1 also when messages "
    "cannot\n"
    "be read, as they are damaged on the node's disk.\n"
    "\n"
    "Examples:\n"
    "  segue browse orders --max 10\n"
    "  segue browse reminders --delayed      # `segue queue cancel-delayed` takes their places\n"
    "  segue browse orders-dlq --filter reason=rejected --filter header.tenant=acme\n"
    "  segue browse orders --ndjson | jq -r .properties.message_id\n";

class BrowseCommand final : public SessionCommand {
 public:
  Status check(const OptionTable& /*options*/) override {
    for (const std::string& expression : filters_) {
      SEGUE_RETURN_IF_ERROR(filter_.add(expression));
    }
    return Status::ok();
  }

 protected:
  void declare_own(OptionTable& options) override {
    options.positional(queue_, {"QUEUE", "the queue's name", true, OptionTable::Names::kQueues});
    options.number(max_, {"max", 'n', "N", "show N messages at most"}, 1, UINT64_MAX);
    options.number(after_, {"after", 0, "PLACE", "only messages behind this place (0)"}, 0,
                   UINT64_MAX);
    options.list(filters_, {"filter", 'f', "EXPR", "only messages like this; may be given again"});
    options.flag(delayed_, {"delayed", 0, "",
                            "those whose time to be delivered has not come, in place of the "
                            "others"});
    options.flag(headers_only_, {"headers-only", 0, "", "leave the bodies out"});
    options.flag(ndjson_, {"ndjson", 0, "", "write a line of JSON for each message"});
  }
  std::string queue() const override { return queue_; }

  int run_with(Console& console, client::Connection& connection) override {
    BrowseReader reader(connection.admin(), queue_, after_, delayed_);
    std::uint64_t shown = 0;
    bool more = true;
    while (more && shown < max_) {
      if (console.stop_requested()) return kExitInterrupted;
      const auto messages = reader.next();
      if (!messages) return report(console, "browse '" + queue_ + "'", messages.error());
      more = !messages->empty();
      for (const BrowseReader::Placed& placed : *messages) {
        if (shown == max_ || !filter_.matches(placed.message.header)) continue;
        if (!console.write(text_of(placed))) return output_failed(console);
        ++shown;
      }
      if (!console.flush()) return output_failed(console);
    }
    return ended(console, reader, shown);
  }

 private:
  std::string text_of(const BrowseReader::Placed& placed) const {
    const client::MessageHeader& header = placed.message.header;
    if (ndjson_) {
      BrowsedMessage message{placed.place, header.exchange, header.routing_key, std::nullopt,
                             placed.message.body.size()};
      if (!headers_only_) message.body = placed.message.body;
      return browsed_line(queue_, message, header.properties);
    }
    std::string text = "#" + std::to_string(placed.place);
    if (!header.exchange.empty()) text += "  exchange " + printable(header.exchange);
    text += "  key " + printable(header.routing_key);
    text += "  " + std::to_string(placed.message.body.size()) + " B";
    if (!(header.properties == client::Properties())) {
      text += "  " + properties_text(header.properties);
    }
    text += '\n';
    if (!headers_only_) text += "  " + printable(placed.message.body) + "\n";
    return text;
  }

  int ended(Console& console, const BrowseReader& reader, std::uint64_t shown) const {
    if (reader.corrupt() > 0) {
      console.note("segue: left out: " + counted(reader.corrupt(), "message") +
                   " that cannot be read, as they are damaged on the node's disk");
      return kExitRefused;
    }
    if (shown > 0) return kExitOk;
    console.note("segue: queue '" + printable(queue_) + "' has no " + (delayed_ ? "delayed " : "") +
                 (filter_.empty() && after_ == 0 ? "message" : "such message"));
    return kExitNothing;
  }

  std::string queue_;
  std::uint64_t max_ = UINT64_MAX;
  std::uint64_t after_ = 0;
  std::vector<std::string> filters_;
  MessageFilter filter_;
  bool delayed_ = false;
  bool headers_only_ = false;
  bool ndjson_ = false;
};

}  // namespace

CommandEntry browse_command() {
  return {"browse", "look at a queue's messages without side effects",
          std::string(kDescription) + "\n" + kFilterHelp,
          [] { return std::make_unique<BrowseCommand>(); }};
}

}  // namespace segue::cli
