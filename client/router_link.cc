#include "client/router_link.h"

namespace segue::client {

namespace {

// A Close on its way gets this long when the socket is dropped.
constexpr std::chrono::milliseconds kLinger{200};

}  // namespace

RouterLink::RouterLink(Wakeup& wakeup, std::size_t max_frame_bytes)
    : max_frame_bytes_(max_frame_bytes) {
  poller_.add_fd(wakeup.fd());
}

segue::Status RouterLink::connect(const std::string& endpoint) {
  disconnect();
  ZmqSocket::Options options;
  options.max_frame_bytes = static_cast<std::int64_t>(max_frame_bytes_);
  options.linger = kLinger;
  options.watch = true;
  socket_.emplace(context_, ZmqSocket::Kind::kDealer, options);
  segue::Status connected = socket_->connect(endpoint);
  if (!connected.is_ok()) {
    socket_.reset();
    return connected;
  }
  poller_.add(*socket_);
  return segue::Status::ok();
}

void RouterLink::disconnect() {
  if (!socket_) return;
  poller_.remove(*socket_);
  // ZeroMQ goes on trying while it lingers: a Hello that was given up must not arrive late.
  if (!broken().empty()) socket_->set_linger(std::chrono::milliseconds(0));
  socket_.reset();
}

bool RouterLink::send(std::string header, const std::vector<SharedBytes>& bodies,
                      bool with_bodies) {
  return socket_ && socket_->send({}, std::move(header), bodies, with_bodies);
}

bool RouterLink::receive(WireMessage& message) {
  return socket_ && socket_->receive(message);
}

std::string_view RouterLink::broken() {
  switch (socket_ ? socket_->trouble() : ZmqSocket::Trouble::kNone) {
    case ZmqSocket::Trouble::kRefused:
      return "nothing listens there, or its name is not known";
    case ZmqSocket::Trouble::kLost:
      return "the connection ended";
    case ZmqSocket::Trouble::kNone:
      break;
  }
  return {};
}

void RouterLink::wait(Duration timeout) {
  poller_.wait(timeout);
}

}  // namespace segue::client
