#include "router/catalog_follower.h"

#include <algorithm>

namespace segue::router {

void CatalogFollower::follow(Node& node) {
  followed_[node.id].clear();
  node.outbox.catalog_follow(view_.index());
  log_.info("catalog_followed", {{"node", node.id}, {"after_index", view_.index()}});
}

bool CatalogFollower::follows_leader() const {
  return std::any_of(followed_.begin(), followed_.end(), [&](const auto& followed) {
    const Node* node = nodes_.find(followed.first);
    return node != nullptr && node->hello.catalog_leader();
  });
}

void CatalogFollower::on_node_up(Node& node) {
  node.catalog_behind = false;
  if (node.hello.catalog_leader() || !follows_leader()) follow(node);
}

void CatalogFollower::on_node_down(Node& node) {
  if (followed_.erase(node.id) == 0 || follows_leader()) return;
  for (const auto& [id, other] : nodes_.all()) {
    if (other->up && !followed_.contains(id)) follow(*other);
  }
}

void CatalogFollower::on_feed(Node& node, const v1::CatalogFeed& feed) {
  const auto followed = followed_.find(node.id);
  if (followed == followed_.end()) return;
  if (!feed.snapshot()) {
    for (const v1::CatalogEntry& entry : feed.entries()) view_.apply(entry);
    if (node.hello.catalog_leader()) view_.set_complete();
    return;
  }
  std::vector<v1::CatalogEntry>& parts = followed->second;
  parts.insert(parts.end(), feed.entries().begin(), feed.entries().end());
  if (!feed.snapshot_end()) return;
  // A node sends one only to a view that does not fit its history.
  if (!parts.empty()) {
    const CatalogIndex index(parts.back().index());
    if (index > view_.index() || (index == view_.index() && node.hello.catalog_leader())) {
      view_.replace(parts, index);
      if (node.hello.catalog_leader()) view_.set_complete();
    } else if (node.hello.catalog_leader() && index < view_.index()) {
      refuse_older(node, index);
    }
  }
  parts.clear();
}

/// Nothing comes here that the leader did not have on its disk: it lost its data. To follow it
/// would be to forget queues that are there, and to confirm messages to them as unroutable.
void CatalogFollower::refuse_older(Node& node, CatalogIndex index) {
  node.catalog_behind = true;
  log_.error("catalog_leader_is_behind",
             {{"node", node.id},
              {"index", index},
              {"index_here", view_.index()},
              {"advice",
               "its data directory was lost or is an old copy: give it the catalog.db of another "
               "node (docs/operations.md); if all nodes were brought back from an older backup, "
               "restart the routers"}});
}

}  // namespace segue::router
