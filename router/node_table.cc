#include "router/node_table.h"

namespace segue::router {

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
