#include "router/node_connection.h"

namespace segue::router {

NodeConnection::NodeConnection(NodeLink::Options options, ZmqSocket::Options socket,
                               ZmqContext& context, Poller& poller, Router& router,
                               const Clock& clock, Random& random, Logger& log)
    : router_(router),
      clock_(clock),
      transport_(context, poller, options.endpoint, socket),
      link_(std::move(options), transport_, *this, random, log) {}

void NodeConnection::send(v1::PeerFrame frame, const std::vector<SharedBytes>& bodies) {
  // A link that is found down here tells so with on_down(), which puts things right.
  (void)link_.send(frame, bodies, clock_.now());
}

void NodeConnection::on_up(const v1::PeerHelloOk& hello) {
  router_.on_node_up(link_.node_id(), hello);
}

void NodeConnection::on_down(const Status& reason) {
  router_.on_node_down(link_.node_id(), reason.message());
}

void NodeConnection::on_frame(v1::NodeFrame& frame, SharedBytes bodies) {
  const Status understood = router_.on_node_frame(link_.node_id(), frame, bodies);
  if (!understood) link_.reset(understood, clock_.now());
}

}  // namespace segue::router
