#include "client/publish_window.h"

#include <algorithm>
#include <limits>

#include "client/convert.h"
#include "common/counted.h"

namespace segue::client {

namespace {

// An open batch of this size goes out without waiting for company.
constexpr std::uint32_t kReadyMessages = 128;
constexpr std::uint64_t kReadyBytes = 64 * 1024;
// Headers of one batch at most, so that a frame's first part stays small.
constexpr std::size_t kMaxHeaderBytes = 256 * 1024;
// From here on a body becomes a batch of its own instead of being copied under the lock.
constexpr std::size_t kSingleBytes = 64 * 1024;
// Longer batches make their buffer grow.
constexpr std::size_t kLargestBuffer = std::size_t{1} << 20;

Error closed_error() {
  return Error{ErrorCode::kClosed, {}, "the connection is closed"};
}

}  // namespace

PublishWindow::PublishWindow(const ConnectionOptions& options, std::function<void()> wake)
    : options_(options),
      wake_(std::move(wake)),
      // A batch stays below its limit until one more body goes over it.
      buffer_bytes_(std::min(options.max_batch_bytes, kLargestBuffer) + kSingleBytes),
      next_seq_(options.first_seq),
      settled_below_(options.first_seq),
      // Sizes are 32-bit on the wire.
      max_message_bytes_(std::numeric_limits<std::int32_t>::max()) {}

Result<std::uint64_t> PublishWindow::publish(const HeaderPtr& header, std::string_view body,
                                             bool may_wait) {
  if (body.size() >= kSingleBytes) {
    SharedBytes copy = SharedBytes::from(std::string(body));
    Lock lock(mutex_);
    if (Status room = wait_for_room(lock, body.size(), may_wait); !room) return room.error();
    return append_single(lock, header, std::move(copy), {});
  }
  Lock lock(mutex_);
  if (Status room = wait_for_room(lock, body.size(), may_wait); !room) return room.error();
  return append(lock, header, body, {});
}

Result<std::uint64_t> PublishWindow::publish(const MessageHeader& header, std::string_view body,
                                             bool may_wait) {
  Lock lock(mutex_);
  const Result<HeaderPtr> wire = interned(lock, header);
  if (!wire) return wire.error();
  if (body.size() >= kSingleBytes) {
    lock.unlock();
    return publish(*wire, body, may_wait);
  }
  if (Status room = wait_for_room(lock, body.size(), may_wait); !room) return room.error();
  return append(lock, *wire, body, {});
}

Result<std::uint64_t> PublishWindow::publish(Message message, OnSettled on_settled, bool may_wait) {
  Lock lock(mutex_);
  const Result<HeaderPtr> wire = interned(lock, message.header);
  if (!wire) return wire.error();
  const std::size_t size = message.body.size();
  if (Status room = wait_for_room(lock, size, may_wait); !room) return room.error();
  if (size < kSingleBytes) return append(lock, *wire, message.body, std::move(on_settled));
  return append_single(lock, *wire, SharedBytes::from(std::move(message.body)),
                       std::move(on_settled));
}

Result<HeaderPtr> PublishWindow::interned(Lock& lock, const MessageHeader& header) {
  if (last_wire_ && header == last_header_) return last_wire_;
  lock.unlock();
  Result<std::string> wire = serialize_header(header);
  if (!wire) return wire.error();
  auto shared = std::make_shared<const std::string>(*std::move(wire));
  lock.lock();
  last_header_ = header;
  last_wire_ = shared;
  return HeaderPtr(std::move(shared));
}

Status PublishWindow::check_size(std::size_t body_bytes) const {
  if (body_bytes <= max_message_bytes_) return {};
  return Error{ErrorCode::kContentTooLarge,
               {},
               "the message has " + std::to_string(body_bytes) + " bytes, the router takes " +
                   std::to_string(max_message_bytes_) + " at most"};
}

bool PublishWindow::has_room(std::size_t body_bytes) const {
  if (in_flight_messages_ == 0) return true;
  return in_flight_messages_ < options_.max_in_flight_messages &&
         in_flight_bytes_ + body_bytes <= options_.max_in_flight_bytes;
}

bool PublishWindow::has_good_room() const {
  return in_flight_messages_ <=
             options_.max_in_flight_messages - options_.max_in_flight_messages / 4 &&
         in_flight_bytes_ <= options_.max_in_flight_bytes - options_.max_in_flight_bytes / 4;
}

Status PublishWindow::wait_for_room(Lock& lock, std::size_t body_bytes, bool may_wait) {
  if (refusing_) return closed_error();
  if (Status fits = check_size(body_bytes); !fits) return fits;
  if (has_room(body_bytes)) return {};
  const auto full = [&](std::string waited) {
    return Error{ErrorCode::kWindowFull,
                 {},
                 counted(in_flight_messages_, "message") + " with " +
                     std::to_string(in_flight_bytes_) + " bytes are unconfirmed" + waited +
                     "; wait for confirms, or raise max_in_flight_messages or _bytes"};
  };
  if (options_.when_full == WhenFull::kFail) return full("");
  if (!may_wait) {
    return Error{ErrorCode::kNotAllowed,
                 {},
                 "the window is full, and a handler on the I/O thread must not wait for it"};
  }
  ++publishers_waiting_;
  lock.unlock();
  wake_();
  lock.lock();
  const bool room = room_.wait_for(lock, options_.full_timeout,
                                   [&] { return refusing_ || has_room(body_bytes); });
  --publishers_waiting_;
  if (refusing_) return closed_error();
  if (!room) return full(" after " + std::to_string(options_.full_timeout.count()) + " ms");
  return {};
}

std::uint64_t PublishWindow::number_message(std::size_t body_bytes, OnSettled on_settled) {
  ++in_flight_messages_;
  in_flight_bytes_ += body_bytes;
  if (on_settled) callbacks_.emplace(next_seq_, std::move(on_settled));
  return next_seq_++;
}

std::uint64_t PublishWindow::append(Lock& lock, const HeaderPtr& header, std::string_view body,
                                    OnSettled on_settled) {
  const std::uint64_t seq = number_message(body.size(), std::move(on_settled));
  if (!open_) open_ = std::make_unique<PublishBatch>(seq, buffer_bytes_, buffers_);
  const bool was_ready = ready(*open_);
  open_->append(header, body);
  const bool is_ready = ready(*open_);
  const bool ring = open_->count() == 1 || is_ready != was_ready;
  if (open_->count() >= options_.max_batch_messages ||
      open_->body_bytes() >= options_.max_batch_bytes || open_->header_bytes() >= kMaxHeaderBytes) {
    seal_open();
  }
  lock.unlock();
  if (ring) wake_();
  return seq;
}

std::uint64_t PublishWindow::append_single(Lock& lock, const HeaderPtr& header, SharedBytes body,
                                           OnSettled on_settled) {
  const std::uint64_t seq = number_message(body.size(), std::move(on_settled));
  seal_open();
  open_ = std::make_unique<PublishBatch>(seq, 0, buffers_);
  open_->set_single(header, std::move(body));
  seal_open();
  lock.unlock();
  wake_();
  return seq;
}

bool PublishWindow::ready(const PublishBatch& batch) const {
  return batch.count() >= kReadyMessages || batch.body_bytes() >= kReadyBytes;
}

void PublishWindow::seal_open() {
  if (!open_) return;
  open_->seal();
  sealed_.push_back(std::move(open_));
}

bool PublishWindow::has_work() const {
  const std::lock_guard lock(mutex_);
  return !sealed_.empty() || (open_ && (flush_asked_ || publishers_waiting_ > 0 || ready(*open_)));
}

bool PublishWindow::take(bool eager, std::vector<std::unique_ptr<PublishBatch>>& batches) {
  const std::lock_guard lock(mutex_);
  if (open_ && (eager || flush_asked_ || publishers_waiting_ > 0 || ready(*open_))) seal_open();
  flush_asked_ = false;
  for (auto& batch : sealed_) batches.push_back(std::move(batch));
  sealed_.clear();
  return open_ != nullptr;
}

void PublishWindow::set_max_message_bytes(std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  max_message_bytes_ = std::min<std::uint64_t>(bytes, std::numeric_limits<std::int32_t>::max());
}

bool PublishWindow::publishers_held() const {
  const std::lock_guard lock(mutex_);
  return publishers_waiting_ > 0 && has_room(0);
}

void PublishWindow::wake_publishers() {
  room_.notify_all();
}

void PublishWindow::refuse_publishes() {
  {
    const std::lock_guard lock(mutex_);
    refusing_ = true;
  }
  room_.notify_all();
}

}  // namespace segue::client
