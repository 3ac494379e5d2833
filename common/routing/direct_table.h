#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "common/routing/string_map.h"
#include "common/routing/target_set.h"

namespace segue {

/// Targets by exact routing key. A lookup costs one hash, however many keys there are.
class DirectTable {
 public:
  void add(std::string_view routing_key, RouteTarget target);
  /// Takes one binding of the target by this key away.
  void remove(std::string_view routing_key, RouteTarget target);
  /// Sets `targets` to those bound by the key, in order.
  void match(std::string_view routing_key, std::vector<RouteTarget>& targets) const;
  std::size_t key_count() const { return targets_.size(); }

 private:
  StringMap<TargetSet> targets_;
};

}  // namespace segue
