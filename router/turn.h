#pragma once

#include <cstdint>

#include "common/clock.h"

namespace segue::router {

/// The time as the loop's present turn has it. Owned by Router, set before each event, read by
/// every part: within an event, time stands still.
struct Turn {
  TimePoint now{};
  /// Milliseconds since 1970-01-01 UTC.
  std::int64_t wall_ms = 0;
};

}  // namespace segue::router
