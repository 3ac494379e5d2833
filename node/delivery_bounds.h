#pragma once

#include <cstdint>

namespace segue::node {

// What one turn gives out of one queue at most.
inline constexpr std::uint64_t kQueueMessages = 8192;
inline constexpr std::uint64_t kQueueBytes = 4 << 20;

}  // namespace segue::node
