#pragma once

#include <cstdint>

namespace segue::node {

/// What a queue's arguments say of its deduplication window.
struct DedupeLimits {
  std::int64_t window_ms = 0;  // 0: the queue has none
  std::uint64_t max_entries = 0;

  bool any() const { return window_ms > 0; }
  bool operator==(const DedupeLimits&) const = default;
};

}  // namespace segue::node
