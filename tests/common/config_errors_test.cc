// What a wrong configuration is told.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/common/config_text.h"

namespace segue {
namespace {

using testing::HasSubstr;
using std::string_literals::operator""s;

/// The smallest configuration and more lines; these begin in line 8.
std::string with(std::string_view lines) {
  return std::string(kSmallest) + std::string(lines);
}

TEST(ConfigErrors, NameTheFileLineColumnAndKeyAndSuggestASpelling) {
  EXPECT_EQ(error_of(with("storage:\n  wal_file_byts: 64MiB\n")),
            "cluster.yaml:9:3: key 'storage.wal_file_byts': unknown key; did you mean "
            "'wal_file_bytes'?");
  EXPECT_EQ(error_of(with("Shards: 3\n")),
            "cluster.yaml:8:1: key 'Shards': unknown key; did you mean 'shards'?");
  EXPECT_EQ(error_of(with("storge: {}\n")),
            "cluster.yaml:8:1: key 'storge': unknown key; did you mean 'storage'?");
  EXPECT_EQ(error_of(with("durability: {interval-ms: 5}\n")),
            "cluster.yaml:8:14: key 'durability.interval-ms': unknown key; did you mean "
            "'interval_ms'?");
  EXPECT_EQ(
      error_of(replaced(kSmallest, "    endpoint: tcp://127.0.0.1:7411", "    endpont: x")),
      "cluster.yaml:6:5: key 'nodes[0].endpoint': expected a value, found nothing; the key is "
      "required\n"
      "cluster.yaml:7:5: key 'nodes[0].endpont': unknown key; did you mean 'endpoint'?");
}

TEST(ConfigErrors, SayWhereAMisplacedKeyBelongs) {
  EXPECT_EQ(error_of(with("segment_bytes: 1MiB\n")),
            "cluster.yaml:8:1: key 'segment_bytes': unknown key; did you mean "
            "'storage.segment_bytes'?");
}

TEST(ConfigErrors, ListTheKeysWhenNoneIsNear) {
  EXPECT_EQ(
      error_of(with("logging: {zzzzzzzz: 1}\n")),
      "cluster.yaml:8:11: key 'logging.zzzzzzzz': unknown key; expected one of level, format");
}

TEST(ConfigErrors, AKeyThatLooksLikeAPathIsUnknown) {
  EXPECT_THAT(error_of(with("logging.level: info\n")),
              HasSubstr("8:1: key 'logging.level': unknown"));
  EXPECT_THAT(error_of(with("\"nodes[]\": 1\n")), HasSubstr("key 'nodes[]': unknown key"));
  EXPECT_THAT(error_of(with("\"\": 1\n")), HasSubstr("key '': unknown key"));
}

TEST(ConfigErrors, AllAreToldInOrder) {
  EXPECT_EQ(
      error_of("cluster: a b\nshards: 0\nlogging: {level: loud}\nrouters: []\n"),
      "cluster.yaml:1:1: key 'nodes': expected a list, found nothing; the key is required\n"
      "cluster.yaml:1:10: key 'cluster': expected 1 to 64 of the characters a-z A-Z 0-9 _ -, "
      "found 'a b'\n"
      "cluster.yaml:2:9: key 'shards': expected 1 to 4096, found '0'\n"
      "cluster.yaml:3:18: key 'logging.level': expected trace, debug, info, warn, error, off, "
      "found 'loud'\n"
      "cluster.yaml:4:10: key 'routers': expected a list with an element for each process, found "
      "an empty one");
}

TEST(ConfigErrors, AnEndlessListOfThemIsCut) {
  std::string text(kSmallest);
  for (int i = 0; i < 5000; ++i) text += "unknown_" + std::to_string(i) + ": 1\n";
  const std::string error = error_of(text);
  EXPECT_THAT(error, HasSubstr("cluster.yaml:8:1: key 'unknown_0'"));
  EXPECT_TRUE(error.ends_with("\nand 4950 more problems")) << error.substr(error.size() - 100);
  EXPECT_EQ(std::count(error.begin(), error.end(), '\n'), 50);
}

TEST(ConfigErrors, RepeatedKeysAreRefused) {
  EXPECT_EQ(
      error_of(with("cluster: again\n")),
      "cluster.yaml:8:1: key 'cluster': expected once, found again; it stands in line 1 already");
  EXPECT_THAT(error_of(with("limits: {max_sessions: 1, max_sessions: 2}\n")),
              HasSubstr("key 'limits.max_sessions': expected once, found again"));
}

TEST(ConfigErrors, RepeatedIdsAreRefusedAlsoBetweenRoutersAndNodes) {
  EXPECT_EQ(
      error_of(with("  - {id: n1, endpoint: \"tcp://127.0.0.1:7412\"}\n")),
      "cluster.yaml:8:10: key 'nodes[1].id': expected one that nobody else has, found 'n1', which "
      "is also nodes[0].id in line 6");
  EXPECT_THAT(error_of(replaced(kSmallest, "id: n1", "id: r1")),
              HasSubstr("key 'nodes[0].id': expected one that nobody else has, found 'r1'"));
}

TEST(ConfigErrors, RepeatedEndpointsAreRefused) {
  EXPECT_EQ(error_of(replaced(kSmallest, ":7411", ":7400")),
            "cluster.yaml:7:15: key 'nodes[0].endpoint': expected one that nobody else has, found "
            "'tcp://127.0.0.1:7400', which is also routers[0].endpoint in line 4");
}

TEST(ConfigErrors, TheSameListenOnDifferentMachinesIsFine) {
  EXPECT_TRUE(parse_config("cluster: c\n"
                           "routers: [{id: r, endpoint: 'tcp://a:7400', listen: 'tcp://*:7400'}]\n"
                           "nodes: [{id: n, endpoint: 'tcp://b:7400', listen: 'tcp://*:7400'}]\n")
                  .is_ok());
}

TEST(ConfigErrors, TheCatalogsLeaderMustBeANode) {
  EXPECT_EQ(error_of(with("catalog: {leader: r1}\n")),
            "cluster.yaml:8:19: key 'catalog.leader': expected a node's id (n1), found 'r1'");
}

struct WrongValue {
  const char* lines;
  const char* told;
};

class ConfigWrongValue : public testing::TestWithParam<WrongValue> {};

TEST_P(ConfigWrongValue, IsRefused) {
  EXPECT_THAT(error_of(with(GetParam().lines)), HasSubstr(GetParam().told));
}

INSTANTIATE_TEST_SUITE_P(
    All, ConfigWrongValue,
    testing::Values(
        WrongValue{"shards: -1\n", "key 'shards': expected a whole number, found '-1'"},
        WrongValue{"shards: 4097\n", "key 'shards': expected 1 to 4096, found '4097'"},
        WrongValue{"shards: 32.5\n", "expected a whole number, found '32.5'"},
        WrongValue{"shards: 0x20\n", "expected a whole number, found '0x20'"},
        WrongValue{"shards: ' 32'\n", "expected a whole number, found ' 32'"},
        WrongValue{"shards: 99999999999999999999\n", "found '99999999999999999999'"},
        WrongValue{"shards:\n",
                   "8:1: key 'shards': expected a value (Unit: count. From 1 to 4096. "
                   "Default: 32.), found nothing"},
        WrongValue{"shards: [1]\n", "found a list"}, WrongValue{"shards: {a: 1}\n", "found a map"},
        WrongValue{"shards: ''\n", "found ''"},
        WrongValue{"memory_limit: 1KiB\n", "expected 64MiB to 16TiB, found '1KiB'"},
        WrongValue{"memory_limit: 64M\n",
                   "expected a size such as 64MiB, 1GB or 4096 (bytes), found '64M'"},
        WrongValue{"memory_limit: lots\n", "expected a size such as"},
        WrongValue{"memory_limit: 99999999TiB\n", "below 2^64"},
        WrongValue{"memory_limit: -5MiB\n", "expected a size such as"},
        WrongValue{"timeouts: {heartbeat: 10}\n",
                   "expected a duration such as 500ms, 30s, 5m or 2h with a unit, found '10'"},
        WrongValue{"timeouts: {heartbeat: 10 parsecs}\n", "found '10 parsecs'"},
        WrongValue{"timeouts: {heartbeat: 1ms}\n", "expected 100ms to 1h, found '1ms'"},
        WrongValue{"storage: {direct_io: yes}\n", "expected true or false, found 'yes'"},
        WrongValue{"storage: {data_dir: ''}\n", "expected a path of 1 to 3000 bytes, found ''"},
        WrongValue{"storage: {data_dir: \"a\\0b\"}\n",
                   "expected a path without control characters"},
        WrongValue{"storage: {data_dir: $HOME/x}\n",
                   "expected ${NAME}, ${NAME:-default} or $$ for a dollar sign, found '$HOME/x'"},
        WrongValue{"storage: 5\n", "key 'storage': expected a map, found '5'"},
        WrongValue{"storage: [a]\n", "key 'storage': expected a map, found a list"},
        WrongValue{"durability: async\n", "expected sync or {interval_ms: N}, found 'async'"},
        WrongValue{"durability: {interval_ms: 0}\n", "expected 1 to 60000, found '0'"},
        WrongValue{"durability: [sync]\n", "found a list"},
        WrongValue{"logging: {format: xml}\n", "expected text, json, found 'xml'"},
        // combinations
        WrongValue{
            "limits: {max_message_bytes: 33MiB, publish_credit_bytes: 64MiB}\n",
            "key 'limits.max_message_bytes': expected at most limits.max_frame_bytes (32MiB), "
            "found 33MiB"},
        WrongValue{
            "limits: {max_frame_bytes: 1MiB}\n",
            "key 'limits.max_frame_bytes': expected at least limits.max_message_bytes (16MiB), "
            "found 1MiB"},
        WrongValue{"limits: {publish_credit_bytes: 16MiB}\n",
                   "key 'limits.publish_credit_bytes': expected at least limits.max_message_bytes "
                   "(16MiB) and 64 bytes more, found 16MiB"},
        WrongValue{"limits: {node_publish_window_bytes: 1MiB}\n",
                   "key 'limits.node_publish_window_bytes': expected at least"},
        WrongValue{
            "limits: {node_publish_window_bytes: 1GiB}\n",
            "key 'limits.node_publish_window_bytes': expected at most memory_limit (512MiB), "
            "found 1GiB"},
        WrongValue{
            "storage: {wal_file_bytes: 32MiB}\n",
            "key 'storage.wal_file_bytes': expected at least limits.max_frame_bytes (32MiB) and "
            "4096 bytes more, found 32MiB"},
        WrongValue{"storage: {wal_file_bytes: 1GiB}\n",
                   "expected at most storage.checkpoint_wal_bytes (256MiB), found 1GiB"},
        WrongValue{"storage: {wal_reserve_bytes: 1GiB}\n",
                   "key 'storage.wal_reserve_bytes': expected at most storage.checkpoint_wal_bytes "
                   "(256MiB), found 1GiB"},
        WrongValue{"timeouts: {reconnect_min: 3s}\n",
                   "expected reconnect_min to be at most reconnect_max, found 3s and 2s"},
        WrongValue{"  - {id: n2, endpoint: 'ipc://@2'}\nshards: 1\n",
                   "key 'shards': expected at least one shard for each node, found 1 shard and 2 "
                   "nodes"}));

class ConfigWrongElement : public testing::TestWithParam<WrongValue> {};

TEST_P(ConfigWrongElement, IsRefused) {
  const std::string text = "cluster: c\nrouters: [{id: r, endpoint: 'ipc://@r'}]\nnodes: ";
  EXPECT_THAT(error_of(text + GetParam().lines), HasSubstr(GetParam().told));
}

INSTANTIATE_TEST_SUITE_P(
    All, ConfigWrongElement,
    testing::Values(
        WrongValue{"n1\n",
                   "key 'nodes': expected a list with an element for each process, found 'n1'"},
        WrongValue{"\n",
                   "key 'nodes': expected a list with an element for each process, found nothing"},
        WrongValue{"{n1: {}}\n", "found a map"},
        WrongValue{"[n1]\n", "key 'nodes[0]': expected a map with id and endpoint, found 'n1'"},
        WrongValue{"[{}]\n", "key 'nodes[0].id': expected a value, found nothing"},
        WrongValue{"[{id: '', endpoint: 'ipc://@n'}]\n", "found ''"},
        WrongValue{"[{id: ../x, endpoint: 'ipc://@n'}]\n", "found '../x'"},
        WrongValue{"[{id: n, endpoint: localhost:5}]\n",
                   "expected an endpoint: tcp://host:port, ipc://path or ipc://@name, found "
                   "'localhost:5'"},
        WrongValue{"[{id: n, endpoint: 'tcp://*:5'}]\n",
                   "expected a host that others can connect to"},
        WrongValue{"[{id: n, endpoint: 'ipc://@n', memory_limit: 64MiB}, "
                   "{id: m, endpoint: 'ipc://@m'}]\nlimits: {node_publish_window_bytes: 128MiB}\n",
                   "key 'nodes[0].memory_limit': expected at least "
                   "limits.node_publish_window_bytes (128MiB), found 64MiB"}));

TEST(ConfigYaml, SyntaxErrorsHaveAPlace) {
  EXPECT_THAT(error_of(with("logging: {level: info\n")),
              HasSubstr("cluster.yaml:9:1: YAML syntax: "));
  EXPECT_THAT(error_of("cluster: a\n\tshards: 3\n"), HasSubstr("cluster.yaml:2:"));
  EXPECT_THAT(error_of("cluster: a: b\n"), HasSubstr("YAML syntax: "));
}

TEST(ConfigYaml, OtherThingsThanAMapAreRefused) {
  EXPECT_THAT(error_of(""), HasSubstr("found an empty file"));
  EXPECT_THAT(error_of("# nothing\n"), HasSubstr("found"));
  EXPECT_THAT(error_of("---\n"), HasSubstr("found nothing"));
  EXPECT_THAT(error_of("hello\n"),
              HasSubstr("expected a map of keys such as 'cluster', found 'hello'"));
  EXPECT_THAT(error_of("[a, b]\n"), HasSubstr("found a list"));
}

TEST(ConfigYaml, TheEmptyMapLacksTheRequiredKeys) {
  const std::string error = error_of("{}");
  EXPECT_THAT(error, HasSubstr("1:1: key 'cluster': expected a value, found nothing"));
  EXPECT_THAT(error, HasSubstr("1:1: key 'routers': expected a list, found nothing"));
  EXPECT_THAT(error, HasSubstr("1:1: key 'nodes': expected a list, found nothing"));
}

TEST(ConfigYaml, ASecondDocumentIsRefused) {
  EXPECT_THAT(error_of(with("---\ncluster: b\n")),
              HasSubstr("expected one YAML document, found a second"));
}

TEST(ConfigYaml, AnchorsAliasesAndTagsAreRefused) {
  EXPECT_THAT(error_of(with("shards: &a 3\n")),
              HasSubstr("8:9: anchors (&name) are not supported"));
  EXPECT_THAT(error_of("a: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]\n"), HasSubstr("not supported"));
  EXPECT_THAT(error_of("cluster: *a\n"), HasSubstr("cluster.yaml:1:"));
  EXPECT_THAT(error_of("cluster: !!binary aGk=\n"), HasSubstr("tags are not supported"));
}

TEST(ConfigYaml, KeysThatAreNotTextAreRefused) {
  EXPECT_THAT(error_of("? [a]\n: b\n"), HasSubstr("expected a key, found a list"));
  EXPECT_THAT(error_of("{{a: b}: c}\n"), HasSubstr("cluster.yaml:1:"));
}

TEST(ConfigYaml, DepthIsBounded) {
  EXPECT_THAT(error_of(std::string(100, '[')), HasSubstr("nested deeper than 16 levels"));
  EXPECT_THAT(error_of(std::string(500'000, '[')), HasSubstr("cluster.yaml:"));
  EXPECT_THAT(error_of(std::string(500'000, '{')), HasSubstr("cluster.yaml:"));
  std::string deep;
  for (int i = 0; i < 1000; ++i) deep += std::string(static_cast<std::size_t>(i), ' ') + "a:\n";
  EXPECT_THAT(error_of(deep), HasSubstr("nested deeper than 16 levels"));
}

TEST(ConfigYaml, TheNumberOfValuesIsBounded) {
  std::string text = "[";
  for (int i = 0; i < 110'000; ++i) text += "a,";
  EXPECT_THAT(error_of(text + "a]"), HasSubstr("more than 100000 values"));
}

TEST(ConfigYaml, BinaryJunkIsRefusedWithItsPlace) {
  EXPECT_EQ(error_of(with("shards: \x01\n")),
            "cluster.yaml:8:9: expected UTF-8 text, found the byte '\\x01'");
  EXPECT_EQ(error_of("cluster: \xFF\xFE"),
            "cluster.yaml:1:10: expected UTF-8 text, found the byte "
            "'\\xff'");
  EXPECT_EQ(error_of("a\0b"s), "cluster.yaml:1:2: expected UTF-8 text, found the byte '\\x00'");
  EXPECT_THAT(error_of("\x7F"
                       "ELF"),
              HasSubstr("expected UTF-8 text"));
}

TEST(ConfigYaml, ALongOrStrangeValueIsShownShortAndEscaped) {
  const std::string error = error_of(with("shards: " + std::string(10'000, 'x') + "\n"));
  EXPECT_LT(error.size(), 300u);
  EXPECT_THAT(error, HasSubstr("xxx...'"));
  EXPECT_THAT(error_of(with("shards: \"\\n\\e[31m\"\n")), HasSubstr("found '\\x0a\\x1b[31m'"));
}

}  // namespace
}  // namespace segue
