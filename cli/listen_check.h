#pragma once

#include <string>

#include "common/status.h"

namespace segue::cli {

/// Whether a process could listen on `endpoint` (tcp://host:port, ipc://path, ipc://@name) now,
/// tried for a moment: RESOURCE_ERROR with a sentence when another one does already, also when it
/// listens on an ipc path, which a new listener would take away from it. OK when that cannot be
/// told, such as for a host name that does not resolve: the process will say.
Status can_listen(const std::string& endpoint);

}  // namespace segue::cli
