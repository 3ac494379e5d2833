#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "common/config.h"
#include "common/config_keys.h"
#include "common/config_problems.h"
#include "common/config_tree.h"

namespace segue {

/// Fills a ClusterConfig from a tree by the table of keys: finds unknown, repeated and missing keys
/// and wrong values. What several keys say together is checked elsewhere (check_combinations).
class ConfigReader {
 public:
  ConfigReader(const EnvironmentLookup& environment, ConfigProblems& problems)
      : environment_(environment), problems_(problems) {}

  void read(const ConfigNode& root);

  ClusterConfig& config() { return config_; }
  /// Whether the file gives this key ("nodes[1].listen") a value.
  bool has(std::string_view path) const { return positions_.contains(path); }
  /// Where the file gives it; the file's start if it does not.
  ConfigPosition position(std::string_view path) const;

 private:
  /// A place in the file: "nodes[1]" is the schema's "nodes[]" with element 1.
  struct Scope {
    std::string path;
    std::string schema;
    std::size_t element = 0;

    Scope inside(std::string_view key) const;
  };

  void read_map(const ConfigNode& node, const Scope& scope);
  void read_entry(const ConfigNode::Entry& entry, const Scope& scope);
  void read_list(const ConfigNode& node, const Scope& scope);
  void read_value(const ConfigKey& key, const ConfigNode& node, const Scope& scope);
  void read_paths(const ConfigKey& key, const ConfigNode& node, const Scope& scope);
  void report_unknown(const ConfigNode::Entry& entry, const Scope& scope);
  void report_missing(const ConfigNode& node, const Scope& scope);
  void resize_list(std::string_view schema, std::size_t size);

  const EnvironmentLookup& environment_;
  ConfigProblems& problems_;
  ClusterConfig config_;
  std::map<std::string, ConfigPosition, std::less<>> positions_;
};

/// Reports what is impossible together: duplicate ids and endpoints, sizes that do not fit into one
/// another, a catalog leader that is no node.
void check_combinations(const ConfigReader& reader, const ClusterConfig& config,
                        ConfigProblems& problems);

}  // namespace segue
