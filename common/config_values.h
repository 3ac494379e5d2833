#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "common/config.h"
#include "common/status.h"

namespace segue {

// Values as people write them, in the configuration and on the command line. Failures are
// INVALID_CONFIG with "expected ..., found ...".

/// "64MiB", "1GB", "4096": a count of bytes. Units B, KB, MB, GB, TB (thousands) and KiB, MiB, GiB,
/// TiB (1024s).
Result<std::uint64_t> parse_size(std::string_view text);
/// "500ms", "30s", "5m", "2h"; a plain number only if it is 0.
Result<std::chrono::milliseconds> parse_duration(std::string_view text);
/// A whole number, not negative.
Result<std::uint64_t> parse_count(std::string_view text);

/// The shortest form that parse_size reads back as the same: 67108864 is "64MiB".
std::string format_size(std::uint64_t bytes);
/// The shortest form that parse_duration reads back as the same.
std::string format_duration(std::chrono::milliseconds duration);

enum class EndpointUse {
  kConnect,  // where others reach a process
  kListen,   // what a process binds: `*`, 0.0.0.0 and [::] are all its addresses
};

/// Whether `text` is an endpoint: `tcp://host:port` (port 1 to 65535), `ipc://path` or
/// `ipc://@name` (abstract); at most 107 bytes after `ipc://`.
Status check_endpoint(std::string_view text, EndpointUse use);

/// Whether `text` may be the id of a router, a node or a cluster: 1 to 64 of a-z A-Z 0-9 _ -.
Status check_id(std::string_view text);

/// Replaces `${NAME}` by the variable, `${NAME:-default}` by the default where the variable is
/// unset or empty, and `$$` by `$`.
Result<std::string> expand_environment(std::string_view text, const EnvironmentLookup& environment);

}  // namespace segue
