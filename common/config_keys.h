#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "common/config.h"
#include "common/status.h"

namespace segue {

/// What a key's value is, and so how it is written.
enum class ConfigType {
  kId,
  kEndpoint,
  kListen,
  kPath,
  kPaths,         // one, or a list of them
  kSize,          // bytes
  kCount,         // a whole number
  kMilliseconds,  // a whole number of milliseconds
  kDuration,      // with its unit
  kBoolean,
  kChoice,
};

/// Where a key's value is kept.
using ConfigField = std::variant<std::string*, std::uint64_t*, std::uint32_t*,
                                 std::chrono::milliseconds*, bool*, std::vector<std::string>*>;

/// Everything there is to know about one key. The table of them drives parsing, checking and the
/// test of deploy/cluster.example.yaml; the defaults themselves are those of ClusterConfig, and a
/// test compares the two.
struct ConfigKey {
  std::string_view path;  // "limits.max_sessions"; "nodes[].id" for a key of each element
  ConfigType type;
  bool required;
  std::string_view default_text;  // as one would write it; empty: described in words
  std::uint64_t min;              // of sizes in bytes, counts, and durations in milliseconds
  std::uint64_t max;
  std::string_view choices;  // of kChoice: "a|b"
  std::string_view description;
  ConfigField (*field)(ClusterConfig& config, std::size_t element);
};

/// All keys, in the order of the documentation.
std::span<const ConfigKey> config_keys();

/// Reads `text` as the key's value into the key's field of `config` (of its list's element with the
/// number `element`); of several paths it is one more. INVALID_CONFIG says what was expected and
/// what was found.
Status set_config_value(const ConfigKey& key, std::string_view text, ClusterConfig& config,
                        std::size_t element);

/// "Unit: bytes. From 1KiB to 1GiB. Default: 16MiB.": the line that stands in the example above the
/// key.
std::string config_key_facts(const ConfigKey& key);

}  // namespace segue
