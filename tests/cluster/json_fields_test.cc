// What `segue ... --json` prints has the fields that cli/README.md tells of, and no others.

#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "common/json_input.h"
#include "tests/fakes/process.h"
#include "tests/fakes/test_cluster.h"

namespace segue {
namespace {

using Names = std::set<std::string>;

Names names_in(const std::string& text) {
  static const std::regex code("`([a-z0-9_]+)`");
  Names names;
  for (std::sregex_iterator at(text.begin(), text.end(), code), end; at != end; ++at) {
    names.insert((*at)[1]);
  }
  return names;
}

struct Field {
  bool always = true;  // its meaning does not begin with "only"
  Names besides;       // what its row names, too: where the fields of objects within it are told of
};

/// The table below a heading of cli/README.md.
std::map<std::string, Field> documented(const std::string& heading) {
  std::ifstream in(std::string(SEGUE_SOURCE_DIR) + "/cli/README.md");
  std::map<std::string, Field> fields;
  std::string line;
  bool inside = false;
  while (std::getline(in, line)) {
    if (line.starts_with("## ")) inside = line == "## " + heading;
    const std::size_t second = line.find(" | ", 2);
    if (!inside || !line.starts_with("| `") || second == std::string::npos) continue;
    for (const std::string& field : names_in(line.substr(0, second))) {
      fields[field] = {line.find(" | only ", second) != second, names_in(line.substr(second))};
    }
  }
  EXPECT_FALSE(fields.empty()) << "cli/README.md has no table below '" << heading << "'";
  return fields;
}

class JsonFields : public testing::Test {
 protected:
  JsonFields()
      : up_("segue", {"up", "--nodes", "1", "--data-dir", directory_.path() + "/data", "--endpoint",
                      "ipc://" + directory_.path() + "/r1"}) {}

  void SetUp() override { ASSERT_TRUE(up_.wait_for_stdout("READY")) << up_.stderr_text(); }

  std::string run(const std::vector<std::string>& arguments, int expected = 0) {
    Process process("segue", arguments, {"SEGUE_ROUTER=ipc://" + directory_.path() + "/r1"});
    process.close_input();
    EXPECT_EQ(process.wait(), expected)
        << testing::PrintToString(arguments) << process.stderr_text();
    return process.stdout_text();
  }

  /// The commands together must print each documented field (but for those that are there in some
  /// cases only), and no other one.
  void expect_documented(const std::string& heading,
                         const std::vector<std::vector<std::string>>& commands, int code = 0) {
    SCOPED_TRACE(heading);
    const auto fields = documented(heading);
    Names printed;
    for (const auto& command : commands) {
      const auto parsed = parse_json(run(command, code));
      ASSERT_TRUE(parsed.is_ok()) << parsed.status().to_string();
      std::vector<const JsonValue*> objects;
      if (parsed->array() == nullptr)
        objects.push_back(&*parsed);
      else
        for (const JsonValue& item : *parsed->array()) objects.push_back(&item);
      for (const JsonValue* object : objects) {
        ASSERT_NE(object->object(), nullptr);
        for (const auto& [name, value] : *object->object()) {
          printed.insert(name);
          const auto row = fields.find(name);
          if (row == fields.end()) {
            ADD_FAILURE() << "'" << name << "' is printed, and nothing tells of it";
          } else {
            expect_named(row->second.besides, name, value);
          }
        }
      }
    }
    for (const auto& [name, field] : fields) {
      EXPECT_TRUE(!field.always || printed.contains(name))
          << "'" << name << "' is told of and was not printed";
    }
  }

  std::string data() const { return directory_.path() + "/data"; }

  const TempDir directory_;
  Process up_;

 private:
  /// Objects in a list: their fields stand in the row of the list.
  static void expect_named(const Names& names, const std::string& field, const JsonValue& value) {
    if (value.array() == nullptr) return;
    for (const JsonValue& item : *value.array()) {
      if (item.object() == nullptr) continue;
      for (const auto& [name, inner] : *item.object()) {
        EXPECT_TRUE(names.contains(name))
            << "'" << name << "' of '" << field << "' is printed, and nothing tells of it";
      }
    }
  }
};

TEST_F(JsonFields, AreThoseThatAreDocumented) {
  run({"policy", "set", "short", "--pattern", "^q", "max-length=100"});
  run({"vhost", "create", "tenant", "--max-queues", "5", "--max-sessions", "5", "--max-bytes",
       "1000000"});
  run({"exchange", "declare", "news", "--type", "fanout"});
  run({"exchange", "declare", "more", "--type", "fanout", "--alternate", "news"});
  expect_documented("queue declare --json", {{"queue", "declare", "q", "--json"}});
  run({"binding", "create", "news", "q"});
  run({"binding", "create", "news", "--to-exchange", "more"});
  run({"queue", "declare", "other"});
  run({"publish", "--queue", "q", "--body", "hello"});
  expect_documented("status --json", {{"status", "--json"}});
  expect_documented("queue list --json, queue show --json",
                    {{"queue", "list", "--json"}, {"queue", "show", "q", "--json"}});
  expect_documented("policy list --json", {{"policy", "list", "--json"}});
  expect_documented("vhost list --json", {{"vhost", "list", "--json"}});
  expect_documented("exchange list --json", {{"exchange", "list", "--json"}});
  expect_documented("binding list --json", {{"binding", "list", "--json"}});
  expect_documented("segments --json", {{"segments", "q", "--json"}});
  expect_documented("gc status --json",
                    {{"gc", "status", "--json"}, {"gc", "status", "q", "--json"}});
  expect_documented("move --json", {{"move", "q", "--to-queue", "other", "--dry-run", "--json"}});
  expect_documented(
      "purge --json, queue cancel-delayed --json",
      {{"purge", "q", "--json"}, {"queue", "cancel-delayed", "q", "--all", "--json"}});
}

TEST_F(JsonFields, OfWhatIsDoneToAStoppedNodeAreThoseThatAreDocumented) {
  run({"queue", "declare", "q"});
  run({"publish", "--queue", "q", "--body", "hello"});
  expect_documented("backup --online --json",
                    {{"backup", "--online", directory_.path() + "/online", "--json"}});
  up_.terminate();
  ASSERT_EQ(up_.wait(), 0);
  const std::string node = data() + "/n1";
  expect_documented("check --json", {{"check", node, "--json"}});
  expect_documented("check --repair --json", {{"check", node, "--repair", "--dry-run", "--json"}});
  expect_documented(
      "backup --json, restore --json",
      {{"backup", node, directory_.path() + "/backup", "--json"},
       {"restore", directory_.path() + "/backup", directory_.path() + "/again", "--json"}});
}

}  // namespace
}  // namespace segue
