#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <deque>
#include <future>
#include <optional>
#include <utility>
#include <vector>

#include "cli/commands/commands.h"
#include "cli/drained.h"
#include "cli/exit_codes.h"
#include "cli/message_output.h"
#include "cli/session.h"
#include "cli/settle_plan.h"
#include "cli/table_output.h"

namespace segue::cli {

namespace {

using std::chrono::steady_clock;

constexpr const char* kDescription =
    "Writes each message's body and a newline to the standard output (with --raw the body alone),\n"
    "and settles it once it is written. Goes on until Ctrl-C unless --count, --until-empty or\n"
    "--idle end it.\n"
    "\n"
    "With --count exactly that many messages are taken from the queue, never more, and every one "
    "is\n"
    "durably settled when the command ends with 0. (So --no-ack makes no difference then.)\n"
    "If the output is closed early, what was not written stays in the queue.\n"
    "\n"
    "Examples:\n"
    "  segue consume orders\n"
    "  segue consume lines --count 100 > copy\n"
    "  segue consume images --count 1 --raw > image.png\n"
    "  segue consume orders --until-empty --ndjson | jq .body\n"
    "  segue consume orders --count 10 --idle 5s       # exit code 3 if fewer came\n";

class ConsumeCommand final : public SessionCommand {
 public:
  Status check(const OptionTable& options) override {
    if (ack_ && no_ack_) {
      return Status(Code::kInvalidConfig, "--ack and --no-ack exclude each other");
    }
    if (raw_ && ndjson_) {
      return Status(Code::kInvalidConfig, "--raw and --ndjson exclude each other");
    }
    if (follow_ && until_empty_) {
      return Status(Code::kInvalidConfig, "--follow and --until-empty exclude each other");
    }
    idle_given_ = options.given("idle");
    if (options.given("consumer-timeout")) {
      if (consumer_timeout_.count() == 0) {
        return Status(Code::kInvalidConfig, "--consumer-timeout is 0; it must be 1ms at least");
      }
      arguments_["x-consumer-timeout"] = static_cast<std::int64_t>(consumer_timeout_.count());
    }
    return Status::ok();
  }

 protected:
  void declare_own(OptionTable& options) override {
    options.positional(queue_, {"QUEUE", "the queue's name", true, OptionTable::Names::kQueues});
    options.number(count_, {"count", 'n', "N", "stop after N messages"}, 0, UINT64_MAX);
    options.flag(until_empty_, {"until-empty", 0, "", "stop when the queue has nothing more"});
    options.duration(idle_, {"idle", 0, "TIME",
                             "stop when nothing came for this long, e.g. 500ms, 30s, 2m (never)"});
    options.flag(follow_,
                 {"follow", 'f', "", "wait for more when the queue is empty (the default)"});
    options.flag(ack_, {"ack", 0, "", "settle each message once it is written (the default)"});
    options.flag(no_ack_, {"no-ack", 0, "",
                           "have the cluster settle it when it is sent: faster, and lost if this "
                           "command dies"});
    options.number(prefetch_, {"prefetch", 'p', "N", "unsettled messages at most (5000)"}, 1,
                   1'000'000);
    options.flag(exclusive_, {"exclusive", 0, "",
                              "be the queue's only consumer: refused while there is another"});
    options.custom({"priority", 0, "N",
                    "consumers of a higher one are served first, while they have credit (0)"},
                   [this](std::string_view text) { return set_priority(text); });
    options.duration(consumer_timeout_,
                     {"consumer-timeout", 0, "TIME",
                      "a message that is not settled within this time goes back to the queue, e.g. "
                      "500ms, 30 or 30s, 2m (the queue's own)"});
    options.flag(raw_, {"raw", 0, "", "write the bodies' bytes and nothing else: no newlines"});
    options.flag(ndjson_, {"ndjson", 0, "", "write a line of JSON for each message"});
  }

  std::string timeout_limits() const override {
    return "for a router, and for the queue's node to take the subscription (not for messages: "
           "--idle)";
  }
  std::string queue() const override { return queue_; }

  int run_with(Console& console, client::Connection& connection) override {
    if (count_ == std::uint64_t{0}) return check_queue(console, connection);
    look_at_queue(connection);
    SettlePlan plan(count_, prefetch_);
    client::ConsumerOptions options;
    options.prefetch = plan.prefetch();
    options.no_ack = no_ack_ && !count_;
    options.exclusive = exclusive_;
    options.priority = priority_;
    options.arguments = arguments_;
    auto consumer = connection.subscribe(queue_, options);
    if (!consumer) return report(console, "consume from '" + queue_ + "'", consumer.error());
    const int code = take(console, connection, *consumer, plan);
    console.end_progress();
    // First no more deliveries, then the settlements that were held back to get no more.
    consumer->close();
    return settle_held(console, code);
  }

 private:
  Status set_priority(std::string_view text) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), priority_);
    if (error == std::errc() && end == text.data() + text.size()) return Status::ok();
    return Status(Code::kInvalidConfig, "expected a whole number of 32 bits, got '" +
                                            std::string(text.substr(0, 40)) + "'");
  }

  // Nothing is wanted, but a queue that is not there is still worth telling.
  int check_queue(Console& console, client::Connection& connection) {
    const auto queue = connection.admin().find_queue(queue_);
    return queue ? static_cast<int>(kExitOk)
                 : report(console, "consume from '" + queue_ + "'", queue.error());
  }

  // Now and then while nothing comes: is the queue's node there at all?
  void look_while_idle(client::Connection& connection) {
    const auto now = steady_clock::now();
    if (looking_ && looking_->wait_for(std::chrono::seconds(0)) == std::future_status::ready) {
      if (const auto status = looking_->get()) notes_.on_queue(*status, now);
      looking_.reset();
    }
    if (looking_ || now - looked_ < std::chrono::seconds(1)) return;
    looked_ = now;
    looking_ = connection.admin().queue_status_async(queue_);
  }

  int take(Console& console, client::Connection& connection, client::Consumer& consumer,
           SettlePlan& plan) {
    auto last_message = steady_clock::now();
    while (!plan.complete()) {
      if (console.stop_requested()) {
        return count_ ? static_cast<int>(kExitInterrupted) : static_cast<int>(kExitOk);
      }
      auto batch = consumer.next_batch(plan.want(), std::chrono::milliseconds(200));
      if (batch) {
        last_message = steady_clock::now();
        if (!write(console, *batch)) return output_failed(console);
        settle(*batch, plan);
        continue;
      }
      if (batch.error().code != client::ErrorCode::kTimeout) {
        return report(console, "consume from '" + queue_ + "'", batch.error());
      }
      look_while_idle(connection);
      if (until_empty_ && is_drained(connection, consumer, queue_)) return ended(console, plan);
      if (idle_given_ && steady_clock::now() - last_message >= idle_) return ended(console, plan);
    }
    return kExitOk;
  }

  bool write(Console& console, const client::Deliveries& batch) {
    const OutputForm form = ndjson_ ? OutputForm::kNdjson
                            : raw_  ? OutputForm::kRaw
                                    : OutputForm::kLines;
    for (const client::Delivery delivery : batch) {
      if (!console.write(message_text(form, queue_, delivery))) return false;
    }
    return console.flush();
  }

  void settle(const client::Deliveries& batch, SettlePlan& plan) {
    const std::size_t now = plan.take(batch.size());
    if (no_ack_ && !count_) return;
    if (now == batch.size()) {
      acks_.push_back({batch.size(), batch.ack_confirmed()});
    } else {
      for (std::size_t i = 0; i < batch.size(); ++i) {
        if (i < now) {
          acks_.push_back({1, batch[i].ack_confirmed()});
        } else {
          held_.push_back(batch[i]);
        }
      }
    }
    // Those that are answered need no place any more.
    while (!acks_.empty() &&
           acks_.front().second.wait_for(std::chrono::seconds(0)) == std::future_status::ready) {
      look_at_first_ack();
    }
  }

  void look_at_first_ack() {
    const client::Status settled = acks_.front().second.get();
    // Without a count the command goes on when its session breaks: what was not settled comes
    // again.
    const bool broken = !settled && settled.error().code == client::ErrorCode::kDisconnected;
    if (!settled && (count_ || !broken)) {
      unsettled_ += acks_.front().first;
      if (!first_problem_) first_problem_ = settled.error();
    }
    acks_.pop_front();
  }

  // Every message that was taken is durably settled, or the command fails: they come again. With a
  // count that is so for those of a session that broke, too.
  int settle_held(Console& console, int code) {
    for (const client::Delivery& delivery : held_) acks_.push_back({1, delivery.ack_confirmed()});
    while (!acks_.empty()) look_at_first_ack();
    if (!first_problem_ || code != kExitOk) return code;
    return report(console,
                  "settle " + grouped(unsettled_) + " of the messages taken from '" + queue_ +
                      "', which come again",
                  *first_problem_);
  }

  int ended(Console& console, const SettlePlan& plan) const {
    if (!count_) return kExitOk;
    console.note("segue: " + grouped(plan.taken()) + " of " + counted(*count_, "message") +
                 " came from '" + printable(queue_) + "'");
    return kExitNothing;
  }

  std::string queue_;
  std::optional<std::uint64_t> count_;
  std::uint64_t prefetch_ = 5000;
  std::chrono::milliseconds idle_{0};
  bool idle_given_ = false;
  bool until_empty_ = false;
  bool follow_ = false;
  bool ack_ = false;
  bool no_ack_ = false;
  bool exclusive_ = false;
  std::int32_t priority_ = 0;
  std::chrono::milliseconds consumer_timeout_{0};
  client::Table arguments_;
  bool raw_ = false;
  bool ndjson_ = false;
  std::vector<client::Delivery> held_;
  std::deque<std::pair<std::size_t, std::future<client::Status>>> acks_;
  std::uint64_t unsettled_ = 0;
  std::optional<client::Error> first_problem_;
  std::optional<std::future<client::Result<client::QueueDescription>>> looking_;
  steady_clock::time_point looked_{};
};

}  // namespace

CommandEntry consume_command() {
  return {"consume", "write a queue's messages to the standard output", kDescription,
          [] { return std::make_unique<ConsumeCommand>(); }};
}

}  // namespace segue::cli
