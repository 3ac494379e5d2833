#include "common/routing/topic_trie.h"

#include <algorithm>
#include <utility>

namespace segue {
namespace {

/// Calls `use(word)` for each word of a key or pattern.
template <typename Use>
void for_each_word(std::string_view text, const Use& use) {
  if (text.empty()) return;
  for (;;) {
    const std::size_t dot = text.find('.');
    use(text.substr(0, dot));
    if (dot == std::string_view::npos) return;
    text.remove_prefix(dot + 1);
  }
}

}  // namespace

TopicTrie::NodeIndex TopicTrie::child(NodeIndex parent, std::string_view word) const {
  const Node& node = nodes_[parent];
  if (word == "*") return node.star;
  if (word == "#") return node.hash;
  const auto found = node.words.find(word);
  return found == node.words.end() ? kNoNode : found->second;
}

TopicTrie::NodeIndex TopicTrie::make_child(NodeIndex parent, std::string_view word) {
  NodeIndex made = 0;
  if (free_.empty()) {
    made = static_cast<NodeIndex>(nodes_.size());
    nodes_.emplace_back();
  } else {
    made = free_.back();
    free_.pop_back();
  }
  Node& node = nodes_[parent];
  if (word == "*") {
    node.star = made;
  } else if (word == "#") {
    node.hash = made;
    nodes_[made].after_hash = true;
  } else {
    node.words.emplace(std::string(word), made);
  }
  return made;
}

void TopicTrie::remove_child(NodeIndex parent, std::string_view word) {
  const NodeIndex removed = child(parent, word);
  Node& node = nodes_[parent];
  if (word == "*") {
    node.star = kNoNode;
  } else if (word == "#") {
    node.hash = kNoNode;
  } else {
    node.words.erase(node.words.find(word));
  }
  nodes_[removed] = Node{};
  free_.push_back(removed);
}

bool TopicTrie::is_needed(const Node& node) const {
  return !node.targets.empty() || !node.words.empty() || node.star != kNoNode ||
         node.hash != kNoNode;
}

void TopicTrie::add(std::string_view pattern, RouteTarget target) {
  NodeIndex at = kRoot;
  for_each_word(pattern, [&](std::string_view word) {
    const NodeIndex next = child(at, word);
    at = next != kNoNode ? next : make_child(at, word);
  });
  nodes_[at].targets.add(target);
}

void TopicTrie::remove(std::string_view pattern, RouteTarget target) {
  std::vector<std::pair<NodeIndex, std::string_view>>
      path;  // each node with the word taken from it
  NodeIndex at = kRoot;
  for_each_word(pattern, [&](std::string_view word) {
    if (at == kNoNode) return;
    path.emplace_back(at, word);
    at = child(at, word);
  });
  if (at == kNoNode) return;
  nodes_[at].targets.remove(target);
  while (!path.empty() && !is_needed(nodes_[at])) {
    const auto [parent, word] = path.back();
    path.pop_back();
    remove_child(parent, word);
    at = parent;
  }
}

void TopicTrie::reach(NodeIndex node) {
  // A `#` may stand for no word at all, so whoever reaches a node reaches its `#` too.
  while (node != kNoNode && nodes_[node].reached_at != step_) {
    nodes_[node].reached_at = step_;
    active_.push_back(node);
    node = nodes_[node].hash;
  }
}

void TopicTrie::advance(std::string_view word) {
  std::swap(active_, previous_);
  active_.clear();
  ++step_;
  for (const NodeIndex index : previous_) {
    const Node& node = nodes_[index];
    if (!node.words.empty()) {
      const auto found = node.words.find(word);
      if (found != node.words.end()) reach(found->second);
    }
    reach(node.star);
    if (node.after_hash) reach(index);
  }
}

void TopicTrie::match(std::string_view key, std::vector<RouteTarget>& targets) {
  targets.clear();
  active_.clear();
  ++step_;
  reach(kRoot);
  for_each_word(key, [this](std::string_view word) { advance(word); });
  std::size_t sources = 0;
  for (const NodeIndex node : active_) {
    if (nodes_[node].targets.empty()) continue;
    nodes_[node].targets.append_to(targets);
    ++sources;
  }
  if (sources < 2) return;
  std::sort(targets.begin(), targets.end());
  targets.erase(std::unique(targets.begin(), targets.end()), targets.end());
}

}  // namespace segue
