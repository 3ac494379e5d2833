#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "common/clock.h"
#include "router/node_channel.h"
#include "router/node_outbox.h"
#include "segue/v1/peer.pb.h"

namespace segue::router {

/// One node as this router knows it.
struct Node {
  std::string id;
  std::string endpoint;
  NodeChannel* channel = nullptr;
  bool up = false;
  /// Why it is not up, as its link says it.
  std::string down_reason = "not connected yet";
  /// When a frame of it came last; when the router started, before the first.
  TimePoint heard{};
  /// What it said when the link came up last, and of itself since.
  v1::PeerHelloOk hello;
  v1::NodeState state;
  /// It leads the catalog, and what it has of it is older than what this router has seen: its data
  /// directory was lost, or is an old copy.
  bool catalog_behind = false;
  NodeOutbox outbox;

  /// "node n3 is not reachable: the connection ended (tcp://n3:7101)".
  std::string unreachable() const;
  /// Why it is not up, without naming it again.
  std::string why_down() const;

  bool leads_catalog() const { return up && hello.catalog_leader() && !catalog_behind; }
};

/// The nodes of the configuration. Nodes stay where they are as long as the table lives. One
/// thread.
class NodeTable {
 public:
  /// `channel` outlives the table.
  Node& add(std::string id, std::string endpoint, NodeChannel& channel);
  /// Null when the configuration has no such node.
  Node* find(std::string_view id);
  /// The node that leads the catalog; null while its link is down, or its catalog is behind.
  Node* catalog_leader();
  /// Its link is up, and its catalog is behind.
  bool leader_is_behind() const;
  std::map<std::string, std::unique_ptr<Node>, std::less<>>& all() { return nodes_; }
  /// Sends what the turn has collected.
  void flush();

 private:
  std::map<std::string, std::unique_ptr<Node>, std::less<>> nodes_;
};

}  // namespace segue::router
