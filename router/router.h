#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "common/clock.h"
#include "common/config.h"
#include "common/logging.h"
#include "common/random.h"
#include "common/zmq_socket.h"
#include "router/client_output.h"
#include "router/node_channel.h"
#include "segue/v1/peer.pb.h"

namespace segue::router {

/// A whole router without its sockets: sessions of clients on one side, links to nodes on the
/// other, and the paths between. Composes the parts; has no rules of its own. The owner brings
/// events and the time, and ends each turn with end_turn(), which sends what the turn collected.
/// One thread.
class Router {
 public:
  /// The references outlive the router; `config` is copied. `random` is asked at the start only.
  Router(const ClusterConfig& config, const std::string& router_id, ClientOutput& clients,
         const Clock& clock, Random& random, Logger& log);
  ~Router();
  Router(const Router&) = delete;
  Router& operator=(const Router&) = delete;

  /// The number of this life, for the nodes.
  std::uint64_t incarnation() const;
  /// Before any event; `channel` outlives the router.
  void add_node(const std::string& id, const std::string& endpoint, NodeChannel& channel);

  // ---- events

  void on_client_message(WireMessage& message);
  void on_node_up(const std::string& node, const v1::PeerHelloOk& hello);
  void on_node_down(const std::string& node, const std::string& reason);
  /// The frame may be taken apart. A failed Status: it makes no sense, reset the link.
  Status on_node_frame(const std::string& node, v1::NodeFrame& frame, const SharedBytes& bodies);
  /// About every 50 ms.
  void on_tick();
  /// Once in every turn of the loop, after its events.
  void end_turn();

  // ---- the end

  /// Takes no new sessions and publishes; what is on its way to nodes is still answered.
  void begin_drain();
  /// Nothing is on its way to a node any more.
  bool drained() const;
  /// Tells every client that the router stops.
  void close_sessions();

  // ---- for tests and logs

  std::size_t session_count() const;
  /// Everything that is kept on behalf of sessions, other than themselves; 0 when all have gone.
  std::size_t kept_for_sessions() const;

 private:
  struct Parts;
  void update_time();

  const Clock& clock_;
  std::unique_ptr<Parts> parts_;
};

}  // namespace segue::router
