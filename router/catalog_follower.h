#pragma once

#include <map>
#include <string>
#include <vector>

#include "common/logging.h"
#include "router/catalog_view.h"
#include "router/node_table.h"

namespace segue::router {

/// Keeps the catalog view up to date from a node's feed: the leader's, or while that is away any
/// node's, so that a router can start without the leader. One thread.
class CatalogFollower {
 public:
  CatalogFollower(NodeTable& nodes, CatalogView& view, Logger& log)
      : nodes_(nodes), view_(view), log_(log) {}

  void on_node_up(Node& node);
  void on_node_down(Node& node);
  void on_feed(Node& node, const v1::CatalogFeed& feed);

 private:
  void follow(Node& node);
  void refuse_older(Node& node, CatalogIndex index);

  NodeTable& nodes_;
  CatalogView& view_;
  Logger& log_;
  // By node that is followed: the part of a snapshot that has come.
  std::map<std::string, std::vector<v1::CatalogEntry>> followed_;
};

}  // namespace segue::router
