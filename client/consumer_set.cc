#include "client/consumer_set.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "client/convert.h"

namespace segue::client {

namespace {

// A subscription that failed for a reason that passes is tried again after this.
constexpr Duration kRenewPause = std::chrono::milliseconds(200);

// Settlements that want an answer and are on their way. Each is answered by itself, and a router
// takes a client for one that does not read when thousands of answers wait.
constexpr std::size_t kMostUnanswered = 1000;

bool passes(ErrorCode code) {
  return code == ErrorCode::kShardUnavailable || code == ErrorCode::kCatalogUnavailable ||
         code == ErrorCode::kShardBlocked || code == ErrorCode::kTimeout;
}

void add_range(v1::Settle* settle, const SettledRange& range) {
  v1::SettledTags* tags = settle->add_settled();
  tags->mutable_tags()->set_first(range.first);
  tags->mutable_tags()->set_last(range.last);
  tags->set_outcome(range.outcome);
  tags->set_delay_ms(range.delay_ms);
}

}  // namespace

ConsumerSet::ConsumerSet(RequestTable& requests, std::shared_ptr<IoMailbox> mailbox,
                         Duration request_timeout)
    : requests_(requests),
      mailbox_(std::move(mailbox)),
      request_timeout_(request_timeout),
      polled_(std::make_shared<ConsumerCore>(0, "", ConsumerOptions{}, nullptr, mailbox_, this)) {}

// ---- subscribing

void ConsumerSet::subscribe(std::shared_ptr<ConsumerCore> consumer, TimePoint now, Done done) {
  const std::uint64_t number = consumer->number();
  Subscription subscription;
  subscription.prefetch = consumer->options().prefetch;
  subscription.prefetch_bytes = consumer->options().prefetch_bytes;
  subscription.core = std::move(consumer);
  subscription.first_answer = std::move(done);
  subscription.deadline = now + request_timeout_;
  Subscription& stored = subscriptions_[number] = std::move(subscription);
  if (session_ != 0) {
    stored.core->begin_session(session_);
    send_consume(stored, now);
  } else {
    set_timer(number, stored.deadline);
  }
}

void ConsumerSet::send_consume(Subscription& subscription, TimePoint now) {
  const ConsumerCore& core = *subscription.core;
  subscription.renew = false;
  v1::Request request;
  v1::Consume* consume = request.mutable_consume();
  consume->set_queue(core.queue());
  consume->set_consumer(core.number());
  consume->set_prefetch_count(subscription.prefetch);
  consume->set_prefetch_bytes(subscription.prefetch_bytes);
  consume->set_no_ack(core.options().no_ack);
  consume->set_priority(core.options().priority);
  consume->set_exclusive(core.options().exclusive);
  to_wire(core.options().arguments, consume->mutable_arguments());
  const TimePoint deadline =
      subscription.first_answer ? subscription.deadline : now + request_timeout_;
  // Every session subscribes anew by itself: one that waits unsent when the session breaks would be
  // a second one in the next.
  requests_.submit(
      {std::move(request), false, deadline,
       [this, number = core.number()](const Result<v1::Reply>& answer, const SharedBytes&) {
         on_consume_answer(number, answer);
       },
       true});
}

void ConsumerSet::on_consume_answer(std::uint64_t number, const Result<v1::Reply>& answer) {
  const auto at = subscriptions_.find(number);
  if (at == subscriptions_.end()) return;
  Subscription& subscription = at->second;
  if (answer) {
    if (subscription.first_answer) subscription.first_answer->set_value({});
    subscription.first_answer.reset();
    return;
  }
  const Error& error = answer.error();
  if (error.code == ErrorCode::kDisconnected) {
    // The next session subscribes. Until then only the first answer can be late.
    if (subscription.first_answer) set_timer(number, subscription.deadline);
  } else if (subscription.first_answer || !passes(error.code)) {
    // After a timeout it may still come to be: take it back.
    if (error.code == ErrorCode::kTimeout && session_ != 0) send_cancel(number, now_, nullptr);
    give_up(at, error);
  } else {
    subscription.renew = true;
    set_timer(number, now_ + kRenewPause);
  }
}

void ConsumerSet::give_up(Subscriptions::iterator at, const Error& error) {
  const Subscription subscription = std::move(at->second);
  subscriptions_.erase(at);
  if (subscription.first_answer) {
    subscription.first_answer->set_value(error);
  } else {
    subscription.core->cancel(error);
  }
}

void ConsumerSet::run_timers(TimePoint now) {
  while (!timers_.empty() && timers_.begin()->first <= now) {
    const auto at = subscriptions_.find(timers_.begin()->second);
    timers_.erase(timers_.begin());
    if (at == subscriptions_.end()) continue;
    Subscription& subscription = at->second;
    if (subscription.renew && session_ != 0) {
      send_consume(subscription, now);
    } else if (subscription.first_answer && session_ == 0 && subscription.deadline <= now) {
      give_up(at,
              Error{ErrorCode::kTimeout, subscription.core->queue(), "no router answered in time"});
    }
  }
  if (!timers_.empty()) note_deadline(timers_.begin()->first);
}

void ConsumerSet::send_cancel(std::uint64_t number, TimePoint now, RequestTable::Done done) {
  v1::Request request;
  request.mutable_cancel()->set_consumer(number);
  if (!done) done = [](const Result<v1::Reply>&, const SharedBytes&) {};
  requests_.submit({std::move(request), false, now + request_timeout_, std::move(done)});
}

void ConsumerSet::cancel(const std::shared_ptr<ConsumerCore>& consumer, TimePoint now, Done done) {
  const auto at = subscriptions_.find(consumer->number());
  if (at == subscriptions_.end() || session_ == 0) {
    if (at != subscriptions_.end()) subscriptions_.erase(at);
    done->set_value({});
    return;
  }
  at->second.cancelling = true;  // a session that begins meanwhile must not subscribe again
  send_cancel(consumer->number(), now,
              [this, consumer, done](const Result<v1::Reply>&, const SharedBytes&) {
                // Deliveries that were on their way came before the answer.
                subscriptions_.erase(consumer->number());
                done->set_value({});
              });
}

void ConsumerSet::set_prefetch(std::uint64_t consumer, std::uint32_t messages, std::uint64_t bytes,
                               TimePoint deadline, Done done) {
  const auto at = subscriptions_.find(consumer);
  if (at == subscriptions_.end()) {
    done->set_value(Error{ErrorCode::kClosed, {}, "the consumer has ended"});
    return;
  }
  at->second.prefetch = messages;
  at->second.prefetch_bytes = bytes;
  v1::Request request;
  v1::Qos* qos = request.mutable_qos();
  qos->set_consumer(consumer);
  qos->set_prefetch_count(messages);
  qos->set_prefetch_bytes(bytes);
  requests_.submit({std::move(request), false, deadline,
                    [done](const Result<v1::Reply>& answer, const SharedBytes&) {
                      if (answer) {
                        done->set_value({});
                      } else {
                        done->set_value(answer.error());
                      }
                    }});
}

// ---- sessions

void ConsumerSet::begin_session(std::uint64_t session, TimePoint now) {
  now_ = now;
  session_ = session;
  polled_->begin_session(session);
  for (auto& [number, subscription] : subscriptions_) {
    subscription.core->begin_session(session);
    if (!subscription.cancelling) send_consume(subscription, now);
  }
}

void ConsumerSet::end_session(const Error& why) {
  session_ = 0;
  const Error lost{
      ErrorCode::kDisconnected, why.entity,
      "the session broke before the answer came; the messages may come again: " + why.text};
  auto unanswered = std::move(unanswered_);
  unanswered_.clear();
  for (const auto& [id, settled] : unanswered) settled(lost);
  auto unsent = std::move(unsent_);
  unsent_.clear();
  for (const ConfirmedSettle& settle : unsent) settle.settled(lost);
  if (const Done done = std::exchange(flush_, nullptr)) done->set_value(lost);
}

void ConsumerSet::close(const Error& why) {
  end_session(why);
  auto subscriptions = std::move(subscriptions_);
  subscriptions_.clear();
  for (auto& [number, subscription] : subscriptions) {
    if (subscription.first_answer) subscription.first_answer->set_value(why);
    subscription.core->close(why);
  }
  polled_->close(why);
  dirty_.clear();
}

// ---- deliveries

segue::Status ConsumerSet::on_deliver(IncomingDeliver deliver, SharedBytes bodies) {
  const auto at = subscriptions_.find(deliver.consumer);
  // On its way while the subscription was given up; it goes back when the session ends.
  if (at == subscriptions_.end()) return segue::Status::ok();
  const std::shared_ptr<ConsumerCore>& core = at->second.core;
  segue::Result<DeliveredFramePtr> frame =
      DeliveredFrame::make(core, session_, std::move(deliver), std::move(bodies));
  if (!frame.is_ok()) return frame.status();
  return core->deliver(*std::move(frame));
}

Result<std::optional<Delivery>> ConsumerSet::polled(const v1::GetOk& answer,
                                                    const SharedBytes& bodies, bool no_ack) {
  if (!answer.found()) return std::optional<Delivery>();
  std::shared_ptr<ConsumerCore> core = polled_;
  if (no_ack || answer.consumer() != core->number()) {
    ConsumerOptions options;
    options.no_ack = no_ack;
    core = std::make_shared<ConsumerCore>(answer.consumer(), "", options, nullptr, mailbox_, this);
    core->begin_session(session_);
  }
  IncomingDeliver deliver;
  // There is nothing to settle with no_ack, and no tag.
  deliver.first_tag = no_ack ? 1 : answer.tag();
  deliver.messages = SharedBytes::from(answer.batch().messages().SerializeAsString());
  deliver.redelivered.assign(answer.batch().redelivered().begin(),
                             answer.batch().redelivered().end());
  deliver.delivery_count.assign(answer.batch().delivery_count().begin(),
                                answer.batch().delivery_count().end());
  const segue::Result<DeliveredFramePtr> frame =
      DeliveredFrame::make(std::move(core), session_, std::move(deliver), bodies);
  if (!frame.is_ok()) return from_status(frame.status());
  return std::optional<Delivery>((*frame)->view(0, 1)[0]);
}

void ConsumerSet::on_cancelled(const v1::ConsumerCancelled& cancelled) {
  const auto at = subscriptions_.find(cancelled.consumer());
  if (at == subscriptions_.end()) return;
  const std::shared_ptr<ConsumerCore> core = std::move(at->second.core);
  const Done first_answer = std::move(at->second.first_answer);
  subscriptions_.erase(at);
  const Error reason = from_wire(cancelled.reason());
  if (first_answer) first_answer->set_value(reason);
  core->cancel(reason);
}

// ---- settling

void ConsumerSet::settle_confirmed(std::uint64_t consumer, std::uint64_t session,
                                   SettledRange range, Done done) {
  if (session != session_ || session_ == 0) {
    done->set_value(Error{ErrorCode::kDisconnected,
                          {},
                          "the session that the message came in is over; it comes again"});
    return;
  }
  unsent_.push_back({consumer, range, [done](const Status& status) { done->set_value(status); }});
}

void ConsumerSet::flush(Done done) {
  if (session_ == 0) {
    done->set_value({});
  } else {
    flush_ = std::move(done);
  }
}

void ConsumerSet::on_settle_ok(const v1::SettleOk& answer) {
  const auto at = unanswered_.find(answer.confirm_id());
  if (at == unanswered_.end()) return;
  const Settled settled = std::move(at->second);
  unanswered_.erase(at);
  settled(answer.has_error() ? Status(from_wire(answer.error())) : Status());
}

void ConsumerSet::turn(TimePoint now, LinkWriter* writer) {
  now_ = now;
  deadline_.reset();
  run_timers(now);
  send_settlements(now, writer);
  if (writer == nullptr) return;
  while (!unsent_.empty() && unanswered_.size() < kMostUnanswered) {
    ConfirmedSettle& settle = unsent_.front();
    send_settle(settle.consumer, {settle.range}, std::move(settle.settled), *writer);
    unsent_.pop_front();
  }
}

void ConsumerSet::send_settlements(TimePoint now, LinkWriter* writer) {
  auto added = mailbox_->take_dirty();
  dirty_.insert(dirty_.end(), std::make_move_iterator(added.begin()),
                std::make_move_iterator(added.end()));
  // Ends when the last of its settlements is answered: each keeps a reference. Behind those that
  // still wait for answers to others.
  std::shared_ptr<void> flushing;
  const bool may_flush = writer != nullptr && unsent_.empty();
  if (const Done done = may_flush ? std::exchange(flush_, nullptr) : nullptr) {
    flushing = std::shared_ptr<void>(nullptr, [done](void*) { done->set_value({}); });
  }
  const bool all = flushing != nullptr || requests_.has_waiting();
  std::erase_if(dirty_, [&](const std::shared_ptr<ConsumerCore>& core) {
    ConsumerCore::Outgoing out;
    const std::optional<TimePoint> later =
        core->take_outgoing(writer == nullptr ? 0 : session_, now, all, out);
    if (later) note_deadline(*later);
    if (writer == nullptr) return true;
    if (!out.settled.empty()) {
      Settled settled;
      if (flushing) settled = [flushing](const Status&) {};
      send_settle(core->number(), out.settled, std::move(settled), *writer);
    }
    if (out.received != 0) {
      v1::ClientFrame frame;
      frame.mutable_received()->set_consumer(core->number());
      frame.mutable_received()->set_tag(out.received);
      writer->send(frame);
    }
    return !later;
  });
}

void ConsumerSet::send_settle(std::uint64_t consumer, const std::vector<SettledRange>& ranges,
                              Settled settled, LinkWriter& writer) {
  v1::ClientFrame frame;
  v1::Settle* settle = frame.mutable_settle();
  settle->set_consumer(consumer);
  for (const SettledRange& range : ranges) add_range(settle, range);
  if (settled) {
    settle->set_confirm_id(++last_confirm_id_);
    unanswered_.emplace(last_confirm_id_, std::move(settled));
  }
  writer.send(frame);
}

void ConsumerSet::note_deadline(TimePoint at) {
  deadline_ = deadline_ ? std::min(*deadline_, at) : at;
}

}  // namespace segue::client
