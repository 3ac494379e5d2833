#include "client/router_link.h"

namespace segue::client {

namespace {

// A Close on its way gets this long when the socket is dropped.
constexpr std::chrono::milliseconds kLinger{200};
constexpr int kFrames = 1'000'000;

ZmqSocket::Options socket_options(std::size_t max_frame_bytes) {
  ZmqSocket::Options options;
  options.max_frame_bytes = static_cast<std::int64_t>(max_frame_bytes);
  // All that is on the way is bounded by windows: of publishes, requests, and unsettled messages. A
  // router that stands still for a while is not given up for it.
  options.high_water_mark = kFrames;
  return options;
}

}  // namespace

RouterLink::RouterLink(Wakeup& wakeup, std::size_t max_frame_bytes)
    : connection_(context_, poller_, socket_options(max_frame_bytes)) {
  poller_.add_fd(wakeup.fd());
}

RouterLink::~RouterLink() {
  disconnect();
}

segue::Status RouterLink::connect(const std::string& endpoint) {
  disconnect();
  return connection_.open(endpoint);
}

void RouterLink::disconnect() {
  // ZeroMQ goes on trying while it lingers: a Hello that was given up must not arrive late.
  connection_.close(broken().empty() ? kLinger : std::chrono::milliseconds(0));
}

bool RouterLink::send(std::string header, const std::vector<SharedBytes>& bodies,
                      bool with_bodies) {
  return connection_.send(std::move(header), bodies, with_bodies);
}

bool RouterLink::receive(WireMessage& message) {
  return connection_.receive(message);
}

std::string_view RouterLink::broken() {
  switch (connection_.trouble()) {
    case ZmqSocket::Trouble::kRefused:
      broken_ = connection_.lookup_failure();
      return broken_.empty() ? std::string_view("nothing listens there") : broken_;
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
