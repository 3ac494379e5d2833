#pragma once

#include <optional>

#include "client/router_transport.h"

namespace segue::client {

/// The way to a router over ZeroMQ.
class RouterLink final : public RouterTransport {
 public:
  /// `wakeup` must outlive it. A frame larger than `max_frame_bytes` breaks the connection.
  RouterLink(Wakeup& wakeup, std::size_t max_frame_bytes);

  segue::Status connect(const std::string& endpoint) override;
  void disconnect() override;
  bool send(std::string header, const std::vector<SharedBytes>& bodies, bool with_bodies) override;
  bool receive(WireMessage& message) override;
  std::string_view broken() override;
  void wait(Duration timeout) override;

 private:
  std::size_t max_frame_bytes_;
  ZmqContext context_;
  Poller poller_;
  std::optional<ZmqSocket> socket_;
};

}  // namespace segue::client
