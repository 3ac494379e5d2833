#include "node/catalog_follower.h"

#include <utility>

namespace segue::node {

void CatalogFollower::request(const v1::CatalogOperation& operation) {
  v1::PeerFrame frame;
  v1::CatalogRequest* request = frame.mutable_catalog_requests()->add_requests();
  request->set_request_id(++last_request_);
  *request->mutable_operation() = operation;
  link_->send(frame, {}, clock_.now());
}

void CatalogFollower::on_up(const v1::PeerHelloOk& hello) {
  if (!hello.catalog_leader()) {
    link_->reset(
        Status(Code::kInvalidConfig, "node " + hello.node_id() +
                                         " does not lead the catalog; the processes have different "
                                         "configurations of catalog.leader"),
        clock_.now());
    return;
  }
  v1::PeerFrame frame;
  frame.mutable_catalog_follow()->set_after_index(replica_.state().index().value);
  link_->send(frame, {}, clock_.now());
}

void CatalogFollower::on_down(const Status& /*reason*/) {
  snapshot_.clear();
}

void CatalogFollower::on_frame(v1::NodeFrame& frame, SharedBytes /*bodies*/) {
  if (frame.has_catalog_feed()) {
    on_feed(*frame.mutable_catalog_feed());
  } else if (frame.has_catalog_replies()) {
    on_replies(frame.catalog_replies());
  }
}

void CatalogFollower::on_feed(v1::CatalogFeed& feed) {
  if (feed.snapshot()) {
    on_snapshot(feed);
    return;
  }
  for (const v1::CatalogEntry& entry : feed.entries()) {
    if (replica_.apply(entry)) continue;
    link_->reset(
        Status(Code::kStaleEpoch, "the catalog's feed goes on at " + std::to_string(entry.index()) +
                                      ", but this node has it up to " +
                                      std::to_string(replica_.state().index().value)),
        clock_.now());
    return;
  }
  caught_up_();
}

void CatalogFollower::on_snapshot(v1::CatalogFeed& feed) {
  for (v1::CatalogEntry& entry : *feed.mutable_entries()) snapshot_.push_back(std::move(entry));
  if (!feed.snapshot_end()) return;
  const std::vector<v1::CatalogEntry> snapshot = std::exchange(snapshot_, {});
  const CatalogIndex index(snapshot.empty() ? 0 : snapshot.back().index());
  if (index < replica_.state().index()) {
    refuse_older(index);
    return;
  }
  log_.info("catalog_replaced", {{"index", index}, {"had", replica_.state().index()}});
  replica_.reset(snapshot, index);
  caught_up_();
}

void CatalogFollower::refuse_older(CatalogIndex index) {
  // Nothing reaches this node that the leader did not have on its disk: it lost its data. To follow
  // it would be to drop the queues of the whole cluster.
  const Status reason(Code::kPreconditionFailed,
                      "the leader has the catalog at " + std::to_string(index.value) +
                          ", this node at " + std::to_string(replica_.state().index().value) +
                          ": the leader's data directory was lost or is an old copy; give it this "
                          "node's catalog.db (docs/operations.md)");
  log_.error("catalog_leader_is_behind", {{"reason", reason}});
  link_->reset(reason, clock_.now());
}

void CatalogFollower::on_replies(const v1::CatalogReplies& replies) {
  for (const v1::CatalogReply& reply : replies.replies()) {
    if (!reply.outcome().has_error()) continue;
    log_.warn("catalog_request_refused", {{"entity", reply.outcome().error().entity()},
                                          {"reason", reply.outcome().error().text()}});
  }
}

}  // namespace segue::node
