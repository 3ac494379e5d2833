#include "common/config_tree.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <sstream>
#include <utility>

#include "common/utf8.h"

namespace segue {
namespace {

constexpr std::size_t kMaxDepth = 16;

ConfigPosition position_of(const YAML::Mark& mark) {
  if (mark.is_null()) return {};
  return {mark.line + 1, mark.column + 1};
}

/// Ends the parse from inside an event; does not leave this file.
struct Refusal {
  ConfigPosition position;
  std::string text;
};

/// Builds the tree from yaml-cpp's events. Its own tree is not used, since that hides repeated keys
/// and follows aliases.
class TreeBuilder final : public YAML::EventHandler {
 public:
  explicit TreeBuilder(std::size_t max_values) : max_values_(max_values) {}

  std::optional<ConfigNode> take_root() { return std::move(root_); }

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (documents_++ > 0) {
      throw Refusal{position_of(mark), "expected one YAML document, found a second one"};
    }
  }
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    refuse_anchor(mark, anchor);
    add(make(ConfigNode::Kind::kNull, mark));
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override {
    throw Refusal{position_of(mark), "aliases (*name) are not supported; write the value out"};
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    refuse_anchor(mark, anchor);
    refuse_tag(mark, tag);
    ConfigNode node = make(ConfigNode::Kind::kScalar, mark);
    node.scalar = value;
    node.in_quotes = tag == "!";
    add(std::move(node));
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    start(ConfigNode::Kind::kList, mark, tag, anchor);
  }
  void OnSequenceEnd() override { end(); }

  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    start(ConfigNode::Kind::kMap, mark, tag, anchor);
  }
  void OnMapEnd() override { end(); }

 private:
  struct Open {
    ConfigNode node;
    std::optional<ConfigNode> key;  // of a map: read, and its value not yet
  };

  static void refuse_anchor(const YAML::Mark& mark, YAML::anchor_t anchor) {
    if (anchor != YAML::NullAnchor) {
      throw Refusal{position_of(mark), "anchors (&name) are not supported; write the value out"};
    }
  }

  static void refuse_tag(const YAML::Mark& mark, const std::string& tag) {
    // yaml-cpp says "?" for no tag and "!" for a scalar in quotes.
    if (!tag.empty() && tag != "?" && tag != "!") {
      throw Refusal{position_of(mark), "tags are not supported, found " + in_quotes(tag)};
    }
  }

  ConfigNode make(ConfigNode::Kind kind, const YAML::Mark& mark) {
    if (++nodes_ > max_values_) {
      throw Refusal{position_of(mark), "more than " + std::to_string(max_values_) + " values"};
    }
    ConfigNode node;
    node.kind = kind;
    node.position = position_of(mark);
    return node;
  }

  void start(ConfigNode::Kind kind, const YAML::Mark& mark, const std::string& tag,
             YAML::anchor_t anchor) {
    refuse_anchor(mark, anchor);
    refuse_tag(mark, tag);
    if (open_.size() >= kMaxDepth) {
      throw Refusal{position_of(mark),
                    "nested deeper than " + std::to_string(kMaxDepth) + " levels"};
    }
    open_.push_back({make(kind, mark), std::nullopt});
  }

  void end() {
    ConfigNode node = std::move(open_.back().node);
    open_.pop_back();
    add(std::move(node));
  }

  void add(ConfigNode node) {
    if (open_.empty()) {
      root_ = std::move(node);
      return;
    }
    Open& parent = open_.back();
    if (parent.node.kind == ConfigNode::Kind::kList) {
      parent.node.items.push_back(std::move(node));
    } else if (!parent.key) {
      if (node.kind != ConfigNode::Kind::kScalar) {
        throw Refusal{node.position, "expected a key, found " + describe(node)};
      }
      parent.key = std::move(node);
    } else {
      // yaml-cpp puts a value that is missing where the next thing is.
      if (node.kind == ConfigNode::Kind::kNull) node.position = parent.key->position;
      parent.node.entries.push_back(
          {std::move(parent.key->scalar), parent.key->position, std::move(node)});
      parent.key.reset();
    }
  }

  const std::size_t max_values_;
  std::vector<Open> open_;
  std::optional<ConfigNode> root_;
  std::size_t nodes_ = 0;
  int documents_ = 0;
};

/// Text that people can have written: UTF-8 without control characters.
bool check_text(std::string_view text, ConfigProblems& problems) {
  ConfigPosition position;
  while (!text.empty()) {
    const Utf8Character character = next_utf8(text);
    const std::uint32_t code_point = character.code_point;
    const bool control =
        code_point < 0x20 && code_point != '\t' && code_point != '\n' && code_point != '\r';
    if (!character.valid || control || code_point == 0x7F) {
      problems.add(position, "expected UTF-8 text, found the byte " + in_quotes(text.substr(0, 1)));
      return false;
    }
    ++position.column;
    if (code_point == '\n') {
      ++position.line;
      position.column = 1;
    }
    text.remove_prefix(character.size);
  }
  return true;
}

}  // namespace

std::optional<ConfigNode> parse_config_tree(std::string_view text, ConfigProblems& problems,
                                            std::size_t max_values) {
  if (!check_text(text, problems)) return std::nullopt;
  try {
    std::istringstream stream{std::string(text)};
    YAML::Parser parser(stream);
    TreeBuilder builder(max_values);
    while (parser.HandleNextDocument(builder)) {
    }
    std::optional<ConfigNode> root = builder.take_root();
    if (!root) problems.add({}, "expected a cluster's configuration, found an empty file");
    return root;
  } catch (const Refusal& refusal) {
    problems.add(refusal.position, refusal.text);
  } catch (const YAML::Exception& error) {
    problems.add(position_of(error.mark), "YAML syntax: " + error.msg);
  } catch (const std::exception& error) {
    problems.add({}, std::string("YAML cannot be read: ") + error.what());
  }
  return std::nullopt;
}

std::string describe(const ConfigNode& node) {
  switch (node.kind) {
    case ConfigNode::Kind::kNull:
      return "nothing";
    case ConfigNode::Kind::kScalar:
      return in_quotes(node.scalar);
    case ConfigNode::Kind::kMap:
      return "a map";
    case ConfigNode::Kind::kList:
      return "a list";
  }
  return "nothing";
}

}  // namespace segue
