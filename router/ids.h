#pragma once

#include <cstdint>

#include "common/ids.h"

namespace segue::router {

/// A client's session. Never the same for two sessions, also across routers and their restarts: the
/// high bits are random for each life of a router.
using SessionId = StrongId<struct SessionIdTag, std::uint64_t>;

}  // namespace segue::router
