#include "cli/commands/commands.h"
#include "cli/exit_codes.h"
#include "cli/message_output.h"
#include "cli/session.h"
#include "cli/table_output.h"

namespace segue::cli {

namespace {

constexpr const char* kDescription =
    "Takes one message without subscribing, writes its body and a newline, and settles it. Exit\n"
    "code 3 when the queue has none ready.\n"
    "\n"
    "Examples:\n"
    "  segue get orders\n"
    "  segue get images --raw > image.png\n"
    "  segue get orders --requeue --ndjson     # look at the first one, leave it there\n";

class GetCommand final : public SessionCommand {
 public:
  Status check(const OptionTable& /*options*/) override {
    if (raw_ && ndjson_) {
      return Status(Code::kInvalidConfig, "--raw and --ndjson exclude each other");
    }
    if (int{requeue_} + int{reject_} + int{no_ack_} > 1) {
      return Status(Code::kInvalidConfig, "only one of --no-ack, --requeue and --reject");
    }
    return Status::ok();
  }

 protected:
  void declare_own(OptionTable& options) override {
    options.positional(queue_, {"QUEUE", "the queue's name", true, OptionTable::Names::kQueues});
    options.flag(no_ack_,
                 {"no-ack", 0, "",
                  "have the cluster settle it when it is sent: it is lost if this command dies"});
    options.flag(requeue_, {"requeue", 0, "", "put it back to its place"});
    options.flag(reject_, {"reject", 0, "", "refuse it for good"});
    options.flag(raw_, {"raw", 0, "", "write the body's bytes and no newline"});
    options.flag(ndjson_, {"ndjson", 0, "", "write a line of JSON"});
  }

  std::string queue() const override { return queue_; }

  int run_with(Console& console, client::Connection& connection) override {
    look_at_queue(connection);
    const auto got = connection.get(queue_, no_ack_);
    if (!got) return failed(console, connection, got.error());
    if (!got->has_value()) {
      console.note("segue: queue '" + printable(queue_) + "' has no message ready");
      return kExitNothing;
    }
    const client::Delivery& delivery = **got;
    console.write(message_text(ndjson_ ? OutputForm::kNdjson
                               : raw_  ? OutputForm::kRaw
                                       : OutputForm::kLines,
                               queue_, delivery));
    if (!console.flush()) return output_failed(console);
    if (no_ack_) return kExitOk;
    if (requeue_) {
      delivery.requeue();
    } else if (reject_) {
      delivery.reject();
    } else if (const client::Status acked = delivery.ack_confirmed().get(); !acked) {
      return report(console, "settle the message from '" + queue_ + "'", acked.error());
    }
    return kExitOk;
  }

 private:
  int failed(Console& console, client::Connection& connection, client::Error error) const {
    const bool late = error.code == client::ErrorCode::kTimeout;
    // That nobody answered says little: is the queue's node there?
    client::Result<client::QueueDescription> status = error;
    if (late) status = connection.admin().queue_status(queue_);
    if (status && !status->available) {
      error.code = client::ErrorCode::kShardUnavailable;
      error.text = "shard " + std::to_string(status->shard) + " is unavailable: its node " +
                   status->node + " does not answer";
    }
    const int code = report(console, "get from '" + queue_ + "'", error);
    return late ? static_cast<int>(kExitTimeout) : code;
  }

  std::string queue_;
  bool no_ack_ = false;
  bool requeue_ = false;
  bool reject_ = false;
  bool raw_ = false;
  bool ndjson_ = false;
};

}  // namespace

CommandEntry get_command() {
  return {"get", "take one message", kDescription, [] { return std::make_unique<GetCommand>(); }};
}

}  // namespace segue::cli
