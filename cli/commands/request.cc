#include <chrono>
#include <string>

#include "cli/commands/commands.h"
#include "cli/exit_codes.h"
#include "cli/field_values.h"
#include "cli/message_output.h"
#include "cli/session.h"

namespace segue::cli {

namespace {

constexpr const char* kDescription =
    "Publishes a request to a queue, waits for the reply, and writes its body and a newline. "
    "Nothing\n"
    "is declared for it: the reply comes through the pseudo queue amq.reply-to. Whoever answers\n"
    "publishes to the queue that the request's property reply_to names, with its correlation_id.\n"
    "\n"
    "Exit codes beside the usual ones: 1 also when no queue takes the request; 75 when no reply "
    "came\n"
    "in time: it may have been done all the same.\n"
    "\n"
    "Examples:\n"
    "  segue request reverse --body hello\n"
    "  segue request prices --body '{\"item\": 7}' --content-type application/json --wait 2s\n";

class RequestCommand final : public SessionCommand {
 public:
  Status check(const OptionTable& /*options*/) override {
    if (raw_ && ndjson_) {
      return Status(Code::kInvalidConfig, "--raw and --ndjson exclude each other");
    }
    return Status::ok();
  }

 protected:
  void declare_own(OptionTable& options) override {
    options.positional(
        queue_, {"QUEUE", "who answers consumes from it", true, OptionTable::Names::kQueues});
    options.text(message_.body, {"body", 'b', "TEXT", "the request (empty)"});
    options.text(message_.header.properties.content_type,
                 {"content-type", 0, "TYPE", "e.g. text/plain"});
    options.custom({"header", 0, "NAME=VALUE",
                    "a header; VALUE is a whole number, true, false, or else text (in double "
                    "quotes always); may be given "
                    "again"},
                   [this](std::string_view value) {
                     return add_assignment(message_.header.properties.headers, value);
                   });
    options.repeatable("header");
    options.duration(wait_, {"wait", 'w', "TIME", "how long to wait for the reply (30s)"});
    options.flag(raw_, {"raw", 0, "", "write the body's bytes and no newline"});
    options.flag(ndjson_, {"ndjson", 0, "", "write a line of JSON"});
  }
  std::string queue() const override { return queue_; }
  std::string timeout_limits() const override { return "for a router (not for the reply: --wait)"; }

  int run_with(Console& console, client::Connection& connection) override {
    const std::string what = "ask '" + queue_ + "'";
    auto requester = client::Requester::open(connection);
    if (!requester) return report(console, what, requester.error());
    message_.header.routing_key = queue_;
    auto reply = requester->request_async(message_);
    const auto end = std::chrono::steady_clock::now() + wait_;
    while (reply.wait_for(std::chrono::milliseconds(50)) != std::future_status::ready) {
      if (console.stop_requested()) return kExitInterrupted;
      if (std::chrono::steady_clock::now() < end) continue;
      return report(console, what,
                    {client::ErrorCode::kTimeout, queue_, "no reply came in time (--wait)"});
    }
    const auto delivery = reply.get();
    if (!delivery) return report(console, what, delivery.error());
    console.write(message_text(ndjson_ ? OutputForm::kNdjson
                               : raw_  ? OutputForm::kRaw
                                       : OutputForm::kLines,
                               queue_, *delivery));
    return console.flush() ? static_cast<int>(kExitOk) : output_failed(console);
  }

 private:
  std::string queue_;
  client::Message message_;
  std::chrono::milliseconds wait_{std::chrono::seconds(30)};
  bool raw_ = false;
  bool ndjson_ = false;
};

}  // namespace

CommandEntry request_command() {
  return {"request", "ask a queue's consumer, and wait for the reply", kDescription,
          [] { return std::make_unique<RequestCommand>(); }};
}

}  // namespace segue::cli
