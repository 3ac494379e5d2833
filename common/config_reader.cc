#include "common/config_reader.h"

#include <vector>

#include "common/config_values.h"
#include "common/suggestion.h"

namespace segue {
namespace {

// Of one list; far more than any cluster has.
constexpr std::size_t kMaxElements = 1000;

const ConfigKey* find_key(std::string_view schema) {
  for (const ConfigKey& key : config_keys()) {
    if (key.path == schema) return &key;
  }
  return nullptr;
}

/// Whether keys lie inside: "limits" has, and so has "nodes[]".
bool is_section(std::string_view schema) {
  for (const ConfigKey& key : config_keys()) {
    if (key.path.starts_with(schema) && key.path.substr(schema.size()).starts_with('.'))
      return true;
  }
  return false;
}

std::string list_schema(const std::string& schema) {
  return schema + "[]";
}

/// The path's part after its last dot.
std::string_view last_part(std::string_view path) {
  return path.substr(path.rfind('.') + 1);
}

/// The names that may stand directly inside a section, "" being the whole file.
std::vector<std::string_view> names_inside(std::string_view schema) {
  std::vector<std::string_view> names;
  for (const ConfigKey& key : config_keys()) {
    std::string_view rest = key.path;
    if (!schema.empty()) {
      if (!rest.starts_with(schema) || !rest.substr(schema.size()).starts_with('.')) continue;
      rest.remove_prefix(schema.size() + 1);
    }
    const std::string_view name = rest.substr(0, rest.find_first_of(".["));
    if (names.empty() || names.back() != name) names.push_back(name);
  }
  return names;
}

/// Another section's key of the same name: people put keys a level too high or too low.
std::string_view key_elsewhere(std::string_view name) {
  for (const ConfigKey& key : config_keys()) {
    if (last_part(key.path) == name) return key.path;
  }
  return {};
}

}  // namespace

ConfigReader::Scope ConfigReader::Scope::inside(std::string_view key) const {
  const std::string dot = path.empty() ? "" : ".";
  return {path + dot + std::string(key), schema + dot + std::string(key), element};
}

ConfigPosition ConfigReader::position(std::string_view path) const {
  const auto found = positions_.find(path);
  return found == positions_.end() ? ConfigPosition{} : found->second;
}

void ConfigReader::read(const ConfigNode& root) {
  if (root.kind == ConfigNode::Kind::kMap) {
    read_map(root, Scope{});
  } else {
    problems_.add(root.position,
                  "expected a map of keys such as 'cluster', found " + describe(root));
  }
}

void ConfigReader::read_map(const ConfigNode& node, const Scope& scope) {
  std::map<std::string_view, ConfigPosition> seen;
  for (const ConfigNode::Entry& entry : node.entries) {
    const auto [first, is_new] = seen.emplace(entry.key, entry.position);
    if (is_new) {
      read_entry(entry, scope);
    } else {
      problems_.add(entry.position, scope.inside(entry.key).path,
                    "expected once, found again; it stands in line " +
                        std::to_string(first->second.line) + " already");
    }
  }
  report_missing(node, scope);
}

void ConfigReader::read_entry(const ConfigNode::Entry& entry, const Scope& scope) {
  // A key with a dot or bracket would look like a path.
  if (entry.key.find_first_of(".[]") != std::string::npos) return report_unknown(entry, scope);
  const Scope inner = scope.inside(entry.key);
  const ConfigKey* key = find_key(inner.schema);
  const bool section = is_section(inner.schema);
  if (key == nullptr && !section && !is_section(list_schema(inner.schema))) {
    return report_unknown(entry, scope);
  }
  positions_[inner.path] = entry.position;
  if (key != nullptr && key->type == ConfigType::kPaths &&
      entry.value.kind == ConfigNode::Kind::kList) {
    read_paths(*key, entry.value, inner);
  } else if (key != nullptr && !(section && entry.value.kind == ConfigNode::Kind::kMap)) {
    read_value(*key, entry.value, inner);
  } else if (!section) {
    read_list(entry.value, inner);
  } else if (entry.value.kind == ConfigNode::Kind::kMap) {
    read_map(entry.value, inner);
  } else if (entry.value.kind !=
             ConfigNode::Kind::kNull) {  // a section with all keys commented out
    problems_.add(entry.value.position, inner.path,
                  "expected a map, found " + describe(entry.value));
  }
}

void ConfigReader::read_list(const ConfigNode& node, const Scope& scope) {
  if (node.kind != ConfigNode::Kind::kList || node.items.empty()) {
    const std::string found =
        node.kind == ConfigNode::Kind::kList ? "an empty one" : describe(node);
    return problems_.add(node.position, scope.path,
                         "expected a list with an element for each process, found " + found);
  }
  if (node.items.size() > kMaxElements) {
    return problems_.add(node.position, scope.path,
                         "expected at most " + std::to_string(kMaxElements) + " elements, found " +
                             std::to_string(node.items.size()));
  }
  const std::string schema = list_schema(scope.schema);
  resize_list(schema, node.items.size());
  for (std::size_t i = 0; i < node.items.size(); ++i) {
    const Scope element{scope.path + "[" + std::to_string(i) + "]", schema, i};
    const ConfigNode& item = node.items[i];
    positions_[element.path] = item.position;
    if (item.kind == ConfigNode::Kind::kMap) {
      read_map(item, element);
    } else {
      problems_.add(item.position, element.path,
                    "expected a map with id and endpoint, found " + describe(item));
    }
  }
}

void ConfigReader::read_paths(const ConfigKey& key, const ConfigNode& node, const Scope& scope) {
  if (node.items.size() > kMaxElements) {
    return problems_.add(node.position, scope.path,
                         "expected at most " + std::to_string(kMaxElements) + " paths, found " +
                             std::to_string(node.items.size()));
  }
  for (std::size_t i = 0; i < node.items.size(); ++i) {
    Scope element = scope;
    element.path += "[" + std::to_string(i) + "]";
    read_value(key, node.items[i], element);
  }
}

void ConfigReader::read_value(const ConfigKey& key, const ConfigNode& node, const Scope& scope) {
  if (node.kind != ConfigNode::Kind::kScalar) {
    return problems_.add(
        node.position, scope.path,
        "expected a value (" + config_key_facts(key) + "), found " + describe(node));
  }
  const Result<std::string> text = expand_environment(node.scalar, environment_);
  if (!text) return problems_.add(node.position, scope.path, text.status().message());
  const Status status = set_config_value(key, *text, config_, scope.element);
  if (status.is_ok()) {
    positions_[scope.path] = node.position;
  } else {
    const bool expanded = *text != node.scalar;
    problems_.add(node.position, scope.path,
                  status.message() + (expanded ? " (from " + in_quotes(node.scalar) + ")" : ""));
  }
}

void ConfigReader::report_unknown(const ConfigNode::Entry& entry, const Scope& scope) {
  std::string text = "unknown key";
  const std::vector<std::string_view> names = names_inside(scope.schema);
  if (const auto near = closest_match(entry.key, names)) {
    text += "; did you mean " + in_quotes(*near) + "?";
  } else if (const std::string_view elsewhere = key_elsewhere(entry.key); !elsewhere.empty()) {
    text += "; did you mean " + in_quotes(elsewhere) + "?";
  } else {
    text += "; expected one of";
    for (std::size_t i = 0; i < names.size(); ++i) {
      text += (i == 0 ? " " : ", ") + std::string(names[i]);
    }
  }
  problems_.add(entry.position, scope.inside(entry.key).path, text);
}

void ConfigReader::report_missing(const ConfigNode& node, const Scope& scope) {
  std::set<std::string_view> present;
  for (const ConfigNode::Entry& entry : node.entries) present.insert(entry.key);
  for (const std::string_view name : names_inside(scope.schema)) {
    const Scope inner = scope.inside(name);
    const ConfigKey* key = find_key(inner.schema);
    const bool required = key != nullptr ? key->required : is_section(list_schema(inner.schema));
    if (required && !present.contains(name)) {
      problems_.add(node.position, inner.path,
                    "expected " + std::string(key != nullptr ? "a value" : "a list") +
                        ", found nothing; the key is required");
    }
  }
}

void ConfigReader::resize_list(std::string_view schema, std::size_t size) {
  if (schema == "routers[]") config_.routers.resize(size);
  if (schema == "nodes[]") config_.nodes.resize(size);
}

}  // namespace segue
