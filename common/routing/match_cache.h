#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "common/routing/route_target.h"
#include "common/routing/string_map.h"

namespace segue {

/// Remembers to which targets recent routing keys led to. Bounded in entries and targets; what was
/// not asked for lately goes first. Two generations: when the young one is full it becomes the old
/// one, and the old one is dropped; an entry that is asked for again moves to the young one.
class MatchCache {
 public:
  struct Limits {
    std::size_t entries = 1024;        // of a generation
    std::size_t targets = 64 << 10;    // of a generation, over all entries
    std::size_t entry_targets = 4096;  // a larger result is not kept
    std::size_t key_bytes = 255;       // a longer key is not kept
  };

  MatchCache() : MatchCache(Limits{}) {}
  explicit MatchCache(Limits limits) : limits_(limits) {}

  /// The targets of the key, or nullptr if they are not remembered. Valid until the next call.
  const std::vector<RouteTarget>* find(std::string_view routing_key);
  void put(std::string_view routing_key, const std::vector<RouteTarget>& targets);
  /// Forgets everything: bindings changed.
  void clear();
  std::size_t size() const { return young_.entries.size() + old_.entries.size(); }

 private:
  struct Generation {
    StringMap<std::vector<RouteTarget>> entries;
    std::size_t targets = 0;
  };

  const std::vector<RouteTarget>* insert(std::string key, std::vector<RouteTarget> targets);

  const Limits limits_;
  Generation young_;
  Generation old_;
};

}  // namespace segue
