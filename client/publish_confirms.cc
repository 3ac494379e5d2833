// The other half of PublishWindow: what comes back, and who waits for it.

#include <algorithm>

#include "client/publish_window.h"
#include "common/counted.h"

namespace segue::client {

namespace {

bool contains(const std::vector<SeqRange>& ranges, std::uint64_t seq) {
  return std::any_of(ranges.begin(), ranges.end(), [&](const SeqRange& range) {
    return range.first <= seq && seq <= range.last;
  });
}

std::uint64_t count_of(const std::vector<SeqRange>& ranges) {
  std::uint64_t count = 0;
  for (const SeqRange& range : ranges) count += range.count();
  return count;
}

}  // namespace

void PublishWindow::settle(const Settlement& settlement) {
  std::vector<Callback> callbacks;
  std::shared_ptr<const std::function<void(const ConfirmEvent&)>> on_confirm;
  {
    const std::lock_guard lock(mutex_);
    const std::uint64_t confirmed = count_of(settlement.confirmed);
    std::uint64_t rejected = 0;
    for (const Rejection& rejection : settlement.rejected) rejected += rejection.seqs.count();
    in_flight_messages_ -= confirmed + rejected;
    in_flight_bytes_ -= settlement.bytes;
    confirmed_total_ += confirmed;
    rejected_total_ += rejected;
    if (rejected > 0 && !first_rejection_) first_rejection_ = settlement.rejected.front().error;
    if (!callbacks_.empty()) callbacks = take_callbacks(settlement);
    on_confirm = on_confirm_;
    if (publishers_waiting_ > 0 && has_good_room()) room_.notify_all();
  }
  for (const Callback& callback : callbacks) callback.call(callback.result);
  if (on_confirm && *on_confirm) {
    (*on_confirm)(
        {settlement.confirmed, settlement.unroutable, settlement.rejected, settlement.durability});
  }
  {
    const std::lock_guard lock(mutex_);
    settled_below_ = settlement.settled_below;
  }
  settled_.notify_all();
}

std::vector<PublishWindow::Callback> PublishWindow::take_callbacks(const Settlement& settlement) {
  std::vector<Callback> taken;
  const auto take_range = [&](const SeqRange& range, const auto& result_of) {
    auto at = callbacks_.lower_bound(range.first);
    while (at != callbacks_.end() && at->first <= range.last) {
      taken.push_back({std::move(at->second), result_of(at->first)});
      at = callbacks_.erase(at);
    }
  };
  for (const SeqRange& range : settlement.confirmed) {
    take_range(range, [&](std::uint64_t seq) -> Result<Confirmation> {
      return Confirmation{seq, contains(settlement.unroutable, seq), settlement.durability};
    });
  }
  for (const Rejection& rejection : settlement.rejected) {
    take_range(rejection.seqs,
               [&](std::uint64_t) -> Result<Confirmation> { return rejection.error; });
  }
  return taken;
}

void PublishWindow::message_returned(const ReturnedMessage& message) {
  std::shared_ptr<const std::function<void(const ReturnedMessage&)>> on_return;
  {
    const std::lock_guard lock(mutex_);
    on_return = on_return_;
  }
  if (on_return && *on_return) (*on_return)(message);
}

Status PublishWindow::wait_for_confirms(std::chrono::milliseconds timeout) {
  Lock lock(mutex_);
  const std::uint64_t target = next_seq_;
  if (settled_below_ < target && !closed_) {
    flush_asked_ = true;
    lock.unlock();
    wake_();
    lock.lock();
    settled_.wait_for(lock, timeout, [&] { return closed_ || settled_below_ >= target; });
  }
  if (settled_below_ < target) {
    const std::string open = counted(in_flight_messages_, "unconfirmed message");
    if (closed_) return Error{ErrorCode::kClosed, {}, "the connection was closed; " + open};
    return Error{ErrorCode::kTimeout,
                 {},
                 open + " after " + std::to_string(timeout.count()) +
                     " ms; they stay on their way, wait again"};
  }
  if (first_rejection_) {
    Error rejection = *std::move(first_rejection_);
    first_rejection_.reset();
    return rejection;
  }
  return {};
}

void PublishWindow::close() {
  std::map<std::uint64_t, OnSettled> callbacks;
  {
    const std::lock_guard lock(mutex_);
    refusing_ = true;
    closed_ = true;
    callbacks.swap(callbacks_);
  }
  room_.notify_all();
  settled_.notify_all();
  for (const auto& [seq, call] : callbacks) {
    call(Error{ErrorCode::kClosed,
               {},
               "the connection was closed before message " + std::to_string(seq) +
                   " was confirmed; whether it was enqueued is not known"});
  }
}

void PublishWindow::set_on_confirm(std::function<void(const ConfirmEvent&)> handler) {
  auto shared =
      std::make_shared<const std::function<void(const ConfirmEvent&)>>(std::move(handler));
  const std::lock_guard lock(mutex_);
  on_confirm_ = std::move(shared);
}

void PublishWindow::set_on_return(std::function<void(const ReturnedMessage&)> handler) {
  auto shared =
      std::make_shared<const std::function<void(const ReturnedMessage&)>>(std::move(handler));
  const std::lock_guard lock(mutex_);
  on_return_ = std::move(shared);
}

std::uint64_t PublishWindow::unconfirmed() const {
  const std::lock_guard lock(mutex_);
  return in_flight_messages_;
}

std::uint64_t PublishWindow::confirmed_total() const {
  const std::lock_guard lock(mutex_);
  return confirmed_total_;
}

std::uint64_t PublishWindow::rejected_total() const {
  const std::lock_guard lock(mutex_);
  return rejected_total_;
}

std::uint64_t PublishWindow::next_seq() const {
  const std::lock_guard lock(mutex_);
  return next_seq_;
}

}  // namespace segue::client
