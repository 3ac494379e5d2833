#include "common/yaml_text.h"

#include <algorithm>
#include <cctype>
#include <set>
#include <utility>

#include "common/config_tree.h"
#include "common/json_output.h"

namespace segue {

namespace {

/// Documents of definitions have more in them than a configuration.
constexpr std::size_t kMostValues = 10'000'000;

bool is_number(std::string_view text) {
  if (text.starts_with('-')) text.remove_prefix(1);
  return !text.empty() && std::isdigit(static_cast<unsigned char>(text.front())) != 0 &&
         text.find_first_not_of("0123456789.eE+-") == std::string_view::npos;
}

JsonValue scalar(const ConfigNode& node) {
  const std::string& text = node.scalar;
  if (node.in_quotes) return JsonValue(text);
  if (text.empty() || text == "~" || text == "null") return JsonValue();
  if (text == "true" || text == "false") return JsonValue(text == "true");
  if (is_number(text)) {
    if (auto number = parse_json(text)) return *std::move(number);
  }
  return JsonValue(text);
}

JsonValue value_of_node(const ConfigNode& node) {
  switch (node.kind) {
    case ConfigNode::Kind::kNull:
      break;
    case ConfigNode::Kind::kScalar:
      return scalar(node);
    case ConfigNode::Kind::kMap: {
      JsonValue::Object members;
      for (const ConfigNode::Entry& entry : node.entries) {
        members.emplace_back(entry.key, value_of_node(entry.value));
      }
      return JsonValue(std::move(members));
    }
    case ConfigNode::Kind::kList: {
      JsonValue::Array items;
      for (const ConfigNode& item : node.items) items.push_back(value_of_node(item));
      return JsonValue(std::move(items));
    }
  }
  return JsonValue();
}

void find_repeated_keys(const ConfigNode& node, ConfigProblems& problems) {
  std::set<std::string_view> keys;
  for (const ConfigNode::Entry& entry : node.entries) {
    if (!keys.insert(entry.key).second) {
      problems.add(entry.position, "key " + in_quotes(entry.key) + " is there twice");
    }
    find_repeated_keys(entry.value, problems);
  }
  for (const ConfigNode& item : node.items) find_repeated_keys(item, problems);
}

// Text that reads as itself without quotes, in any reader of YAML.
bool is_plain(std::string_view text) {
  static constexpr std::string_view kWords[] = {"null", "true", "false", "yes", "no", "on",
                                                "off",  "y",    "n",     "inf", "nan"};
  const auto allowed = [](unsigned char c) { return std::isalnum(c) != 0 || c == '_' || c == '-'; };
  if (text.empty() || std::isalpha(static_cast<unsigned char>(text.front())) == 0) return false;
  if (!std::all_of(text.begin(), text.end(),
                   [&](char c) { return allowed(static_cast<unsigned char>(c)) || c == '.'; })) {
    return false;
  }
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return std::find(std::begin(kWords), std::end(kWords), lower) == std::end(kWords);
}

// A string of JSON is one of YAML, but that DEL has to be escaped there.
std::string quoted_text(std::string_view text) {
  if (is_plain(text)) return std::string(text);
  std::string out;
  for (const char c : json_quoted(text)) {
    if (c == '\x7f') {
      out += "\\u007f";
    } else {
      out += c;
    }
  }
  return out;
}

class YamlWriter {
 public:
  /// `value` behind a key or the dash of a list.
  void write(const JsonValue& value, std::size_t depth) {
    if (const auto* members = value.object(); members != nullptr && !members->empty()) {
      for (const auto& [name, member] : *members) {
        begin_line(depth);
        out_ += quoted_text(name) + ":";
        write_member(member, depth + 1);
      }
    } else if (const auto* items = value.array(); items != nullptr && !items->empty()) {
      for (const JsonValue& item : *items) {
        begin_line(depth);
        out_ += "-";
        // Its first line goes on behind the dash.
        if (is_nested(item)) {
          out_ += " ";
          in_line_ = true;
          write(item, depth + 1);
        } else {
          out_ += " " + leaf(item) + "\n";
        }
      }
    } else {
      out_ += leaf(value) + "\n";
    }
  }
  std::string take() { return std::move(out_); }

 private:
  static bool is_nested(const JsonValue& value) {
    return (value.object() != nullptr && !value.object()->empty()) ||
           (value.array() != nullptr && !value.array()->empty());
  }
  static std::string leaf(const JsonValue& value) {
    if (const auto* text = value.text()) return quoted_text(*text);
    if (const auto* truth = value.truth()) return *truth ? "true" : "false";
    if (const auto* whole = value.whole()) return std::to_string(*whole);
    if (const auto* digits = value.huge_digits()) return *digits;
    if (const auto* real = value.real()) return JsonWriter().exact(*real).take();
    if (value.object() != nullptr) return "{}";
    return value.array() != nullptr ? "[]" : "null";
  }
  void begin_line(std::size_t depth) {
    if (!std::exchange(in_line_, false)) out_.append(depth * 2, ' ');
  }
  void write_member(const JsonValue& member, std::size_t depth) {
    if (!is_nested(member)) {
      out_ += " " + leaf(member) + "\n";
      return;
    }
    out_ += "\n";
    write(member, depth);
  }

  std::string out_;
  bool in_line_ = false;
};

}  // namespace

Result<JsonValue> parse_yaml(std::string_view text, std::string_view file_name) {
  ConfigProblems problems(file_name);
  const std::optional<ConfigNode> tree = parse_config_tree(text, problems, kMostValues);
  if (tree) find_repeated_keys(*tree, problems);
  if (const Status status = problems.to_status(); !status) return status;
  return value_of_node(*tree);
}

std::string yaml_text(const JsonValue& value) {
  YamlWriter writer;
  writer.write(value, 0);
  return writer.take();
}

}  // namespace segue
