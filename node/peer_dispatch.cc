#include "node/peer_dispatch.h"

#include "node/status_error.h"

namespace segue::node {

void PeerDispatch::on_peer_up(PeerId peer, const PeerIdentity& identity) {
  if (identity.kind == v1::PEER_KIND_NODE) nodes_[peer] = identity.id;
  if (parts_.leader != nullptr && identity.kind == v1::PEER_KIND_ROUTER) {
    parts_.leader->router_up(identity.id, identity.incarnation);
  }
}

void PeerDispatch::on_peer_lost(PeerId peer, const PeerIdentity& identity) {
  parts_.queues.on_peer_lost(peer);
  parts_.feed.on_peer_lost(peer);
  nodes_.erase(peer);
  if (parts_.leader != nullptr && identity.kind == v1::PEER_KIND_ROUTER) {
    parts_.leader->router_down(identity.id, parts_.clock.now());
  }
}

Status PeerDispatch::on_peer_frame(PeerId peer, v1::PeerFrame& frame, SharedBytes bodies) {
  if (!bodies.empty() && !frame.has_publishes()) {
    return Status(Code::kFrameError, std::to_string(bodies.size()) +
                                         " bytes of bodies came with a frame that has none");
  }
  switch (frame.body_case()) {
    case v1::PeerFrame::kPublishes:
      return on_publishes(peer, frame.publishes(), bodies);
    case v1::PeerFrame::kConsumers:
      for (const auto& command : frame.consumers().commands()) {
        parts_.queues.on_consumer_command(peer, command);
      }
      return {};
    case v1::PeerFrame::kSettles:
      for (const auto& settle : frame.settles().settles()) parts_.queues.on_settle(peer, settle);
      return {};
    case v1::PeerFrame::kQueueRequests:
      for (const auto& request : frame.queue_requests().requests()) {
        parts_.queues.on_queue_request(peer, request);
      }
      return {};
    case v1::PeerFrame::kCatalogRequests:
      for (const auto& request : frame.catalog_requests().requests()) {
        on_catalog_request(peer, request);
      }
      return {};
    case v1::PeerFrame::kCatalogFollow:
      on_follow(peer, CatalogIndex(frame.catalog_follow().after_index()));
      return {};
    case v1::PeerFrame::kHello:
    case v1::PeerFrame::kHeartbeat:
    case v1::PeerFrame::kClose:
    case v1::PeerFrame::BODY_NOT_SET:
      break;
  }
  return Status(Code::kFrameError, "a frame of a kind that this node does not know");
}

Status PeerDispatch::on_publishes(PeerId peer, const v1::ShardPublishes& publishes,
                                  const SharedBytes& bodies) {
  // All is checked before anything is taken.
  std::size_t rest = bodies.size();
  for (const v1::ShardPublish& publish : publishes.publishes()) {
    if (publish.body_bytes() > rest) {
      return Status(Code::kFrameError, "the bodies of a publish have fewer bytes than it says");
    }
    rest -= publish.body_bytes();
  }
  if (rest > 0) {
    return Status(Code::kFrameError,
                  std::to_string(rest) + " bytes of bodies belong to no publish of the frame");
  }
  std::size_t offset = 0;
  for (const v1::ShardPublish& publish : publishes.publishes()) {
    parts_.queues.on_publish(peer, publish, bodies.slice(offset, publish.body_bytes()));
    offset += publish.body_bytes();
  }
  return {};
}

void PeerDispatch::on_follow(PeerId peer, CatalogIndex after) {
  // Nothing reaches another node that the leader did not have on its disk. (A router may have seen
  // what the whole cluster has lost since; it follows from where the leader is.)
  const auto node = nodes_.find(peer);
  if (parts_.leader != nullptr && node != nodes_.end() && after > parts_.feed.index()) {
    behind_ = "node " + parts_.leader_id + ", which leads the catalog, has it at " +
              std::to_string(parts_.feed.index().value) + ", and node " + node->second + " at " +
              std::to_string(after.value) +
              ": the leader's data directory was lost or is an old copy; stop it and give it the "
              "other's catalog.db (docs/operations.md)";
  }
  parts_.feed.follow(peer, after);
}

void PeerDispatch::on_catalog_request(PeerId peer, const v1::CatalogRequest& request) {
  const auto answer = [&output = parts_.output, peer,
                       id = request.request_id()](const v1::CatalogOutcome& outcome) {
    v1::CatalogReply reply;
    reply.set_request_id(id);
    *reply.mutable_outcome() = outcome;
    output.catalog_reply(peer, std::move(reply));
  };
  if (parts_.leader != nullptr && behind_.empty()) {
    (void)parts_.leader->submit(request.operation(), answer);
    return;
  }
  const std::string why = parts_.leader != nullptr ? behind_
                                                   : "this node does not lead the catalog; node " +
                                                         parts_.leader_id + " does";
  v1::CatalogOutcome outcome;
  *outcome.mutable_error() = status_error(Status(Code::kCatalogUnavailable, why));
  answer(outcome);
}

}  // namespace segue::node
