#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "common/logging.h"
#include "common/node_link.h"
#include "node/catalog_replica.h"

namespace segue::node {

/// Keeps a node's replica up with the catalog's leader over a link to it, and takes this node's own
/// wishes (deleting a queue) there. When the link is down the replica stays as it is; it is never
/// set back to an earlier index. Reactor's thread.
class CatalogFollower final : public NodeLink::Events {
 public:
  /// Called whenever the replica has all that the leader had when it answered.
  using CaughtUp = std::function<void()>;

  /// The references outlive the follower; `clock` stamps what is sent.
  CatalogFollower(CatalogReplica& replica, const Clock& clock, Logger& log, CaughtUp caught_up)
      : replica_(replica), clock_(clock), log_(log), caught_up_(std::move(caught_up)) {}

  /// The link whose events this object gets; before the link's first poll().
  void set_link(NodeLink* link) { link_ = link; }

  /// Asks the leader; lost when the link is down or goes down, so the caller asks again.
  void request(const v1::CatalogOperation& operation);

  void on_up(const v1::PeerHelloOk& hello) override;
  void on_down(const Status& reason) override;
  void on_frame(v1::NodeFrame& frame, SharedBytes bodies) override;

 private:
  void on_feed(v1::CatalogFeed& feed);
  void on_snapshot(v1::CatalogFeed& feed);
  void refuse_older(CatalogIndex index);
  void on_replies(const v1::CatalogReplies& replies);

  CatalogReplica& replica_;
  const Clock& clock_;
  Logger& log_;
  CaughtUp caught_up_;
  NodeLink* link_ = nullptr;
  std::uint64_t last_request_ = 0;
  std::vector<v1::CatalogEntry> snapshot_;  // pieces that have come
};

}  // namespace segue::node
