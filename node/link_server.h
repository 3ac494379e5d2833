#pragma once

#include <google/protobuf/arena.h>

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "common/clock.h"
#include "common/link.h"
#include "common/logging.h"
#include "common/zmq_socket.h"
#include "node/peer_handler.h"
#include "node/peer_outbox.h"
#include "node/peer_output.h"

namespace segue::node {

/// The socket below the link server: a ROUTER, or a test's.
class ServerTransport {
 public:
  virtual ~ServerTransport() = default;
  /// False: the peer has gone or is too far behind, and nothing was sent.
  virtual bool send(const std::string& route, std::string header,
                    const std::vector<SharedBytes>& bodies) = 0;
  /// Takes the next message if there is one; `message.peer` is the route back.
  virtual bool receive(WireMessage& message) = 0;
};

/// The accepting end of the links of routers and other nodes: checks who says hello, numbers and
/// checks frames, hands them on in order, sends what the turn left for each peer, and ends links
/// that are broken, silent, hostile or too far behind. Whatever one peer sends, the others' links
/// go on.
///
/// No I/O of its own. Reactor's thread.
class LinkServer final : public PeerOutput {
 public:
  struct Options {
    std::string cluster;
    std::uint32_t shard_count = 0;
    std::string node_id;
    std::uint64_t incarnation = 0;
    bool catalog_leader = false;
    std::vector<std::string> router_ids;  // who may connect
    std::vector<std::string> node_ids;
    Duration heartbeat = std::chrono::seconds(1);
    std::uint64_t publish_window_bytes = 64ull << 20;
    std::size_t held_bytes = 128ull << 20;  // of one peer's frames that wait for the catalog
    std::uint32_t pid = 0;                  // of this process, and where that counts
    std::string machine = {};
  };

  /// The references outlive the server.
  LinkServer(Options options, ServerTransport& transport, Logger& log);
  ~LinkServer() override;
  /// Whom it tells of peers and frames, for as long as it lives; before the first poll().
  void set_handler(PeerHandler& handler) { handler_ = &handler; }

  // ---- the loop

  /// Takes at most `max_frames` frames. True: there may be more, so do not sleep.
  bool poll(TimePoint now, std::size_t max_frames = 256);
  /// Heartbeats and silent peers. At next_timer().
  void on_timers(TimePoint now);
  TimePoint next_timer() const;
  /// The catalog is applied up to here: frames that waited for it go on.
  void set_catalog_index(CatalogIndex applied, TimePoint now);
  /// What heartbeats tell; told at once when the reason to refuse publishes changes.
  void set_state(const v1::NodeState& state, TimePoint now);
  /// Whether something waits for flush().
  bool has_output() const { return !dirty_.empty(); }
  /// Sends what was collected, then ends the links that failed meanwhile.
  void flush(TimePoint now);
  /// Tells every peer that the node stops, and forgets them without on_peer_lost().
  void close_all(TimePoint now);

  // ---- PeerOutput

  void confirm(PeerId peer, v1::ShardConfirm confirm) override;
  void deliver(PeerId peer, v1::NodeDelivery delivery, std::vector<SharedBytes> bodies) override;
  void consumer_event(PeerId peer, v1::ConsumerEvent event) override;
  void queue_reply(PeerId peer, v1::QueueReply reply, std::vector<SharedBytes> bodies) override;
  void catalog_reply(PeerId peer, v1::CatalogReply reply) override;
  void catalog_feed(PeerId peer, v1::CatalogFeed feed) override;

 private:
  struct Peer;
  enum class Tell { kPeer, kNobody };

  void on_message(WireMessage& message);
  void on_hello(const WireMessage& message, const v1::PeerFrame& frame);
  Status check_hello(const v1::PeerFrame& frame) const;
  void on_peer_message(Peer& peer, WireMessage& message, v1::PeerFrame& frame);
  bool must_wait(Peer& peer, const v1::PeerFrame& frame);
  void hold(Peer& peer, WireMessage message);
  void dispatch(Peer& peer, v1::PeerFrame& frame, SharedBytes bodies);
  void release_held(Peer& peer);
  v1::PeerFrame* parse(const WireMessage& message);

  void transmit(Peer& peer, v1::NodeFrame& frame, const std::vector<SharedBytes>& bodies);
  void send_close(const std::string& route, std::uint64_t epoch, const Status& reason);
  /// The peer's link is over; it is taken away by reap(), so that this may be called anywhere.
  void fail(Peer& peer, const Status& reason, Tell tell);
  void reap();
  PeerOutbox* outbox(PeerId id);

  Options options_;
  ServerTransport& transport_;
  PeerHandler* handler_ = nullptr;
  Logger& log_;
  TimePoint now_{};
  CatalogIndex applied_;
  v1::NodeState state_;
  std::uint64_t last_peer_ = 0;
  std::map<PeerId, std::unique_ptr<Peer>> peers_;
  std::unordered_map<std::string, PeerId> by_route_;
  std::vector<PeerId> dirty_;  // have something to send
  std::vector<PeerId> failed_;
  std::vector<char> arena_block_;
  google::protobuf::Arena arena_;
};

/// A ServerTransport over a bound ROUTER socket, which outlives it.
class ZmqServerTransport final : public ServerTransport {
 public:
  explicit ZmqServerTransport(ZmqSocket& socket) : socket_(socket) {}
  bool send(const std::string& route, std::string header,
            const std::vector<SharedBytes>& bodies) override {
    return socket_.send(route, std::move(header), bodies);
  }
  bool receive(WireMessage& message) override { return socket_.receive(message); }

 private:
  ZmqSocket& socket_;
};

}  // namespace segue::node
