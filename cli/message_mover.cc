#include "cli/message_mover.h"

#include <algorithm>
#include <utility>

#include "cli/drained.h"
#include "cli/table_output.h"

namespace segue::cli {

namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr std::uint64_t kWindow = 2000;
constexpr std::uint64_t kPageBytes = 1 << 20;
constexpr milliseconds kSlice{100};

}  // namespace

MessageMover::MessageMover(Console& console, client::Connection& connection, const Options& options)
    : console_(console), connection_(connection), options_(options) {}

MessageMover::~MessageMover() = default;

client::Status MessageMover::run() {
  const auto status = connection_.admin().queue_status(options_.source);
  if (!status) return status.error();
  if (!status->available) {
    return client::Error{client::ErrorCode::kShardUnavailable, options_.source,
                         "its node " + status->node + " is down"};
  }
  began_ = steady_clock::now();
  limit_ = status->ready;
  delayed_ = status->delayed;
  if (options_.copy || options_.dry_run) {
    if (options_.copy) limit_ += status->unacked;
    return copy();
  }
  const auto single = status->arguments.find("x-single-active-consumer");
  if (single != status->arguments.end() && single->second == client::Value(true) &&
      status->consumers > 0) {
    return client::Error{client::ErrorCode::kPreconditionFailed, options_.source,
                         "it has a single active consumer, which would get the messages: stop it "
                         "first, or use --copy"};
  }
  return move();
}

// ---- the queue is emptied

client::Status MessageMover::move() {
  if (limit_ == 0) return {};
  client::ConsumerOptions wanted;
  prefetch_ = options_.rate > 0 ? std::min(kWindow, options_.rate) : kWindow;
  prefetch_ = std::min({prefetch_, limit_, std::max<std::uint64_t>(options_.max, 1)});
  wanted.prefetch = static_cast<std::uint32_t>(prefetch_);
  // What is held is not late, whatever the queue says.
  constexpr std::int64_t kTenYearsMs = 315'360'000'000;
  wanted.arguments["x-consumer-timeout"] = kTenYearsMs;
  auto consumer = connection_.subscribe(options_.source, wanted);
  if (!consumer) return consumer.error();
  client::Status status;
  bool drained = false;
  while (!console_.stop_requested() && looked_ < limit_ && matches_more() && !drained &&
         !failure_ && status) {
    status = wait_for_next(*consumer, drained);
  }
  // First nothing more comes; then what is on its way is waited for; then the rest goes back.
  consumer->close();
  while (in_flight_ > 0 && !console_.stop_again()) settle_outcomes(kSlice);
  take_acks(true);
  held_.release();
  if (!status) return status;
  if (failure_) return *failure_;
  return {};
}

client::Status MessageMover::wait_for_next(client::Consumer& consumer, bool& drained) {
  settle_outcomes(milliseconds(0));
  take_acks(false);
  show();
  const std::uint64_t allowed = allowed_now();
  if (in_flight_ >= kWindow || allowed == 0) {
    settle_outcomes(in_flight_ > 0 ? milliseconds(10) : milliseconds(0));
    if (allowed == 0) console_.wait_readable(-1, 10);
    return {};
  }
  const std::uint64_t want =
      std::min({allowed, limit_ - looked_, options_.max - counts_.matched, kWindow});
  auto batch = consumer.next_batch(static_cast<std::size_t>(want), kSlice);
  if (batch) {
    take(*batch, consumer);
    return {};
  }
  if (batch.error().code != client::ErrorCode::kTimeout) return batch.error();
  // Others may have taken the rest. What is not answered yet comes again if the session broke.
  if (in_flight_ > 0) return {};
  drained = is_drained(connection_, consumer, options_.source);
  return {};
}

void MessageMover::take(const client::Deliveries& deliveries, client::Consumer& consumer) {
  if (deliveries[0].tag() <= last_tag_) {
    // A new session: all that was not acknowledged comes again.
    take_acks(true);
    counts_.repeated += std::exchange(counts_.unsure, 0) + in_flight_;
    looked_ = counts_.moved - std::min(counts_.moved, counts_.repeated);
    counts_.matched = looked_;
    counts_.unroutable = counts_.refused = counts_.without_origin = 0;
  }
  last_tag_ = deliveries[deliveries.size() - 1].tag();
  auto batch = std::make_shared<Batch>();
  batch->deliveries = deliveries;
  batch->fates.resize(deliveries.size(), Fate::kOpen);
  batch->open = deliveries.size();
  for (std::size_t i = 0; i < deliveries.size(); ++i) {
    const client::Delivery delivery = deliveries[i];
    ++looked_;
    ++counts_.looked_at;
    if (!matches_more() || failure_ ||
        !options_.filter.matches(delivery.exchange(), delivery.routing_key(),
                                 delivery.properties())) {
      batch->fates[i] = Fate::kLeft;
      --batch->open;
      continue;
    }
    ++counts_.matched;
    send(batch, i,
         {std::string(delivery.exchange()), std::string(delivery.routing_key()), false,
          delivery.properties()},
         delivery.body());
  }
  if (batch->open == 0) finish(*batch);
  // What is held takes no room from what is to come.
  if (held_.size() + kWindow / 2 > prefetch_ && looked_ < limit_) {
    prefetch_ = std::min<std::uint64_t>(held_.size() * 2 + kWindow, UINT32_MAX);
    (void)consumer.set_prefetch(static_cast<std::uint32_t>(prefetch_));
  }
}

void MessageMover::send(const std::shared_ptr<Batch>& batch, std::size_t index,
                        const client::MessageHeader& header, std::string_view body) {
  auto to = redriven(options_.plan, header);
  if (!to) {
    ++counts_.without_origin;
    batch->fates[index] = Fate::kLeft;
    --batch->open;
    return;
  }
  const std::string destination = destination_name(*to);
  const client::Status sent =
      publish({*std::move(to), std::string(body)}, batch, index, destination);
  if (sent) return;
  batch->fates[index] = Fate::kLeft;
  --batch->open;
  if (sent.error().code == client::ErrorCode::kClosed) {
    --counts_.matched;  // interrupted
    return;
  }
  ++counts_.refused;
  if (counts_.reason.empty()) counts_.reason = sent.error().to_string();
}

client::Status MessageMover::publish(const client::Message& message,
                                     const std::shared_ptr<Batch>& batch, std::size_t index,
                                     const std::string& destination) {
  for (;;) {
    const auto seq = connection_.publisher().publish(
        message, [mailbox = mailbox_, batch, index, destination](const auto& result) {
          const std::lock_guard lock(mailbox->mutex);
          mailbox->outcomes.push_back({batch, index, destination, result});
          mailbox->some.notify_one();
        });
    if (seq) {
      ++in_flight_;
      return {};
    }
    if (seq.error().code != client::ErrorCode::kWindowFull) return seq.error();
    if (console_.stop_requested()) {
      return client::Error{client::ErrorCode::kClosed, {}, "interrupted"};
    }
    settle_outcomes(milliseconds(0));
  }
}

// ---- what became of it

void MessageMover::settle_outcomes(milliseconds wait) {
  std::vector<Outcome> outcomes;
  {
    std::unique_lock lock(mailbox_->mutex);
    if (wait.count() > 0) {
      mailbox_->some.wait_for(lock, wait, [&] { return !mailbox_->outcomes.empty(); });
    }
    outcomes.swap(mailbox_->outcomes);
  }
  for (const Outcome& outcome : outcomes) note_outcome(outcome);
  show();
}

void MessageMover::note_outcome(const Outcome& outcome) {
  --in_flight_;
  const bool moved = outcome.result && !outcome.result->unroutable;
  if (moved) {
    ++counts_.moved;
    ++counts_.destinations[outcome.destination];
  } else if (outcome.result) {
    ++counts_.unroutable;
  } else {
    ++counts_.refused;
    if (counts_.reason.empty()) counts_.reason = outcome.result.error().to_string();
  }
  outcome.batch->fates[outcome.index] = moved ? Fate::kMoved : Fate::kLeft;
  if (--outcome.batch->open == 0) finish(*outcome.batch);
}

void MessageMover::finish(const Batch& batch) {
  if (batch.deliveries.empty()) return;
  const auto moved =
      static_cast<std::uint64_t>(std::count(batch.fates.begin(), batch.fates.end(), Fate::kMoved));
  if (moved == batch.fates.size()) {
    acks_.emplace_back(moved, batch.deliveries.ack_confirmed());
    return;
  }
  for (std::size_t i = 0; i < batch.fates.size(); ++i) {
    const client::Delivery delivery = batch.deliveries[i];
    if (batch.fates[i] == Fate::kMoved) {
      acks_.emplace_back(1, delivery.ack_confirmed());
    } else {
      held_.add(delivery);
    }
  }
}

void MessageMover::take_acks(bool all) {
  while (!acks_.empty() && (all || acks_.front().second.wait_for(std::chrono::seconds(0)) ==
                                       std::future_status::ready)) {
    if (!acks_.front().second.get()) counts_.unsure += acks_.front().first;
    acks_.pop_front();
  }
}

// ---- the queue stays as it is

client::Status MessageMover::copy() {
  std::uint64_t after = 0;
  bool more = true;
  client::Status status;
  while (more && counts_.looked_at < limit_ && matches_more() && status &&
         !console_.stop_requested()) {
    const auto page = connection_.admin().browse(options_.source, after, kPageBytes);
    if (!page) {
      status = page.error();
      break;
    }
    auto batch = std::make_shared<Batch>();
    batch->fates.resize(page->messages.size(), Fate::kOpen);
    batch->open = page->messages.size() + 1;  // it is never finished: there is nothing to settle
    for (std::size_t i = 0; i < page->messages.size(); ++i) {
      const client::Message& message = page->messages[i];
      if (counts_.looked_at == limit_ || !matches_more() || console_.stop_requested()) break;
      ++counts_.looked_at;
      if (!options_.filter.matches(message.header)) continue;
      while (!options_.dry_run && (in_flight_ >= kWindow || allowed_now() == 0) &&
             !console_.stop_requested()) {
        settle_outcomes(milliseconds(in_flight_ > 0 ? 10 : 0));
        if (allowed_now() == 0) console_.wait_readable(-1, 10);
      }
      ++counts_.matched;
      if (!options_.dry_run) {
        send(batch, i, message.header, message.body);
      } else if (const auto to = redriven(options_.plan, message.header)) {
        ++counts_.moved;
        ++counts_.destinations[destination_name(*to)];
      } else {
        ++counts_.without_origin;
      }
    }
    counts_.unreadable += page->corrupt;
    more = page->more && page->through > after;
    after = page->through;
    show();
  }
  while (in_flight_ > 0 && !console_.stop_again()) settle_outcomes(kSlice);
  return status;
}

// Messages that may be sent now without exceeding the rate.
std::uint64_t MessageMover::allowed_now() {
  if (options_.rate == 0) return UINT64_MAX;
  const std::chrono::duration<double> passed = steady_clock::now() - began_;
  const auto due =
      static_cast<std::uint64_t>(passed.count() * static_cast<double>(options_.rate)) + 1;
  const std::uint64_t sent = counts_.moved + in_flight_;
  return due > sent ? due - sent : 0;
}

void MessageMover::show() {
  if (!console_.error_is_terminal()) return;
  console_.progress(grouped(counts_.moved) + (options_.copy ? " copied, " : " moved, ") +
                    grouped(counts_.looked_at) + " of " + counted(limit_, "message") +
                    " looked at");
}

}  // namespace segue::cli
