#pragma once

#include <chrono>
#include <string_view>

#include "common/status.h"

namespace segue::cli {

/// A moment as people write it: "2030-01-31T08:00:00Z" (also with a blank for the T, with a
/// fraction of up to three digits, and without the Z: it is UTC in any case), or the milliseconds
/// since 1970-01-01 UTC. INVALID_CONFIG says what was expected.
Result<std::chrono::sys_time<std::chrono::milliseconds>> parse_time(std::string_view text);

}  // namespace segue::cli
