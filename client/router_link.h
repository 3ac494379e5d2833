#pragma once

#include <string>

#include "client/router_transport.h"
#include "common/outgoing_connection.h"

namespace segue::client {

/// The way to a router over ZeroMQ.
class RouterLink final : public RouterTransport {
 public:
  /// `wakeup` must outlive it. A frame larger than `max_frame_bytes` breaks the connection.
  RouterLink(Wakeup& wakeup, std::size_t max_frame_bytes);
  ~RouterLink() override;

  segue::Status connect(const std::string& endpoint) override;
  void disconnect() override;
  bool send(std::string header, const std::vector<SharedBytes>& bodies, bool with_bodies) override;
  bool receive(WireMessage& message) override;
  std::string_view broken() override;
  void wait(Duration timeout) override;

 private:
  ZmqContext context_;
  Poller poller_;
  OutgoingConnection connection_;
  std::string broken_;
};

}  // namespace segue::client
