#include "common/routing/match_cache.h"

#include <utility>

namespace segue {

const std::vector<QueueId>* MatchCache::find(std::string_view routing_key) {
  if (const auto found = young_.entries.find(routing_key); found != young_.entries.end()) {
    return &found->second;
  }
  const auto found = old_.entries.find(routing_key);
  if (found == old_.entries.end()) return nullptr;
  auto entry = old_.entries.extract(found);
  old_.queues -= entry.mapped().size();
  return insert(std::move(entry.key()), std::move(entry.mapped()));
}

void MatchCache::put(std::string_view routing_key, const std::vector<QueueId>& queues) {
  if (queues.size() > limits_.entry_queues || routing_key.size() > limits_.key_bytes) return;
  insert(std::string(routing_key), queues);
}

const std::vector<QueueId>* MatchCache::insert(std::string key, std::vector<QueueId> queues) {
  if (young_.entries.size() >= limits_.entries || young_.queues + queues.size() > limits_.queues) {
    old_ = std::exchange(young_, Generation{});
  }
  const auto [entry, is_new] = young_.entries.try_emplace(std::move(key), std::move(queues));
  if (is_new) young_.queues += entry->second.size();
  return &entry->second;
}

void MatchCache::clear() {
  if (size() == 0) return;
  young_ = Generation{};
  old_ = Generation{};
}

}  // namespace segue
