#include "common/config_keys.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <optional>
#include <set>
#include <sstream>

#include "tests/common/config_text.h"

namespace segue {
namespace {

ClusterConfig with_elements() {
  ClusterConfig config;
  config.routers.resize(1);
  config.nodes.resize(1);
  return config;
}

bool same_value(const ConfigKey& key, ClusterConfig& a, ClusterConfig& b) {
  return std::visit(
      [](auto* left, auto* right) {
        if constexpr (std::is_same_v<decltype(left), decltype(right)>) return *left == *right;
        return false;
      },
      key.field(a, 0), key.field(b, 0));
}

TEST(ConfigKeys, DefaultsOfTheTableAreThoseOfTheStructs) {
  for (const ConfigKey& key : config_keys()) {
    if (key.default_text.empty()) continue;
    ClusterConfig from_structs = with_elements();
    ClusterConfig from_table = with_elements();
    const Status status = set_config_value(key, key.default_text, from_table, 0);
    EXPECT_TRUE(status.is_ok()) << key.path << ": " << status.message();
    EXPECT_TRUE(same_value(key, from_structs, from_table)) << key.path;
  }
}

TEST(ConfigKeys, EachHasItsOwnField) {
  ClusterConfig config = with_elements();
  std::map<const void*, std::string_view> fields;
  for (const ConfigKey& key : config_keys()) {
    const void* field =
        std::visit([](auto* pointer) -> const void* { return pointer; }, key.field(config, 0));
    const auto [other, is_new] = fields.emplace(field, key.path);
    EXPECT_TRUE(is_new) << key.path << " and " << other->second;
  }
}

TEST(ConfigKeys, AreDescribedOnceAndFitTheirFields) {
  std::set<std::string_view> paths;
  for (const ConfigKey& key : config_keys()) {
    EXPECT_TRUE(paths.insert(key.path).second) << key.path;
    EXPECT_GT(key.description.size(), 10u) << key.path;
    EXPECT_TRUE(key.description.ends_with('.')) << key.path;
    ClusterConfig config = with_elements();
    if (std::holds_alternative<std::uint32_t*>(key.field(config, 0))) {
      EXPECT_LE(key.max, 0xFFFFFFFFu) << key.path;
    }
    EXPECT_LE(key.min, key.max) << key.path;
  }
}

TEST(ConfigKeys, BothEndsOfARangeAreTakenAndWhatIsBeyondIsNot) {
  for (const ConfigKey& key : config_keys()) {
    if (key.max == 0) continue;
    const std::string unit = key.type == ConfigType::kDuration ? "ms" : "";
    ClusterConfig config = with_elements();
    const auto set = [&](std::uint64_t number) {
      return set_config_value(key, std::to_string(number) + unit, config, 0).is_ok();
    };
    EXPECT_TRUE(set(key.min)) << key.path;
    EXPECT_TRUE(set(key.max)) << key.path;
    EXPECT_FALSE(set(key.max + 1)) << key.path;
    if (key.min > 0) {
      EXPECT_FALSE(set(key.min - 1)) << key.path;
    }
  }
}

// ---- deploy/cluster.example.yaml

std::string read_example() {
  std::ifstream file(std::string(SEGUE_SOURCE_DIR) + "/deploy/cluster.example.yaml");
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

/// A key of the example, with the comment above it.
struct ExampleKey {
  std::string value;
  std::string comment;
  bool commented_out = false;
};

/// A line of the example that has a key: "key: value", "- key: value", "# key: value" or
/// "section:".
struct KeyLine {
  std::string name;
  std::string value;
  bool commented_out = false;
  bool indented = false;
};

std::optional<KeyLine> parse_key_line(std::string_view line) {
  KeyLine key;
  key.indented = line.starts_with(' ') || line.starts_with("#  ");
  line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
  key.commented_out = line.starts_with("# ");
  if (key.commented_out) line.remove_prefix(std::min(line.find_first_not_of("# "), line.size()));
  if (line.starts_with("- ")) line.remove_prefix(2);
  const std::size_t end = line.find_first_not_of("abcdefghijklmnopqrstuvwxyz_");
  if (end == 0 || end == std::string_view::npos || line[end] != ':') return std::nullopt;
  key.name = line.substr(0, end);
  line.remove_prefix(end + 1);
  if (line.starts_with(' ')) key.value = line.substr(line.find_first_not_of(' '));
  return key;
}

/// The keys of the example by path, each with the comment above it; the first of a path counts.
std::map<std::string, ExampleKey> read_example_keys(const std::string& text) {
  std::map<std::string, ExampleKey> keys;
  std::istringstream lines(text);
  std::string section;
  std::string comment;
  for (std::string line; std::getline(lines, line);) {
    const std::optional<KeyLine> key = parse_key_line(line);
    if (line.empty()) {
      comment.clear();
    } else if (!key) {
      const std::size_t start = std::min(line.find_first_not_of("# "), line.size());
      comment += (comment.empty() ? "" : " ") + line.substr(start);
    } else if (key->value.empty()) {
      section = key->name + (key->name == "routers" || key->name == "nodes" ? "[]" : "");
      comment.clear();
    } else {
      keys.emplace(!key->indented ? key->name : section + "." + key->name,
                   ExampleKey{key->value, comment, key->commented_out});
      comment.clear();
    }
  }
  return keys;
}

TEST(ConfigExample, IsAConfiguration) {
  const auto config = parse_config(read_example());
  ASSERT_TRUE(config.is_ok()) << config.status().message();
  EXPECT_EQ(config->nodes.size(), 3u);
}

TEST(ConfigExample, DocumentsEveryKeyWithUnitRangeAndDefault) {
  const std::map<std::string, ExampleKey> keys = read_example_keys(read_example());
  for (const ConfigKey& key : config_keys()) {
    const auto found = keys.find(std::string(key.path));
    ASSERT_NE(found, keys.end()) << key.path << " is not in the example";
    EXPECT_EQ(found->second.comment, std::string(key.description) + " " + config_key_facts(key));
    if (!key.default_text.empty()) {
      EXPECT_EQ(found->second.value, key.default_text) << key.path;
      EXPECT_FALSE(found->second.commented_out) << key.path;
    } else {
      ClusterConfig config = with_elements();
      EXPECT_TRUE(set_config_value(key, found->second.value, config, 0).is_ok()) << key.path;
    }
  }
}

TEST(ConfigExample, HasNoKeyThatDoesNotExist) {
  std::set<std::string> paths;
  for (const ConfigKey& key : config_keys()) paths.emplace(key.path);
  for (const auto& [path, key] : read_example_keys(read_example())) {
    EXPECT_TRUE(paths.contains(path)) << path;
  }
}

}  // namespace
}  // namespace segue
