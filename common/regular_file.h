#pragma once

#include <cstddef>
#include <string>

#include "common/status.h"

namespace segue {

/// Reads a whole file that a process needs before it can start: regular files only, since a pipe or
/// a device may keep it waiting for ever or have no end. `path` may be a symbolic link to one. May
/// wait for the disk. Errors are the reason alone ("No such file or directory"): IO_ERROR when it
/// cannot be read, INVALID_CONFIG when it is none or has more than `most_bytes`.
Result<std::string> read_regular_file(const std::string& path, std::size_t most_bytes);

}  // namespace segue
