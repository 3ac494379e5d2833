#pragma once

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <string_view>

#include "common/config.h"

namespace segue {

/// A configuration with the required keys only.
inline constexpr std::string_view kSmallest =
    "cluster: test\n"
    "routers:\n"
    "  - id: r1\n"
    "    endpoint: tcp://127.0.0.1:7400\n"
    "nodes:\n"
    "  - id: n1\n"
    "    endpoint: tcp://127.0.0.1:7411\n";

inline EnvironmentLookup environment_of(std::map<std::string, std::string> variables) {
  return [variables = std::move(variables)](std::string_view name) -> std::optional<std::string> {
    const auto found = variables.find(std::string(name));
    if (found == variables.end()) return std::nullopt;
    return found->second;
  };
}

inline EnvironmentLookup no_environment() {
  return environment_of({});
}

inline Result<ClusterConfig> parse_config(std::string_view text,
                                          std::map<std::string, std::string> variables = {}) {
  return parse_cluster_config(text, "cluster.yaml", environment_of(std::move(variables)));
}

/// The message about a text that must be refused.
inline std::string error_of(std::string_view text) {
  const Result<ClusterConfig> config = parse_config(text);
  EXPECT_FALSE(config.is_ok()) << "accepted: " << text;
  EXPECT_EQ(config.status().code(), Code::kInvalidConfig);
  return config.status().message();
}

inline std::string replaced(std::string_view text, std::string_view from, std::string_view to) {
  std::string out(text);
  const std::size_t at = out.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  if (at != std::string::npos) out.replace(at, from.size(), to);
  return out;
}

}  // namespace segue
