#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "client/consumer_core.h"
#include "client/link_writer.h"
#include "client/request_table.h"

namespace segue::client {

/// The I/O thread's side of consuming: subscribes, again in every session, hands deliveries to
/// their consumers and sends what these settled. No I/O of its own, one thread.
class ConsumerSet final : public ConsumerOwner {
 public:
  using Done = std::shared_ptr<std::promise<Status>>;

  ConsumerSet(RequestTable& requests, std::shared_ptr<IoMailbox> mailbox, Duration request_timeout);

  /// The message in the answer to a Get, if there was one.
  Result<std::optional<Delivery>> polled(const v1::GetOk& answer, const SharedBytes& bodies,
                                         bool no_ack);

  /// `done` hears the broker's answer; after an error the consumer is forgotten.
  void subscribe(std::shared_ptr<ConsumerCore> consumer, TimePoint now, Done done);
  /// Ends the subscription; `done` when no delivery comes any more.
  void cancel(const std::shared_ptr<ConsumerCore>& consumer, TimePoint now, Done done);
  void set_prefetch(std::uint64_t consumer, std::uint32_t messages, std::uint64_t bytes,
                    TimePoint deadline, Done done);
  void settle_confirmed(std::uint64_t consumer, std::uint64_t session, SettledRange range,
                        Done done) override;
  /// Sends all settlements that wait; `done` when they are durable at the broker, or the session is
  /// over.
  void flush(Done done);

  void begin_session(std::uint64_t session, TimePoint now);
  void end_session(const Error& why);
  /// FRAME_ERROR if the frame is broken.
  segue::Status on_deliver(IncomingDeliver deliver, SharedBytes bodies);
  void on_settle_ok(const v1::SettleOk& answer);
  void on_cancelled(const v1::ConsumerCancelled& cancelled);

  /// Sends settlements and renews subscriptions that are due; `writer` is null without a session.
  /// To be called before the requests of the turn are sent: they shall find settled what was
  /// settled before they were made, so that it goes out at once when there are any.
  void turn(TimePoint now, LinkWriter* writer);
  std::optional<TimePoint> deadline() const { return deadline_; }
  /// The connection is closed.
  void close(const Error& why);

 private:
  using Settled = std::function<void(const Status&)>;
  struct Subscription {
    std::shared_ptr<ConsumerCore> core;
    Done first_answer;   // until the first answer came
    TimePoint deadline;  // of the first answer
    std::uint32_t prefetch = 0;
    std::uint64_t prefetch_bytes = 0;
    bool renew = false;  // by a timer: no request is on its way
    bool cancelling = false;
  };
  using Subscriptions = std::map<std::uint64_t, Subscription>;

  void send_consume(Subscription& subscription, TimePoint now);
  void on_consume_answer(std::uint64_t number, const Result<v1::Reply>& answer);
  void give_up(Subscriptions::iterator at, const Error& error);
  void send_cancel(std::uint64_t number, TimePoint now, RequestTable::Done done);
  void set_timer(std::uint64_t number, TimePoint at) { timers_.emplace(at, number); }
  void run_timers(TimePoint now);
  void note_deadline(TimePoint at);
  void send_settlements(TimePoint now, LinkWriter* writer);
  void send_settle(std::uint64_t consumer, const std::vector<SettledRange>& ranges, Settled settled,
                   LinkWriter& writer);

  RequestTable& requests_;
  const std::shared_ptr<IoMailbox> mailbox_;
  const Duration request_timeout_;
  const std::shared_ptr<ConsumerCore> polled_;
  std::uint64_t session_ = 0;
  TimePoint now_{};
  Subscriptions subscriptions_;
  std::multimap<TimePoint, std::uint64_t> timers_;
  std::vector<std::shared_ptr<ConsumerCore>> dirty_;
  struct ConfirmedSettle {
    std::uint64_t consumer;
    SettledRange range;
    Settled settled;
  };
  std::deque<ConfirmedSettle> unsent_;  // settlements that want an answer
  std::uint64_t last_confirm_id_ = 0;
  std::map<std::uint64_t, Settled> unanswered_;
  Done flush_;
  std::optional<TimePoint> deadline_;
};

}  // namespace segue::client
