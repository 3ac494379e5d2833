#pragma once

#include <string>
#include <vector>

#include "common/clock.h"
#include "common/logging.h"
#include "common/node_link.h"
#include "common/random.h"
#include "common/zmq_socket.h"
#include "router/node_channel.h"
#include "router/router.h"

namespace segue::router {

/// The router's link to one node over a socket: hands the link's events to the router and the
/// router's frames to the link. The loop's thread.
class NodeConnection final : public NodeChannel, private NodeLink::Events {
 public:
  /// The references outlive the connection.
  NodeConnection(NodeLink::Options options, ZmqSocket::Options socket, ZmqContext& context,
                 Poller& poller, Router& router, const Clock& clock, Random& random, Logger& log);

  NodeLink& link() { return link_; }

  void send(v1::PeerFrame frame, const std::vector<SharedBytes>& bodies) override;

 private:
  void on_up(const v1::PeerHelloOk& hello) override;
  void on_down(const Status& reason) override;
  void on_frame(v1::NodeFrame& frame, SharedBytes bodies) override;

  Router& router_;
  const Clock& clock_;
  ZmqLinkTransport transport_;
  NodeLink link_;
};

}  // namespace segue::router
