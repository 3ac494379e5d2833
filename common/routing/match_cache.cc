#include "common/routing/match_cache.h"

#include <utility>

namespace segue {

const std::vector<RouteTarget>* MatchCache::find(std::string_view routing_key) {
  if (const auto found = young_.entries.find(routing_key); found != young_.entries.end()) {
    return &found->second;
  }
  const auto found = old_.entries.find(routing_key);
  if (found == old_.entries.end()) return nullptr;
  auto entry = old_.entries.extract(found);
  old_.targets -= entry.mapped().size();
  return insert(std::move(entry.key()), std::move(entry.mapped()));
}

void MatchCache::put(std::string_view routing_key, const std::vector<RouteTarget>& targets) {
  if (targets.size() > limits_.entry_targets || routing_key.size() > limits_.key_bytes) return;
  insert(std::string(routing_key), targets);
}

const std::vector<RouteTarget>* MatchCache::insert(std::string key,
                                                   std::vector<RouteTarget> targets) {
  if (young_.entries.size() >= limits_.entries ||
      young_.targets + targets.size() > limits_.targets) {
    old_ = std::exchange(young_, Generation{});
  }
  const auto [entry, is_new] = young_.entries.try_emplace(std::move(key), std::move(targets));
  if (is_new) young_.targets += entry->second.size();
  return &entry->second;
}

void MatchCache::clear() {
  if (size() == 0) return;
  young_ = Generation{};
  old_ = Generation{};
}

}  // namespace segue
