#include "node/link_server.h"

#include <algorithm>
#include <utility>

#include "common/counted.h"
#include "node/catalog_checks.h"

namespace segue::node {
namespace {

constexpr std::uint32_t kProtocolVersion = 1;
constexpr std::size_t kArenaBlock = 256 * 1024;
// What a held frame costs beside its bytes.
constexpr std::size_t kHeldFrameBytes = 256;

google::protobuf::ArenaOptions arena_options(std::vector<char>& block) {
  google::protobuf::ArenaOptions options;
  options.initial_block = block.data();
  options.initial_block_size = block.size();
  return options;
}

Status refused(std::string text) {
  return Status(Code::kNotAllowed, std::move(text));
}

bool contains(const std::vector<std::string>& ids, const std::string& id) {
  return std::find(ids.begin(), ids.end(), id) != ids.end();
}

const char* kind_name(v1::PeerKind kind) {
  switch (kind) {
    case v1::PEER_KIND_ROUTER:
      return "router";
    case v1::PEER_KIND_DEAD_LETTERS:
      return "dead letters of node";
    default:
      return "node";
  }
}

}  // namespace

struct LinkServer::Peer {
  Peer(PeerId peer, std::string its_route, Link its_link, PeerOutbox::Send send)
      : id(peer), route(std::move(its_route)), link(its_link), outbox(std::move(send)) {}

  PeerId id;
  std::string route;
  Link link;
  PeerIdentity identity;
  PeerOutbox outbox;
  bool dirty = false;
  bool failed = false;
  TimePoint state_told{};
  std::deque<WireMessage> held;  // in order; wait for the catalog
  std::size_t held_bytes = 0;
};

LinkServer::LinkServer(Options options, ServerTransport& transport, Logger& log)
    : options_(std::move(options)),
      transport_(transport),
      log_(log),
      arena_block_(kArenaBlock),
      arena_(arena_options(arena_block_)) {}

LinkServer::~LinkServer() = default;

bool LinkServer::poll(TimePoint now, std::size_t max_frames) {
  now_ = now;
  std::size_t frames = 0;
  WireMessage message;
  while (frames < max_frames && transport_.receive(message)) {
    ++frames;
    on_message(message);
    reap();
  }
  return frames == max_frames;
}

v1::PeerFrame* LinkServer::parse(const WireMessage& message) {
  arena_.Reset();
  auto* frame = google::protobuf::Arena::CreateMessage<v1::PeerFrame>(&arena_);
  const bool parsed =
      !message.malformed &&
      frame->ParseFromArray(message.header.data(), static_cast<int>(message.header.size()));
  return parsed ? frame : nullptr;
}

void LinkServer::on_message(WireMessage& message) {
  const auto found = by_route_.find(message.peer);
  Peer* peer = found == by_route_.end() ? nullptr : peers_.at(found->second).get();
  v1::PeerFrame* frame = parse(message);
  if (frame == nullptr) {
    const Status reason(Code::kFrameError, "a frame of " + std::to_string(message.header.size()) +
                                               " bytes cannot be read");
    if (peer != nullptr) {
      fail(*peer, reason, Tell::kPeer);
    } else {
      log_.warn("frame_of_a_stranger", {{"bytes", message.header.size()}});
      send_close(message.peer, 0, reason);
    }
  } else if (frame->has_hello()) {
    if (peer != nullptr)
      fail(*peer, Status(Code::kStaleEpoch, "it says hello again"), Tell::kNobody);
    reap();
    on_hello(message, *frame);
  } else if (peer != nullptr && frame->link().epoch() == peer->link.epoch()) {
    on_peer_message(*peer, message, *frame);
  } else if (!frame->has_close()) {
    // Of a life that this process does not know: after a restart of ours, or on a connection that
    // was broken and made again.
    send_close(message.peer, frame->link().epoch(),
               Status(Code::kStaleEpoch, "node " + options_.node_id + " does not know this link"));
  }
}

Status LinkServer::check_hello(const v1::PeerFrame& frame) const {
  const v1::PeerHello& hello = frame.hello();
  const std::string who = kind_name(hello.kind()) + std::string(" ") + quoted_name(hello.id());
  if (frame.link().epoch() == 0 || frame.link().sequence() != 1) {
    return Status(Code::kFrameError, who + ": a hello needs an epoch and the sequence 1");
  }
  if (hello.protocol_version() != kProtocolVersion) {
    return refused(who + " speaks version " + std::to_string(hello.protocol_version()) +
                   " of the protocol, node " + options_.node_id + " speaks version " +
                   std::to_string(kProtocolVersion) + "; update the older of the two");
  }
  if (hello.cluster() != options_.cluster) {
    return refused(who + " belongs to cluster " + quoted_name(hello.cluster()) + ", node " +
                   options_.node_id + " to cluster " + quoted_name(options_.cluster) +
                   "; check its configuration and its endpoints");
  }
  if (hello.shard_count() != options_.shard_count) {
    return refused(who + " counts " + counted(hello.shard_count(), "shard") + ", node " +
                   options_.node_id + " counts " + std::to_string(options_.shard_count) +
                   "; give both the same configuration");
  }
  const bool known =
      (hello.kind() == v1::PEER_KIND_ROUTER && contains(options_.router_ids, hello.id())) ||
      (hello.kind() == v1::PEER_KIND_DEAD_LETTERS && contains(options_.node_ids, hello.id())) ||
      (hello.kind() == v1::PEER_KIND_NODE && hello.id() != options_.node_id &&
       contains(options_.node_ids, hello.id()));
  if (!known) {
    return refused("the configuration of node " + options_.node_id + " has no other " + who +
                   "; add it there and restart the node");
  }
  return {};
}

void LinkServer::on_hello(const WireMessage& message, const v1::PeerFrame& frame) {
  if (const Status status = check_hello(frame); !status.is_ok()) {
    log_.warn("peer_refused", {{"reason", status}});
    send_close(message.peer, frame.link().epoch(), status);
    return;
  }
  const v1::PeerHello& hello = frame.hello();
  for (const auto& [id, peer] : peers_) {
    if (peer->identity.kind == hello.kind() && peer->identity.id == hello.id()) {
      fail(*peer, Status(Code::kStaleEpoch, "it has connected anew"), Tell::kPeer);
    }
  }
  reap();

  Link link(frame.link().epoch(), options_.heartbeat, now_);
  SEGUE_CHECK(link.on_frame(frame.link().epoch(), 1, now_) == Link::Verdict::kAccept);
  const PeerId id(++last_peer_);
  auto made = std::make_unique<Peer>(
      id, message.peer, link,
      [this, id](v1::NodeFrame& out, const std::vector<SharedBytes>& bodies) {
        transmit(*peers_.at(id), out, bodies);
      });
  Peer& peer = *made;
  peer.identity = {hello.kind(), hello.id(), hello.incarnation()};
  peer.state_told = now_;
  peers_.emplace(id, std::move(made));
  by_route_[message.peer] = id;

  v1::NodeFrame answer;
  v1::PeerHelloOk* ok = answer.mutable_hello_ok();
  ok->set_node_id(options_.node_id);
  ok->set_incarnation(options_.incarnation);
  ok->set_heartbeat_ms(static_cast<std::uint32_t>(
      std::chrono::duration_cast<std::chrono::milliseconds>(options_.heartbeat).count()));
  ok->set_catalog_leader(options_.catalog_leader);
  ok->set_publish_window_bytes(options_.publish_window_bytes);
  ok->set_pid(options_.pid);
  ok->set_machine(options_.machine);
  *ok->mutable_state() = state_;
  log_.info("peer_up", {{"kind", kind_name(hello.kind())}, {"peer", hello.id()}});
  handler_->on_peer_up(id, peer.identity);
  transmit(peer, answer, {});
}

void LinkServer::on_peer_message(Peer& peer, WireMessage& message, v1::PeerFrame& frame) {
  if (frame.has_close()) {
    fail(peer, Status(code_from_number(frame.close().code()), "it said goodbye"), Tell::kNobody);
    return;
  }
  if (peer.link.on_frame(frame.link().epoch(), frame.link().sequence(), now_) !=
      Link::Verdict::kAccept) {
    fail(peer, Status(Code::kStaleEpoch, "frames were lost on the way"), Tell::kPeer);
    return;
  }
  if (frame.has_heartbeat()) return;
  if (must_wait(peer, frame)) {
    hold(peer, std::move(message));
  } else if (!peer.failed) {
    dispatch(peer, frame, std::move(message.bodies));
  }
}

bool LinkServer::must_wait(Peer& peer, const v1::PeerFrame& frame) {
  // What brings the catalog to the peer cannot wait for the catalog.
  if (frame.has_catalog_follow()) return false;
  if (frame.catalog_index() > applied_.value && options_.catalog_leader) {
    fail(peer,
         Status(Code::kStaleEpoch,
                "it knows the catalog at " + std::to_string(frame.catalog_index()) +
                    ", but the leader has it at " + std::to_string(applied_.value)),
         Tell::kPeer);
    return false;
  }
  return frame.catalog_index() > applied_.value || !peer.held.empty();
}

void LinkServer::hold(Peer& peer, WireMessage message) {
  peer.held_bytes += message.header.size() + message.bodies.size() + kHeldFrameBytes;
  peer.held.push_back(std::move(message));
  if (peer.held_bytes > options_.held_bytes) {
    fail(peer,
         Status(Code::kResourceError,
                "too much waits for the catalog, which is at " + std::to_string(applied_.value)),
         Tell::kPeer);
  }
}

void LinkServer::dispatch(Peer& peer, v1::PeerFrame& frame, SharedBytes bodies) {
  const Status handled = handler_->on_peer_frame(peer.id, frame, std::move(bodies));
  if (!handled.is_ok()) fail(peer, handled, Tell::kPeer);
}

void LinkServer::set_catalog_index(CatalogIndex applied, TimePoint now) {
  if (applied == applied_) return;
  applied_ = applied;
  now_ = now;
  for (const auto& [id, peer] : peers_) release_held(*peer);
  reap();
}

void LinkServer::release_held(Peer& peer) {
  while (!peer.held.empty() && !peer.failed) {
    WireMessage& message = peer.held.front();
    v1::PeerFrame* frame = parse(message);
    SEGUE_CHECK(frame != nullptr);  // it was read before it was held
    if (frame->catalog_index() > applied_.value) return;
    peer.held_bytes -= message.header.size() + message.bodies.size() + kHeldFrameBytes;
    SharedBytes bodies = std::move(message.bodies);
    dispatch(peer, *frame, std::move(bodies));
    peer.held.pop_front();
  }
}

void LinkServer::on_timers(TimePoint now) {
  now_ = now;
  for (const auto& [id, peer] : peers_) {
    if (peer->link.expired(now)) {
      fail(*peer, Status(Code::kTimeout, "it is silent"), Tell::kPeer);
    } else if (peer->link.heartbeat_due(now)) {
      peer->state_told = now;
      v1::NodeFrame frame;
      *frame.mutable_state() = state_;
      transmit(*peer, frame, {});
    }
  }
  reap();
}

TimePoint LinkServer::next_timer() const {
  TimePoint next = TimePoint::max();
  for (const auto& [id, peer] : peers_) next = std::min(next, peer->link.next_timer());
  return next;
}

void LinkServer::set_state(const v1::NodeState& state, TimePoint now) {
  const bool tell = state.blocked_reason() != state_.blocked_reason();
  state_ = state;
  now_ = now;
  for (const auto& [id, peer] : peers_) {
    // Also while other frames make heartbeats needless.
    if (!tell && now - peer->state_told < options_.heartbeat) continue;
    peer->state_told = now;
    v1::NodeFrame frame;
    *frame.mutable_state() = state_;
    transmit(*peer, frame, {});
  }
  reap();
}

void LinkServer::flush(TimePoint now) {
  now_ = now;
  for (const PeerId id : std::exchange(dirty_, {})) {
    const auto found = peers_.find(id);
    if (found == peers_.end()) continue;
    found->second->dirty = false;
    found->second->outbox.flush();
  }
  reap();
}

void LinkServer::close_all(TimePoint now) {
  flush(now);
  for (const auto& [id, peer] : peers_) {
    send_close(peer->route, peer->link.epoch(),
               Status(Code::kConnectionForced, "node " + options_.node_id + " stops"));
  }
  peers_.clear();
  by_route_.clear();
}

void LinkServer::transmit(Peer& peer, v1::NodeFrame& frame,
                          const std::vector<SharedBytes>& bodies) {
  if (peer.failed) return;
  frame.mutable_link()->set_epoch(peer.link.epoch());
  frame.mutable_link()->set_sequence(peer.link.stamp(now_));
  if (!transport_.send(peer.route, frame.SerializeAsString(), bodies)) {
    fail(peer, Status(Code::kResourceError, "it is gone, or does not read what is sent to it"),
         Tell::kNobody);
  }
}

void LinkServer::send_close(const std::string& route, std::uint64_t epoch, const Status& reason) {
  v1::NodeFrame frame;
  frame.mutable_link()->set_epoch(epoch);
  frame.mutable_close()->set_code(static_cast<std::uint32_t>(reason.code()));
  frame.mutable_close()->set_text(reason.message());
  transport_.send(route, frame.SerializeAsString(), {});
}

void LinkServer::fail(Peer& peer, const Status& reason, Tell tell) {
  if (peer.failed) return;
  peer.failed = true;
  failed_.push_back(peer.id);
  log_.info("peer_down", {{"kind", kind_name(peer.identity.kind)},
                          {"peer", peer.identity.id},
                          {"code", reason.code()},
                          {"reason", reason}});
  if (tell == Tell::kPeer) send_close(peer.route, peer.link.epoch(), reason);
}

void LinkServer::reap() {
  while (!failed_.empty()) {
    for (const PeerId id : std::exchange(failed_, {})) {
      const auto found = peers_.find(id);
      if (found == peers_.end()) continue;
      const std::unique_ptr<Peer> peer = std::move(found->second);
      peers_.erase(found);
      by_route_.erase(peer->route);
      handler_->on_peer_lost(id, peer->identity);
    }
  }
}

PeerOutbox* LinkServer::outbox(PeerId id) {
  const auto found = peers_.find(id);
  if (found == peers_.end() || found->second->failed) return nullptr;
  if (!std::exchange(found->second->dirty, true)) dirty_.push_back(id);
  return &found->second->outbox;
}

void LinkServer::confirm(PeerId peer, v1::ShardConfirm confirm) {
  if (PeerOutbox* to = outbox(peer)) to->add(std::move(confirm));
}
void LinkServer::deliver(PeerId peer, v1::NodeDelivery delivery, std::vector<SharedBytes> bodies) {
  if (PeerOutbox* to = outbox(peer)) to->add(std::move(delivery), std::move(bodies));
}
void LinkServer::consumer_event(PeerId peer, v1::ConsumerEvent event) {
  if (PeerOutbox* to = outbox(peer)) to->add(std::move(event));
}
void LinkServer::queue_reply(PeerId peer, v1::QueueReply reply, std::vector<SharedBytes> bodies) {
  if (PeerOutbox* to = outbox(peer)) to->add(std::move(reply), std::move(bodies));
}
void LinkServer::catalog_reply(PeerId peer, v1::CatalogReply reply) {
  if (PeerOutbox* to = outbox(peer)) to->add(std::move(reply));
}
void LinkServer::catalog_feed(PeerId peer, v1::CatalogFeed feed) {
  if (PeerOutbox* to = outbox(peer)) to->add(std::move(feed));
}

}  // namespace segue::node
