#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/console.h"
#include "cli/message_filter.h"
#include "cli/redrive.h"
#include "segue/client.h"

namespace segue::cli {

/// Publishes a queue's messages somewhere else and, unless it copies, takes them out of the queue:
/// each is acknowledged after its publish was confirmed, so none is lost, and one may be there
/// twice when something breaks in between. What the filter leaves, and what no queue takes, is held
/// until the queue's content has been looked at once, and then released to its place. Used by one
/// thread.
class MessageMover {
 public:
  struct Options {
    std::string source;
    RedrivePlan plan;
    MessageFilter filter;
    bool copy = false;
    /// Only look what would be done.
    bool dry_run = false;
    std::uint64_t max = UINT64_MAX;
    /// Messages in a second at most; 0: as fast as it goes.
    std::uint64_t rate = 0;
  };
  struct Counts {
    std::uint64_t looked_at = 0;
    std::uint64_t matched = 0;
    std::uint64_t moved = 0;
    /// They stay where they were: no queue took them; refused; they do not say where they came
    /// from.
    std::uint64_t unroutable = 0;
    std::uint64_t refused = 0;
    std::uint64_t without_origin = 0;
    /// They were published, and may be in the source still: its acknowledgement was not answered.
    std::uint64_t unsure = 0;
    /// They came again because the session broke, and may be at their destination twice.
    std::uint64_t repeated = 0;
    /// Damaged on the node's disk; only copying sees them.
    std::uint64_t unreadable = 0;
    /// The first refusal.
    std::string reason;
    /// How many went, or would go, to each destination.
    std::map<std::string, std::uint64_t> destinations;

    std::uint64_t left() const { return unroutable + refused + without_origin; }
    bool all_moved() const { return left() == 0 && unsure == 0 && unreadable == 0; }
  };

  /// All outlive it.
  MessageMover(Console& console, client::Connection& connection, const Options& options);
  ~MessageMover();
  MessageMover(const MessageMover&) = delete;
  MessageMover& operator=(const MessageMover&) = delete;

  /// OK also when it was interrupted (Console::stop_requested), and when messages were left.
  client::Status run();
  const Counts& counts() const { return counts_; }
  /// Messages of the queue whose time to be delivered had not come when it began.
  std::uint64_t delayed() const { return delayed_; }

 private:
  enum class Fate : std::uint8_t { kOpen, kMoved, kLeft };
  /// Messages that came together, until all of them are settled. Without deliveries: of a copy.
  struct Batch {
    client::Deliveries deliveries;
    std::vector<Fate> fates;
    std::size_t open = 0;
  };
  struct Outcome {
    std::shared_ptr<Batch> batch;
    std::size_t index = 0;
    std::string destination;
    client::Result<client::Confirmation> result;
  };
  /// What handlers on the connection's thread write.
  struct Mailbox {
    std::mutex mutex;
    std::condition_variable some;
    std::vector<Outcome> outcomes;
  };

  client::Status move();
  client::Status copy();
  client::Status wait_for_next(client::Consumer& consumer, bool& drained);
  void take(const client::Deliveries& deliveries, client::Consumer& consumer);
  void send(const std::shared_ptr<Batch>& batch, std::size_t index,
            const client::MessageHeader& header, std::string_view body);
  client::Status publish(const client::Message& message, const std::shared_ptr<Batch>& batch,
                         std::size_t index, const std::string& destination);
  void settle_outcomes(std::chrono::milliseconds wait);
  void note_outcome(const Outcome& outcome);
  void finish(const Batch& batch);
  void take_acks(bool all);
  bool matches_more() const { return counts_.matched < options_.max; }
  std::uint64_t allowed_now();
  void show();

  Console& console_;
  client::Connection& connection_;
  const Options& options_;
  Counts counts_;
  std::uint64_t delayed_ = 0;
  std::uint64_t limit_ = 0;   // messages that were there at the beginning
  std::uint64_t looked_ = 0;  // in this session, and what was moved before it
  std::uint64_t last_tag_ = 0;
  std::uint64_t prefetch_ = 0;
  std::uint64_t in_flight_ = 0;
  std::chrono::steady_clock::time_point began_;
  std::shared_ptr<Mailbox> mailbox_ = std::make_shared<Mailbox>();
  client::HeldDeliveries held_;
  std::deque<std::pair<std::uint64_t, std::future<client::Status>>> acks_;
  std::optional<client::Error> failure_;
};

}  // namespace segue::cli
