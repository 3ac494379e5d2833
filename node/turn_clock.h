#pragma once

#include <cstdint>

#include "common/clock.h"

namespace segue::node {

/// The time as the loop's turn has it: read once, the same for all that happens in the turn.
struct TurnClock {
  TimePoint now{};
  std::int64_t wall_ms = 0;
};

}  // namespace segue::node
