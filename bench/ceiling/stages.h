#pragma once

#include <functional>
#include <string>

#include "bench/ceiling/sync_file.h"

namespace segue::bench {

/// Told the endpoint that a stage listens on, once it does.
using Listening = std::function<void(const std::string& endpoint)>;

/// The middle process: parses every frame's header, builds it anew, and passes it on with the
/// bodies untouched; confirms go back the same way. Returns after a Close came through.
int run_router(const std::string& listen, const std::string& node, const Listening& listening);

/// The last process: a socket loop, and a thread that writes and syncs whatever has gathered as one
/// group, then hands back the confirms. Returns after a Close came.
int run_node(const std::string& listen, SyncFile file, const Listening& listening);

}  // namespace segue::bench
