#include "segue/connection.h"

#include <utility>

#include "client/connection_core.h"
#include "client/router_link.h"

namespace segue::client {

Result<Connection> Connection::open(ConnectionOptions options) {
  const std::size_t max_frame_bytes = options.max_receive_frame_bytes;
  return ConnectionCore::open(std::move(options), [max_frame_bytes](Wakeup& wakeup) {
    return std::make_unique<RouterLink>(wakeup, max_frame_bytes);
  });
}

Connection::Connection(Connection&&) noexcept = default;

Connection& Connection::operator=(Connection&& other) noexcept {
  if (this != &other) {
    if (core_) (void)close();
    core_ = std::move(other.core_);
  }
  return *this;
}

Connection::~Connection() {
  if (core_) (void)close();
}

Publisher& Connection::publisher() {
  return core_->publisher();
}

Admin& Connection::admin() {
  return core_->admin();
}

Result<Consumer> Connection::subscribe(const std::string& queue, const ConsumerOptions& options) {
  return core_->subscribe(queue, options, nullptr);
}

Result<Consumer> Connection::subscribe(const std::string& queue, const ConsumerOptions& options,
                                       Consumer::Handler handler) {
  return core_->subscribe(queue, options, std::move(handler));
}

Result<std::optional<Delivery>> Connection::get(const std::string& queue, bool no_ack) {
  return core_->get(queue, no_ack);
}

Status Connection::close(std::chrono::milliseconds timeout) {
  return core_->close(timeout);
}

Status Connection::close() {
  return core_->close(core_->options().close_timeout);
}

ConnectionState Connection::state() const {
  return core_->state();
}

std::optional<ServerInfo> Connection::server() const {
  return core_->server();
}

BlockedState Connection::blocked() const {
  return core_->blocked();
}

std::uint64_t Connection::reconnects() const {
  return core_->reconnects();
}

}  // namespace segue::client
