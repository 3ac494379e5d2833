#include "segue/consumer.h"

#include <utility>

#include "client/connection_core.h"
#include "client/consumer_core.h"

namespace segue::client {

Consumer::Consumer(Consumer&&) noexcept = default;

Consumer& Consumer::operator=(Consumer&& other) noexcept {
  if (this != &other) {
    close();
    connection_ = std::move(other.connection_);
    core_ = std::move(other.core_);
  }
  return *this;
}

Consumer::~Consumer() {
  close();
}

Result<Delivery> Consumer::next(std::chrono::milliseconds timeout) {
  const Result<Deliveries> taken = next_batch(1, timeout);
  if (!taken) return taken.error();
  return (*taken)[0];
}

Result<Deliveries> Consumer::next_batch(std::size_t max, std::chrono::milliseconds timeout) {
  if (core_->has_handler()) {
    return Error{ErrorCode::kNotAllowed, core_->queue(),
                 "this consumer hands its deliveries to a handler"};
  }
  if (core_->mailbox().on_io_thread()) {
    return Error{ErrorCode::kNotAllowed, core_->queue(),
                 "waiting for a delivery on the I/O thread, which brings it"};
  }
  return core_->next_batch(max, timeout);
}

Status Consumer::set_prefetch(std::uint32_t messages, std::uint64_t bytes) {
  const auto connection = connection_.lock();
  if (!connection) return Error{ErrorCode::kClosed, core_->queue(), "the connection is closed"};
  return connection->set_prefetch(core_->number(), messages, bytes);
}

void Consumer::close() {
  if (!core_) return;
  core_->stop_handing_out();
  core_->join_handler();
  const auto connection = std::exchange(connection_, {}).lock();
  if (!connection) return;
  connection->unsubscribe(core_);
  core_->requeue_buffered();
}

const std::string& Consumer::queue() const {
  return core_->queue();
}

std::optional<Error> Consumer::cancelled() const {
  return core_->cancelled();
}

std::size_t Consumer::buffered() const {
  return core_->buffered();
}

}  // namespace segue::client
