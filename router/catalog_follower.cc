#include "router/catalog_follower.h"

namespace segue::router {

void CatalogFollower::follow(Node& node) {
  followed_[node.id].clear();
  node.outbox.catalog_follow(view_.index());
  log_.info("catalog_followed", {{"node", node.id}, {"after_index", view_.index()}});
}

void CatalogFollower::on_node_up(Node& node) {
  if (node.hello.catalog_leader() || followed_.empty()) follow(node);
}

void CatalogFollower::on_node_down(Node& node) {
  if (followed_.erase(node.id) == 0 || !followed_.empty()) return;
  for (const auto& [id, other] : nodes_.all()) {
    if (!other->up) continue;
    follow(*other);
    return;
  }
}

void CatalogFollower::on_feed(Node& node, const v1::CatalogFeed& feed) {
  const auto followed = followed_.find(node.id);
  if (followed == followed_.end()) return;
  if (!feed.snapshot()) {
    for (const v1::CatalogEntry& entry : feed.entries()) view_.apply(entry);
    return;
  }
  std::vector<v1::CatalogEntry>& parts = followed->second;
  parts.insert(parts.end(), feed.entries().begin(), feed.entries().end());
  if (!feed.snapshot_end()) return;
  // The leader sends one only to a view that does not fit its history.
  const bool newer = !parts.empty() && CatalogIndex(parts.back().index()) > view_.index();
  if (newer || (!parts.empty() && node.hello.catalog_leader())) {
    view_.replace(parts, CatalogIndex(parts.back().index()));
  }
  parts.clear();
}

}  // namespace segue::router
