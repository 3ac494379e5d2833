#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "client/delivered_frame.h"
#include "client/io_mailbox.h"
#include "client/settle_collector.h"
#include "common/clock.h"
#include "segue/consumer.h"

namespace segue::client {

/// What the I/O thread does for consumers when another thread asks; called on the I/O thread.
class ConsumerOwner {
 public:
  virtual ~ConsumerOwner() = default;
  virtual void settle_confirmed(std::uint64_t consumer, std::uint64_t session, SettledRange range,
                                std::shared_ptr<std::promise<Status>> done) = 0;
};

/// One consumer's deliveries between the I/O thread, which brings them and sends settlements, and
/// the application, which takes and settles them. Lives as long as a Consumer or a Delivery needs
/// it. One lock, never held while a handler runs.
class ConsumerCore : public std::enable_shared_from_this<ConsumerCore> {
 public:
  /// `handler` may be empty: pull style.
  ConsumerCore(std::uint64_t number, std::string queue, ConsumerOptions options,
               Consumer::Handler handler, std::shared_ptr<IoMailbox> mailbox, ConsumerOwner* owner);

  std::uint64_t number() const { return number_; }
  const std::string& queue() const { return queue_; }
  const ConsumerOptions& options() const { return options_; }
  IoMailbox& mailbox() const { return *mailbox_; }

  // ---- application threads

  /// Up to `max` messages of one frame.
  Result<Deliveries> next_batch(std::size_t max, std::chrono::milliseconds timeout);
  void settle(std::uint64_t session, const SettledRange& range);
  std::future<Status> settle_confirmed(std::uint64_t session, const SettledRange& range);
  /// Starts the thread that runs the handler, if there is one.
  void start_handler();
  bool has_handler() const { return handler_ != nullptr; }
  /// No message is handed out any more; whoever waits hears CLOSED.
  void stop_handing_out();
  /// Waits for the handler's thread, unless this is it.
  void join_handler();
  /// Puts back what had arrived and was not handed out.
  void requeue_buffered();
  std::optional<Error> cancelled() const;
  std::size_t buffered() const;

  // ---- I/O thread

  /// A new session: what came in the former one is void. 0: no session.
  void begin_session(std::uint64_t session);
  /// FRAME_ERROR if tags are not in order.
  segue::Status deliver(DeliveredFramePtr frame);
  void cancel(const Error& reason);
  /// The connection is gone.
  void close(const Error& reason);

  struct Outgoing {
    std::vector<SettledRange> settled;
    /// Not 0: everything up to this tag has arrived.
    std::uint64_t received = 0;
  };
  /// What is to be sent for `session` now. If nothing yet, when: none means never.
  std::optional<TimePoint> take_outgoing(std::uint64_t session, TimePoint now, bool all,
                                         Outgoing& out);

 private:
  struct Arrived {
    DeliveredFramePtr frame;
    std::uint32_t next = 0;  // the first message not handed out
  };

  Deliveries pop(std::size_t max);
  void note_taken();
  void mark_dirty(std::unique_lock<std::mutex>& lock, bool urgent);
  void run_handler();

  const std::uint64_t number_;
  const std::string queue_;
  const ConsumerOptions options_;
  const Consumer::Handler handler_;
  const std::shared_ptr<IoMailbox> mailbox_;
  ConsumerOwner* const owner_;  // only used in commands, which run while it lives
  const std::uint64_t urgent_tags_;

  mutable std::mutex mutex_;
  std::condition_variable arrived_;
  std::deque<Arrived> buffer_;
  std::size_t buffered_messages_ = 0;
  std::uint64_t buffered_bytes_ = 0;
  std::uint64_t session_ = 0;
  std::uint64_t last_tag_ = 0;      // arrived
  std::uint64_t received_due_ = 0;  // to be told
  std::uint64_t received_told_ = 0;
  std::uint64_t untold_bytes_ = 0;
  SettleCollector settled_;
  bool dirty_ = false;  // in the mailbox, or the I/O thread has it on its list
  bool urgent_ = false;
  std::optional<TimePoint> dirty_since_;  // set by the I/O thread when it first sees it
  bool stopped_ = false;
  std::optional<Error> ended_;  // cancelled by the broker, or the connection is gone
  bool cancelled_ = false;

  std::thread thread_;
};

}  // namespace segue::client
