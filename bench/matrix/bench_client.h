#pragma once

#include <chrono>
#include <string>

#include "bench/matrix/test_bed.h"
#include "common/status.h"
#include "segue/client.h"

namespace segue::bench {

/// How long a part of a measurement may take that nothing is known to limit.
inline constexpr std::chrono::seconds kPatience{300};

/// A connection that waits as long as kPatience for everything, with a window of 20,000 messages.
Result<client::Connection> connect(const TestBed& bed);

/// INTERNAL_ERROR: `what` did not work, and why.
Status failed(const std::string& what, const client::Error& error);

}  // namespace segue::bench
