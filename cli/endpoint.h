#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "common/status.h"

namespace segue::cli {

/// Where `segue` finds a cluster.
struct Endpoint {
  std::vector<std::string> routers;  // ZeroMQ endpoints, tried in turn
  std::string vhost;                 // empty: "/"
  std::string source;                // where it was said, for messages: "--router", "SEGUE_ROUTER"
};

inline constexpr const char* kDefaultRouter = "tcp://127.0.0.1:5680";

/// What choose_endpoint() asks of the outside: an environment variable, and the text of a file
/// (nothing when there is no such file).
struct EndpointLookup {
  std::function<std::optional<std::string>(const char* name)> environment;
  std::function<Result<std::optional<std::string>>(const std::string& path)> read_file;
};

/// `text` as an endpoint to connect to: "host:port" is taken for "tcp://host:port". The error says
/// what was expected.
Result<std::string> full_endpoint(std::string text);

/// The process's environment and files.
EndpointLookup system_lookup();

/// The first of these that says something: `flags` (from --router), the variable SEGUE_ROUTER
/// (comma-separated), the configuration file, tcp://127.0.0.1:5680. The file is SEGUE_CONFIG, else
/// $XDG_CONFIG_HOME/segue/config.json, else ~/.config/segue/config.json:
///
///     {"routers": ["tcp://10.0.0.1:5680", "tcp://10.0.0.2:5680"], "vhost": "/"}
///
/// The variable SEGUE_VHOST goes before the file's vhost.
///
/// INVALID_CONFIG names the source and what is wrong. "host:port" is taken for "tcp://host:port".
Result<Endpoint> choose_endpoint(const std::vector<std::string>& flags,
                                 const EndpointLookup& lookup);

}  // namespace segue::cli
