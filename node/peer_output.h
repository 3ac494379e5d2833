#pragma once

#include <cstdint>
#include <vector>

#include "common/bytes.h"
#include "common/ids.h"
#include "segue/v1/peer.pb.h"

namespace segue::node {

/// One life of the link of one router (or node) to this node.
using PeerId = StrongId<struct PeerIdTag, std::uint64_t>;

/// Where the node's cores leave what is for peers. The link server collects it and sends, at the
/// end of the loop's turn, one frame of each kind for each peer. What is for a peer that has gone
/// is dropped (its reset covers it). Reactor's thread.
class PeerOutput {
 public:
  virtual ~PeerOutput() = default;
  virtual void confirm(PeerId peer, v1::ShardConfirm confirm) = 0;
  /// `bodies` stand back to back; delivery.body_bytes is their sum.
  virtual void deliver(PeerId peer, v1::NodeDelivery delivery, std::vector<SharedBytes> bodies) = 0;
  virtual void consumer_event(PeerId peer, v1::ConsumerEvent event) = 0;
  /// `bodies` belong to reply.delivery, if it has one.
  virtual void queue_reply(PeerId peer, v1::QueueReply reply, std::vector<SharedBytes> bodies) = 0;
  virtual void catalog_reply(PeerId peer, v1::CatalogReply reply) = 0;
  virtual void catalog_feed(PeerId peer, v1::CatalogFeed feed) = 0;
};

}  // namespace segue::node
