#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>
#include <vector>

#include "common/routing/string_map.h"
#include "common/routing/target_set.h"

namespace segue {

/// Targets by topic pattern. Patterns and keys are words separated by dots; the empty text has no
/// words, and "a..b" has an empty one in the middle. In a pattern the word `*` stands for exactly
/// one word, `#` for any number, also none; inside a longer word they mean themselves.
///
/// A trie of words. A lookup keeps the set of nodes that the words so far can lead to, so its cost
/// is at most words times nodes, and never exponential, whatever the patterns. One thread.
class TopicTrie {
 public:
  TopicTrie() { nodes_.emplace_back(); }

  void add(std::string_view pattern, RouteTarget target);
  /// Takes one binding of the target by this pattern away.
  void remove(std::string_view pattern, RouteTarget target);
  /// Sets `targets` to those of all patterns that match the key, each once, in order.
  void match(std::string_view key, std::vector<RouteTarget>& targets);
  /// Nodes in use; 1 without patterns.
  std::size_t node_count() const { return nodes_.size() - free_.size(); }

 private:
  using NodeIndex = std::uint32_t;
  static constexpr NodeIndex kRoot = 0;
  static constexpr NodeIndex kNoNode = std::numeric_limits<NodeIndex>::max();

  struct Node {
    StringMap<NodeIndex> words;
    NodeIndex star = kNoNode;      // child by `*`
    NodeIndex hash = kNoNode;      // child by `#`
    bool after_hash = false;       // this node is a `#`: any further word leads back to it
    std::uint64_t reached_at = 0;  // the step_ that put it into the active set last
    TargetSet targets;
  };

  NodeIndex child(NodeIndex parent, std::string_view word) const;
  NodeIndex make_child(NodeIndex parent, std::string_view word);
  void remove_child(NodeIndex parent, std::string_view word);
  bool is_needed(const Node& node) const;
  void reach(NodeIndex node);
  void advance(std::string_view word);

  std::vector<Node> nodes_;
  std::vector<NodeIndex> free_;
  // Scratch of match(), kept so that a lookup allocates nothing.
  std::vector<NodeIndex> active_;
  std::vector<NodeIndex> previous_;
  std::uint64_t step_ = 0;
};

}  // namespace segue
