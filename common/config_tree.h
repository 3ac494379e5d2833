#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/config_problems.h"

namespace segue {

/// What stands in a YAML file, before it is known what it should be.
struct ConfigNode {
  enum class Kind { kNull, kScalar, kMap, kList };

  struct Entry;

  Kind kind = Kind::kNull;
  ConfigPosition position;
  std::string scalar;             // kScalar
  bool in_quotes = false;         // it stands in quotes, or as a block of text
  std::vector<Entry> entries;     // kMap: in the file's order, keys may repeat
  std::vector<ConfigNode> items;  // kList
};

struct ConfigNode::Entry {
  std::string key;
  ConfigPosition position;
  ConfigNode value;
};

/// Reads YAML. Nothing, and a problem, when the text is not one document of plain maps, lists and
/// scalars: not UTF-8, a syntax error, several documents, anchors, aliases, tags, or larger than a
/// configuration can be (`max_values`). Takes any bytes; never throws.
std::optional<ConfigNode> parse_config_tree(std::string_view text, ConfigProblems& problems,
                                            std::size_t max_values = 100'000);

/// "a map", "a list", "nothing" or the scalar in quotes: for messages that say what was found.
std::string describe(const ConfigNode& node);

}  // namespace segue
