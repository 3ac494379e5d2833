#pragma once

#include <map>
#include <string>
#include <vector>

#include "common/logging.h"
#include "router/catalog_view.h"
#include "router/node_table.h"

namespace segue::router {

/// Keeps the catalog view up to date from the leader's feed, or while that is away from all nodes'
/// (each may be behind the others), so that a router can start without the leader. One thread.
class CatalogFollower {
 public:
  CatalogFollower(NodeTable& nodes, CatalogView& view, Logger& log)
      : nodes_(nodes), view_(view), log_(log) {}

  void on_node_up(Node& node);
  void on_node_down(Node& node);
  void on_feed(Node& node, const v1::CatalogFeed& feed);

 private:
  bool follows_leader() const;
  void follow(Node& node);
  void refuse_older(Node& node, CatalogIndex index);

  NodeTable& nodes_;
  CatalogView& view_;
  Logger& log_;
  // By node that is followed: the part of a snapshot that has come.
  std::map<std::string, std::vector<v1::CatalogEntry>> followed_;
};

}  // namespace segue::router
