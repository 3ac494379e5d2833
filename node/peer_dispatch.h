#pragma once

#include <map>
#include <string>

#include "common/clock.h"
#include "node/catalog_feed.h"
#include "node/catalog_leader.h"
#include "node/peer_handler.h"
#include "node/queue_host.h"

namespace segue::node {

/// Takes a peer's frames apart and brings each item to whom it concerns: the queues, the catalog's
/// leader or its feed. Checks what concerns the frame as a whole: a known kind, and bodies that add
/// up. Reactor's thread.
class PeerDispatch final : public PeerHandler {
 public:
  struct Parts {
    QueueHost& queues;
    CatalogFeed& feed;
    CatalogLeader* leader;  // null on nodes that do not lead the catalog
    PeerOutput& output;
    const Clock& clock;
    std::string leader_id;
  };

  /// What the parts refer to outlives the dispatch.
  explicit PeerDispatch(Parts parts) : parts_(std::move(parts)) {}

  void on_peer_up(PeerId peer, const PeerIdentity& identity) override;
  void on_peer_lost(PeerId peer, const PeerIdentity& identity) override;
  Status on_peer_frame(PeerId peer, v1::PeerFrame& frame, SharedBytes bodies) override;

 private:
  Status on_publishes(PeerId peer, const v1::ShardPublishes& publishes, const SharedBytes& bodies);
  void on_catalog_request(PeerId peer, const v1::CatalogRequest& request);
  void on_follow(PeerId peer, CatalogIndex after);

  Parts parts_;
  std::map<PeerId, std::string> nodes_;  // that are linked here, by peer
  /// This node leads the catalog, and another is ahead of it: changes would make a second history
  /// of it. Until it is started again.
  std::string behind_;
};

}  // namespace segue::node
