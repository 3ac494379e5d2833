#pragma once

#include "common/status.h"

namespace segue::storage {

/// Says on stderr what failed and ends the process at once with exit code 71: what is on disk after
/// a failed sync is unknown, and nothing may be built on it. Any thread.
[[noreturn]] void stop_after_failed_sync(const Status& status);

}  // namespace segue::storage
