#include "client/consumer_core.h"

#include <algorithm>
#include <limits>

namespace segue::client {

namespace {

// Settlements wait this long for company at most.
constexpr Duration kLongestWait = std::chrono::milliseconds(1);
// So many are sent at once; fewer if the prefetch is small.
constexpr std::uint64_t kUrgentTags = 512;
// The router hears that deliveries arrived in steps of this many bytes.
constexpr std::uint64_t kReceivedStep = 64 * 1024;
// Beyond this, what has arrived counts as received only when the application takes it.
constexpr std::uint64_t kBufferBytes = std::uint64_t{16} << 20;

std::uint64_t urgent_tags(const ConsumerOptions& options) {
  if (options.prefetch == 0) return kUrgentTags;
  return std::clamp<std::uint64_t>(options.prefetch / 4, 1, kUrgentTags);
}

}  // namespace

ConsumerCore::ConsumerCore(std::uint64_t number, std::string queue, ConsumerOptions options,
                           Consumer::Handler handler, std::shared_ptr<IoMailbox> mailbox,
                           ConsumerOwner* owner)
    : number_(number),
      queue_(std::move(queue)),
      options_(std::move(options)),
      handler_(std::move(handler)),
      mailbox_(std::move(mailbox)),
      owner_(owner),
      urgent_tags_(urgent_tags(options_)) {}

// ---- taking

Result<Deliveries> ConsumerCore::next_batch(std::size_t max, std::chrono::milliseconds timeout) {
  std::unique_lock lock(mutex_);
  arrived_.wait_for(lock, timeout, [&] { return stopped_ || ended_ || !buffer_.empty(); });
  if (stopped_) return Error{ErrorCode::kClosed, queue_, "the consumer is closed"};
  if (buffer_.empty()) {
    if (ended_) return *ended_;
    return Error{ErrorCode::kTimeout, queue_,
                 "no message of queue '" + queue_ + "' arrived within " +
                     std::to_string(timeout.count()) + " ms"};
  }
  Deliveries taken = pop(std::max<std::size_t>(max, 1));
  const bool tell = received_due_ > received_told_;
  if (tell || (buffer_.empty() && !settled_.empty())) mark_dirty(lock, buffer_.empty());
  return taken;
}

Deliveries ConsumerCore::pop(std::size_t max) {
  Arrived& front = buffer_.front();
  const std::uint32_t first = front.next;
  const auto count =
      static_cast<std::uint32_t>(std::min<std::size_t>(max, front.frame->count() - first));
  Deliveries taken = front.frame->view(first, count);
  front.next += count;
  buffered_messages_ -= count;
  if (front.next == front.frame->count()) {
    buffered_bytes_ -= front.frame->body_bytes();
    buffer_.pop_front();
  }
  note_taken();
  return taken;
}

void ConsumerCore::note_taken() {
  if (buffered_bytes_ <= kBufferBytes) received_due_ = last_tag_;
}

// ---- settling

void ConsumerCore::settle(std::uint64_t session, const SettledRange& range) {
  if (options_.no_ack) return;
  std::unique_lock lock(mutex_);
  if (session != session_) return;
  settled_.add(range);
  // With nothing left to do here the broker should hear at once: it may have more.
  mark_dirty(lock, settled_.tags() >= urgent_tags_ || buffer_.empty());
}

void ConsumerCore::mark_dirty(std::unique_lock<std::mutex>& lock, bool urgent) {
  const bool first = !dirty_;
  const bool more_urgent = urgent && !urgent_;
  dirty_ = true;
  urgent_ = urgent_ || urgent;
  lock.unlock();
  if (first) {
    mailbox_->add_dirty(shared_from_this());
  } else if (more_urgent) {
    mailbox_->wake();
  }
}

std::future<Status> ConsumerCore::settle_confirmed(std::uint64_t session,
                                                   const SettledRange& range) {
  auto done = std::make_shared<std::promise<Status>>();
  std::future<Status> future = done->get_future();
  if (options_.no_ack) {
    done->set_value({});
    return future;
  }
  const bool posted = mailbox_->post([owner = owner_, number = number_, session, range, done] {
    owner->settle_confirmed(number, session, range, done);
  });
  if (!posted) done->set_value(Error{ErrorCode::kClosed, queue_, "the connection is closed"});
  return future;
}

std::optional<TimePoint> ConsumerCore::take_outgoing(std::uint64_t session, TimePoint now, bool all,
                                                     Outgoing& out) {
  const std::lock_guard lock(mutex_);
  if (session != session_ || session == 0) {
    settled_.clear();  // void: the broker delivers these again
    dirty_ = urgent_ = false;
    dirty_since_.reset();
    return std::nullopt;
  }
  if (!dirty_since_) dirty_since_ = now;
  const bool tell = received_due_ > received_told_;
  const bool due = all || urgent_ || now - *dirty_since_ >= kLongestWait ||
                   (tell && untold_bytes_ >= kReceivedStep);
  if (!due) return *dirty_since_ + kLongestWait;
  out.settled = settled_.take();
  if (tell) {
    received_told_ = received_due_;
    untold_bytes_ = 0;
    // A settled tag says the same.
    if (out.settled.empty() || out.settled.back().last < received_told_) {
      out.received = received_told_;
    }
  }
  dirty_ = urgent_ = false;
  dirty_since_.reset();
  return std::nullopt;
}

// ---- the I/O thread's side

void ConsumerCore::begin_session(std::uint64_t session) {
  std::deque<Arrived> void_now;
  const std::lock_guard lock(mutex_);
  session_ = session;
  if (session == 0) return;
  void_now.swap(buffer_);
  buffered_messages_ = 0;
  buffered_bytes_ = 0;
  last_tag_ = received_due_ = received_told_ = 0;
  untold_bytes_ = 0;
  settled_.clear();
}

segue::Status ConsumerCore::deliver(DeliveredFramePtr frame) {
  std::unique_lock lock(mutex_);
  if (frame->first_tag() <= last_tag_ && number_ != 0) {
    return {Code::kFrameError, "delivery: tag " + std::to_string(frame->first_tag()) +
                                   " comes after tag " + std::to_string(last_tag_)};
  }
  last_tag_ = frame->last_tag();
  buffered_messages_ += frame->count();
  buffered_bytes_ += frame->body_bytes();
  untold_bytes_ += frame->body_bytes();
  buffer_.push_back({std::move(frame), 0});
  if (buffered_bytes_ <= kBufferBytes) {
    received_due_ = last_tag_;
    mark_dirty(lock, false);
  } else {
    lock.unlock();
  }
  arrived_.notify_all();
  return segue::Status::ok();
}

void ConsumerCore::cancel(const Error& reason) {
  {
    const std::lock_guard lock(mutex_);
    if (ended_) return;
    ended_ = reason;
    cancelled_ = true;
  }
  arrived_.notify_all();
  if (handler_ == nullptr && options_.on_cancelled) options_.on_cancelled(reason);
}

void ConsumerCore::close(const Error& reason) {
  std::deque<Arrived> dropped;
  {
    const std::lock_guard lock(mutex_);
    if (!ended_) ended_ = reason;
    session_ = 0;
    buffered_messages_ = 0;
    dropped.swap(buffer_);
  }
  arrived_.notify_all();
}

// ---- the handler

void ConsumerCore::start_handler() {
  if (handler_ == nullptr) return;
  thread_ = std::thread([self = shared_from_this()] { self->run_handler(); });
}

void ConsumerCore::run_handler() {
  while (true) {
    // One at a time, so that what was not handed out can go back when the consumer is closed.
    const Result<Deliveries> taken = next_batch(1, std::chrono::hours(1));
    if (taken) {
      const Delivery delivery = (*taken)[0];
      handler_(delivery);
      if (options_.auto_ack) delivery.ack();
      continue;
    }
    if (taken.error().code == ErrorCode::kTimeout) continue;
    std::unique_lock lock(mutex_);
    const bool tell = cancelled_ && !stopped_;
    lock.unlock();
    if (tell && options_.on_cancelled) options_.on_cancelled(taken.error());
    return;
  }
}

void ConsumerCore::stop_handing_out() {
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
  }
  arrived_.notify_all();
}

void ConsumerCore::join_handler() {
  if (!thread_.joinable()) return;
  // Its own handler closes the consumer: the thread ends by itself when the handler returns.
  if (thread_.get_id() == std::this_thread::get_id()) {
    thread_.detach();
  } else {
    thread_.join();
  }
}

void ConsumerCore::requeue_buffered() {
  std::deque<Arrived> back;
  std::unique_lock lock(mutex_);
  back.swap(buffer_);
  buffered_messages_ = 0;
  buffered_bytes_ = 0;
  if (back.empty() || options_.no_ack || session_ == 0) return;
  for (const Arrived& arrived : back) {
    settled_.add(
        {arrived.frame->tag(arrived.next), arrived.frame->last_tag(), v1::OUTCOME_RELEASE});
  }
  mark_dirty(lock, true);
}

std::optional<Error> ConsumerCore::cancelled() const {
  const std::lock_guard lock(mutex_);
  if (!cancelled_) return std::nullopt;
  return ended_;
}

std::size_t ConsumerCore::buffered() const {
  const std::lock_guard lock(mutex_);
  return buffered_messages_;
}

}  // namespace segue::client
