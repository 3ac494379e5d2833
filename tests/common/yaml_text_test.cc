#include "common/yaml_text.h"

#include <gtest/gtest.h>

#include <string>

#include "common/definitions.h"

namespace segue {
namespace {

/// Through YAML and back, as YAML again.
std::string again(const std::string& json) {
  const auto value = parse_json(json);
  EXPECT_TRUE(value) << value.status().message();
  const std::string yaml = yaml_text(*value);
  const auto read = parse_yaml(yaml);
  EXPECT_TRUE(read) << yaml << read.status().message();
  if (read) {
    EXPECT_EQ(yaml_text(*read), yaml);
  }
  return yaml;
}

TEST(YamlText, SaysWhatTheJsonSays) {
  EXPECT_EQ(
      again(R"({"a": 1, "list": [{"x": true, "z": []}, 2, [3, 4]], "empty": {}, "nil": null})"),
      "a: 1\nlist:\n  - x: true\n    z: []\n  - 2\n  - - 3\n    - 4\nempty: {}\nnil: null\n");
}

TEST(YamlText, QuotesTextThatWouldReadAsSomethingElse) {
  EXPECT_EQ(again(R"({"a": "1", "b": "true", "c": "", "d": "a: b", "e": "x-y.z", "f": "no",
                      "g": "#", "h": "*.eu", "i": "\u0001\n", "true": 1.5, "k": -3, "l": 1e300})"),
            "a: \"1\"\nb: \"true\"\nc: \"\"\nd: \"a: b\"\ne: x-y.z\nf: \"no\"\ng: \"#\"\n"
            "h: \"*.eu\"\ni: \"\\u0001\\n\"\n\"true\": 1.5\nk: -3\nl: 1e+300\n");
}

TEST(YamlText, ReadsWhatPeopleWrite) {
  const auto value = parse_yaml(
      "# a comment\nqueues:\n- {name: orders, durable: true}\n"
      "- name: 'true'\n  ttl: 5\n  none:\n  text: |\n    1\n");
  ASSERT_TRUE(value) << value.status().message();
  EXPECT_EQ(yaml_text(*value),
            "queues:\n  - name: orders\n    durable: true\n  - name: \"true\"\n    ttl: 5\n"
            "    none: null\n    text: \"1\\n\"\n");
}

TEST(YamlText, SaysWhereItIsWrong) {
  EXPECT_EQ(parse_yaml("a: 1\na: 2\n").status().message().find("2:1: key 'a' is there twice"), 0u);
  EXPECT_NE(parse_yaml("a: [1\n").status().message().find(": YAML syntax: "), std::string::npos);
  EXPECT_NE(parse_yaml("a: &x 1\n").status().message().find("anchors"), std::string::npos);
}

TEST(YamlText, DefinitionsNameTheFileOnceInFrontOfThePlace) {
  const auto error = [](const char* text) {
    return read_definitions(text, {.name = "bad.yaml"}).status().message();
  };
  EXPECT_EQ(error("a: 1\nb: &x 1\n"),
            "bad.yaml:2:4: anchors (&name) are not supported; write the value out");
  EXPECT_EQ(error("a: 1\nb: 2\n]\n").find("bad.yaml:3:1: YAML syntax: "), 0u);
  EXPECT_EQ(error("segue_definitions: 2\n").find("bad.yaml: segue_definitions is not 1"), 0u);
  EXPECT_EQ(error("{").find("bad.yaml: "), 0u);
}

TEST(YamlText, DefinitionsAreTheSameInBothForms) {
  const auto made = read_definitions(
      R"({"segue_definitions": 1, "exchanges": [{"name": "events \"1\"", "type": "topic"}],
          "queues": [{"name": "5", "arguments": {"x-max-priority": 5, "x-overflow": "drop-head"}},
                     {"name": "\u00e4"}],
          "bindings": [{"exchange": "events \"1\"", "queue": "5", "routing_key": "*.#",
                        "arguments": {"x": null}}]})",
      {});
  ASSERT_TRUE(made) << made.status().message();
  const Definitions& definitions = made->definitions;
  const std::string yaml = definitions_yaml(definitions);
  const auto read = read_definitions(yaml, {});
  ASSERT_TRUE(read) << yaml << read.status().message();
  EXPECT_EQ(definitions_json(read->definitions), definitions_json(definitions));
  const auto wrong = read_definitions("segue_definitions: 1\nqueues: 3\n", {});
  EXPECT_FALSE(wrong);
}

}  // namespace
}  // namespace segue
