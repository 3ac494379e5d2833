#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "common/routing/route_target.h"

namespace segue {

/// Targets, each with how many bindings lead to it.
class TargetSet {
 public:
  void add(RouteTarget target) { ++bindings_[target]; }

  /// Takes one binding away. The target has one.
  void remove(RouteTarget target) {
    const auto found = bindings_.find(target);
    if (found != bindings_.end() && --found->second == 0) bindings_.erase(found);
  }

  bool empty() const { return bindings_.empty(); }

  /// Appends the targets in their order.
  void append_to(std::vector<RouteTarget>& targets) const {
    for (const auto& [target, count] : bindings_) targets.push_back(target);
  }

 private:
  std::map<RouteTarget, std::uint32_t> bindings_;
};

}  // namespace segue
