#include "router/node_table.h"

#include <algorithm>

namespace segue::router {

std::string Node::why_down() const {
  std::string_view rest = down_reason;
  const auto drop = [&rest](std::string_view prefix) {
    const bool there = rest.starts_with(prefix);
    if (there) rest.remove_prefix(prefix.size());
    return there;
  };
  if (!drop("node " + id + " ")) return down_reason;
  const std::string place = drop("at " + endpoint + " ") ? " (" + endpoint + ")" : "";
  const bool reason = drop("is gone: ") || drop("cannot be reached: ");
  return (reason ? "" : "it ") + std::string(rest) + place;
}

std::string Node::unreachable() const {
  return "node " + id + " is not reachable: " + why_down();
}

Node& NodeTable::add(std::string id, std::string endpoint, NodeChannel& channel) {
  auto node = std::make_unique<Node>();
  node->id = id;
  node->endpoint = std::move(endpoint);
  node->channel = &channel;
  return *(nodes_[std::move(id)] = std::move(node));
}

Node* NodeTable::find(std::string_view id) {
  const auto found = nodes_.find(id);
  return found == nodes_.end() ? nullptr : found->second.get();
}

bool NodeTable::leader_is_behind() const {
  return std::any_of(nodes_.begin(), nodes_.end(), [](const auto& node) {
    return node.second->up && node.second->catalog_behind;
  });
}

Node* NodeTable::catalog_leader() {
  for (const auto& [id, node] : nodes_) {
    if (node->leads_catalog()) return node.get();
  }
  return nullptr;
}

void NodeTable::flush() {
  for (const auto& [id, node] : nodes_) {
    if (node->up && !node->outbox.empty()) node->outbox.flush(*node->channel);
  }
}

}  // namespace segue::router
