#include "common/routing/direct_table.h"

namespace segue {

void DirectTable::add(std::string_view routing_key, RouteTarget target) {
  auto found = targets_.find(routing_key);
  if (found == targets_.end()) found = targets_.try_emplace(std::string(routing_key)).first;
  found->second.add(target);
}

void DirectTable::remove(std::string_view routing_key, RouteTarget target) {
  const auto found = targets_.find(routing_key);
  if (found == targets_.end()) return;
  found->second.remove(target);
  if (found->second.empty()) targets_.erase(found);
}

void DirectTable::match(std::string_view routing_key, std::vector<RouteTarget>& targets) const {
  targets.clear();
  const auto found = targets_.find(routing_key);
  if (found != targets_.end()) found->second.append_to(targets);
}

}  // namespace segue
