#include <unistd.h>

#include <algorithm>
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
#include "cli/message_filter.h"
#include "cli/session.h"
#include "cli/table_output.h"
#include "client/convert.h"
#include "common/clock.h"
#include "common/export_stream.h"
#include "common/random.h"

namespace segue::cli {

namespace {

constexpr const char* kDescription =
    "Writes a queue's messages to the standard output, as a stream that `segue import` reads: "
    "bodies,\n"
    "properties and headers, exchange and routing key, in order, with checksums and, at its end, "
    "their\n"
    "number. docs/export-format.md draws it.\n"
    "\n"
    "The queue stays as it is: nothing is delivered, acknowledged or marked, and consumers go on. "
    "The\n"
    "stream has the messages that were in the queue when the command began, less what is "
    "acknowledged\n"
    "before its turn comes; also those that consumers hold unacknowledged, so one that is "
    "acknowledged\n"
    "later is there twice if the stream is imported. What is published meanwhile is left out, but "
    "for\n"
    "as many messages as were acknowledged. Delayed messages are not in it, and are told of; what "
    "was\n"
    "delayed and is there now will not be delayed again when it is imported.\n"
    "\n"
    "With --remove messages are taken from the queue: as many as were ready when the command "
    "began\n"
    "(what other consumers hold is left). Each is acknowledged only after it was written and "
    "flushed,\n"
    "to the disk if the output is a file, so none is lost if the command dies: those that were "
    "not\n"
    "acknowledged by then stay in the queue, and the file, although it lacks its end, has all "
    "others.\n"
    "\n"
    "A stream without its end (the command failed or was interrupted) is one that `segue import` "
    "says\n"
    "is cut short. Memory is bounded, however long the queue is.\n"
    "\n"
    "Exit codes beside the usual ones: 1 also when messages are damaged on the node's disk; they "
    "are left out and "
    "counted\n"
    "(with --remove, together with those that others took meanwhile).\n"
    "\n"
    "With --filter only the messages like that are in the stream, of those that were there at the "
    "beginning.\n"
    "\n"
    "Examples:\n"
    "  segue export orders > orders.segue\n"
    "  segue export orders --remove > orders.segue\n"
    "  segue export orders | segue import --router other-cluster:5680\n";

constexpr std::uint64_t kBlockBytes = 1 << 20;
constexpr std::uint32_t kPrefetch = 5000;
constexpr std::uint64_t kPrefetchBytes = 8 << 20;
constexpr std::chrono::milliseconds kSlice{200};

class ExportCommand final : public SessionCommand {
 public:
  Status check(const OptionTable& /*options*/) override {
    if (remove_ && !filters_.empty()) {
      return Status(Code::kInvalidConfig, "--remove and --filter exclude each other");
    }
    for (const std::string& expression : filters_) {
      SEGUE_RETURN_IF_ERROR(filter_.add(expression));
    }
    return Status::ok();
  }

 protected:
  void declare_own(OptionTable& options) override {
    options.positional(queue_, {"QUEUE", "the queue's name", true, OptionTable::Names::kQueues});
    options.flag(remove_, {"remove", 0, "", "take the messages out of the queue"});
    options.number(count_, {"count", 'n', "N", "the first N messages at most"}, 0, UINT64_MAX);
    options.list(filters_, {"filter", 'f', "EXPR", "only messages like this; may be given again"});
  }
  std::string queue() const override { return queue_; }

  int run_with(Console& console, client::Connection& connection) override {
    if (console.output_is_terminal()) {
      console.note("segue: the stream is not for a terminal: segue export QUEUE > FILE");
      return kExitUsage;
    }
    const auto status = connection.admin().queue_status(queue_);
    if (!status) return report(console, "export '" + queue_ + "'", status.error());
    if (!status->available) {
      client::Error down;
      down.code = client::ErrorCode::kShardUnavailable;
      down.text = "its node does not answer";
      return report(console, "export '" + queue_ + "'", down);
    }
    const std::uint64_t there = status->ready + (remove_ ? 0 : status->unacked);
    limit_ = std::min(there, count_.value_or(UINT64_MAX));
    there_ = there;
    delayed_ = status->delayed;
    const SystemClock clock;
    SystemRandom random;
    if (!console.write(writer_.header({queue_, clock.wall_ms(), random.next_u64()}))) {
      return output_failed(console);
    }
    const int code = remove_ ? take(console, connection) : copy(console, connection);
    console.end_progress();
    if (remove_ && code == kExitOk) left_out_ = limit_ - taken_;
    if (code != kExitOk && code != kExitInterrupted) return code;
    // What was removed is worth a whole stream.
    if (code == kExitOk || remove_) {
      if (!console.write(writer_.end(left_out_)) || !console.sync()) return output_failed(console);
    }
    if (code == kExitOk) tell(console);
    return code == kExitOk && (left_out_ > 0 || unsure_ > 0) ? static_cast<int>(kExitRefused)
                                                             : code;
  }

 private:
  void tell(Console& console) const {
    const ExportTotals& totals = writer_.totals();
    console.note("segue: exported " + counted(totals.messages, "message") + " of '" +
                 printable(queue_) + "', " + human_bytes(totals.body_bytes));
    if (delayed_ > 0) {
      console.note("segue: not in it: " + counted(delayed_, "delayed message") +
                   ", whose time had not come (`segue browse --delayed` shows them)");
    }
    if (left_out_ > 0) {
      console.note("segue: left out: " + counted(left_out_, "message") +
                   (remove_ ? " that were there at the beginning: damaged on the node's disk "
                              "(`segue status` counts them as quarantined), or others took them"
                            : " that cannot be read, as they are damaged on the node's disk"));
    }
    if (unsure_ > 0) {
      console.note("segue: " + counted(unsure_, "message") +
                   " of the stream may be in the queue still, and twice in the stream, since the "
                   "connection broke before they were removed");
    }
  }

  bool add(const client::MessageHeader& header, std::string_view body) {
    const auto wire = client::serialize_header(header);
    if (!wire) return false;
    builder_.add(*wire, SharedBytes::from(std::string(body)));
    block_bytes_ += wire->size() + body.size();
    return true;
  }

  /// False: it cannot be written.
  bool write_block(Console& console) {
    if (builder_.empty()) return true;
    block_bytes_ = 0;
    return console.write(writer_.block(builder_.take()));
  }

  void show(Console& console) const {
    console.progress(grouped(writer_.totals().messages) + " of " + counted(limit_, "message") +
                     " exported");
  }

  // ---- the queue stays as it is

  int copy(Console& console, client::Connection& connection) {
    std::uint64_t after = 0;
    std::uint64_t written = 0;
    std::uint64_t looked_at = 0;
    bool more = true;
    while (more && written < limit_ && looked_at < there_) {
      if (console.stop_requested()) return kExitInterrupted;
      auto page = connection.admin().browse(queue_, after, kBlockBytes);
      if (!page) {
        console.end_progress();
        return report(console, "export '" + queue_ + "'", page.error());
      }
      for (const client::Message& message : page->messages) {
        if (written == limit_ || looked_at++ == there_) break;
        if (!filter_.matches(message.header)) continue;
        if (add(message.header, message.body)) {
          ++written;
        } else {
          ++left_out_;
        }
      }
      if (!write_block(console)) return output_failed(console);
      left_out_ += page->corrupt;
      more = page->more && page->through > after;
      after = page->through;
      show(console);
    }
    return kExitOk;
  }

  // ---- the queue is emptied

  int take(Console& console, client::Connection& connection) {
    if (limit_ == 0) return kExitOk;
    client::ConsumerOptions options;
    options.prefetch = static_cast<std::uint32_t>(std::min<std::uint64_t>(kPrefetch, limit_));
    options.prefetch_bytes = kPrefetchBytes;
    auto consumer = connection.subscribe(queue_, options);
    if (!consumer) return report(console, "export '" + queue_ + "'", consumer.error());
    int code = take_all(console, connection, *consumer);
    // What was written and flushed is settled, and nothing else.
    settle_all();
    consumer->close();
    return code;
  }

  int take_all(Console& console, client::Connection& connection, client::Consumer& consumer) {
    while (taken_ < limit_) {
      if (console.stop_requested()) {
        return write_and_settle(console) ? static_cast<int>(kExitInterrupted)
                                         : output_failed(console);
      }
      auto batch = consumer.next_batch(limit_ - taken_, pending_.empty() ? kSlice : kNoWait);
      if (batch) {
        for (const client::Delivery delivery : *batch) {
          const client::MessageHeader header{std::string(delivery.exchange()),
                                             std::string(delivery.routing_key()), false,
                                             delivery.properties()};
          if (add(header, delivery.body())) continue;
          return report(console, "export '" + queue_ + "'",
                        {client::ErrorCode::kInternalError, {}, "a message cannot be read"});
        }
        taken_ += batch->size();
        pending_.push_back(*std::move(batch));
        if (block_bytes_ < kBlockBytes && taken_ < limit_) continue;
      } else if (batch.error().code != client::ErrorCode::kTimeout) {
        return report(console, "export '" + queue_ + "'", batch.error());
      } else if (pending_.empty()) {
        settle_all();
        if (is_drained(connection, consumer, queue_))
          return kExitOk;  // others may have taken the rest
        continue;
      }
      if (!write_and_settle(console)) return output_failed(console);
      show(console);
    }
    return kExitOk;
  }

  bool write_and_settle(Console& console) {
    if (!write_block(console) || !console.sync()) return false;
    for (const client::Deliveries& batch : pending_) {
      acks_.emplace_back(batch.size(), batch.ack_confirmed());
    }
    pending_.clear();
    while (!acks_.empty() &&
           acks_.front().second.wait_for(std::chrono::seconds(0)) == std::future_status::ready) {
      settle_first();
    }
    return true;
  }
  void settle_all() {
    while (!acks_.empty()) settle_first();
  }
  void settle_first() {
    if (!acks_.front().second.get()) unsure_ += acks_.front().first;
    acks_.pop_front();
  }

  static constexpr std::chrono::milliseconds kNoWait{0};

  std::string queue_;
  bool remove_ = false;
  std::optional<std::uint64_t> count_;
  std::vector<std::string> filters_;
  MessageFilter filter_;
  std::uint64_t there_ = 0;  // when it began
  std::uint64_t delayed_ = 0;
  std::uint64_t limit_ = 0;
  std::uint64_t taken_ = 0;  // out of the queue
  ExportWriter writer_;
  MessageBatchBuilder builder_;  // of the block that is not written
  std::uint64_t block_bytes_ = 0;
  std::vector<client::Deliveries> pending_;  // its messages, with --remove
  std::deque<std::pair<std::uint64_t, std::future<client::Status>>> acks_;
  std::uint64_t left_out_ = 0;
  std::uint64_t unsure_ = 0;
};

}  // namespace

CommandEntry export_command() {
  return {"export", "write a queue's messages, with all that belongs to them",
          std::string(kDescription) + "\n" + kFilterHelp,
          [] { return std::make_unique<ExportCommand>(); }};
}

}  // namespace segue::cli
