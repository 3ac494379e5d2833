#include "common/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "tests/common/config_text.h"

namespace segue {
namespace {

using testing::HasSubstr;

TEST(Config, ReadsTheSmallestCluster) {
  const auto config = parse_config(kSmallest);
  ASSERT_TRUE(config.is_ok()) << config.status().message();
  EXPECT_EQ(config->cluster, "test");
  ASSERT_EQ(config->routers.size(), 1u);
  EXPECT_EQ(config->routers[0].id, "r1");
  EXPECT_EQ(config->routers[0].endpoint, "tcp://127.0.0.1:7400");
  EXPECT_EQ(config->routers[0].listen, "tcp://127.0.0.1:7400");
  ASSERT_EQ(config->nodes.size(), 1u);
  EXPECT_EQ(config->nodes[0].data_dir, "data/n1");
  EXPECT_EQ(config->nodes[0].memory_limit, 512u << 20);
  EXPECT_EQ(config->catalog_leader, "n1");
  EXPECT_EQ(config->shards, 32u);
  EXPECT_TRUE(config->durability.sync);
}

TEST(Config, ReadsEveryKindOfValue) {
  const auto config = parse_config(R"(
cluster: prod-1
shards: 4096
memory_limit: 1GB
durability: {interval_ms: 25}
routers:
  - {id: r1, endpoint: "tcp://router.example.net:7400", listen: "tcp://*:7400"}
  - id: r2
    endpoint: ipc://@segue-r2
nodes:
  - {id: n1, endpoint: ipc:///run/segue/n1, data_dir: /data/n1}
  - {id: N_2, endpoint: "tcp://[::1]:7412", listen: "tcp://[::]:7412", memory_limit: 2GiB}
catalog:
  leader: N_2
storage:
  data_dir: /var/lib/segue/
  segment_bytes: 1048576
  checkpoint_interval: 90s
  direct_io: false
  free_disk_limit: 0
limits: {max_message_bytes: 1 MiB, max_sessions: 7}
timeouts: {heartbeat: 500ms, shutdown: 0, shard_unavailable_timeout: 2h}
logging: {level: debug, format: json}
)");
  ASSERT_TRUE(config.is_ok()) << config.status().message();
  EXPECT_EQ(config->shards, 4096u);
  EXPECT_EQ(config->memory_limit, 1'000'000'000u);
  EXPECT_FALSE(config->durability.sync);
  EXPECT_EQ(config->durability.interval, std::chrono::milliseconds(25));
  EXPECT_EQ(config->routers[0].listen, "tcp://*:7400");
  EXPECT_EQ(config->routers[1].listen, "ipc://@segue-r2");
  EXPECT_EQ(config->nodes[0].data_dir, "/data/n1");
  EXPECT_EQ(config->nodes[0].memory_limit, 1'000'000'000u);
  EXPECT_EQ(config->nodes[1].data_dir, "/var/lib/segue/N_2");
  EXPECT_EQ(config->nodes[1].memory_limit, 2ull << 30);
  EXPECT_EQ(config->catalog_leader, "N_2");
  EXPECT_EQ(config->storage.segment_bytes, 1048576u);
  EXPECT_EQ(config->storage.checkpoint_interval, std::chrono::seconds(90));
  EXPECT_FALSE(config->storage.direct_io);
  EXPECT_EQ(config->storage.free_disk_limit, 0u);
  EXPECT_EQ(config->limits.max_message_bytes, 1u << 20);
  EXPECT_EQ(config->limits.max_sessions, 7u);
  EXPECT_EQ(config->timeouts.heartbeat, std::chrono::milliseconds(500));
  EXPECT_EQ(config->timeouts.shutdown, std::chrono::milliseconds(0));
  EXPECT_EQ(config->timeouts.shard_unavailable_timeout, std::chrono::hours(2));
  EXPECT_EQ(config->logging.level, "debug");
  EXPECT_EQ(config->logging.format, "json");
  EXPECT_EQ(config->router_ids(), "r1, r2");
  EXPECT_EQ(config->node_ids(), "n1, N_2");
  ASSERT_NE(config->find_node("N_2"), nullptr);
  EXPECT_EQ(config->find_node("N_2")->memory_limit, 2ull << 30);
  EXPECT_EQ(config->find_node("n2"), nullptr);
  EXPECT_EQ(config->find_router("n1"), nullptr);
}

TEST(Config, ASectionWithoutKeysIsAsIfLeftOut) {
  const auto config = parse_config(std::string(kSmallest) + "storage:\nlimits: {}\n");
  EXPECT_TRUE(config.is_ok()) << config.status().message();
}

TEST(ConfigEnvironment, FillsInVariables) {
  const auto config = parse_config(R"(
cluster: ${CLUSTER}
shards: ${SHARDS:-64}
routers: [{id: r1, endpoint: "tcp://${HOST:-localhost}:${PORT}"}]
nodes: [{id: n1, endpoint: "ipc:///tmp/$${x}"}]
storage: {data_dir: "${EMPTY:-/from/default}"}
durability: ${DURABILITY:-sync}
)",
                                   {{"CLUSTER", "east"}, {"PORT", "7400"}, {"EMPTY", ""}});
  ASSERT_TRUE(config.is_ok()) << config.status().message();
  EXPECT_EQ(config->cluster, "east");
  EXPECT_EQ(config->shards, 64u);
  EXPECT_EQ(config->routers[0].endpoint, "tcp://localhost:7400");
  EXPECT_EQ(config->nodes[0].endpoint, "ipc:///tmp/${x}");
  EXPECT_EQ(config->storage.data_dir, "/from/default");
}

TEST(ConfigEnvironment, AVariableThatIsNotSetIsNamedWithItsPlace) {
  const std::string error = error_of(replaced(kSmallest, "cluster: test", "cluster: ${CLUSTER}"));
  EXPECT_EQ(
      error,
      "cluster.yaml:1:10: key 'cluster': the environment variable CLUSTER is not set; set it, or "
      "give a default with ${CLUSTER:-default}");
}

TEST(ConfigEnvironment, AWrongValueShowsWhereItCameFrom) {
  const auto config =
      parse_config(std::string(kSmallest) + "shards: ${SHARDS}\n", {{"SHARDS", "many"}});
  ASSERT_FALSE(config.is_ok());
  EXPECT_THAT(config.status().message(),
              HasSubstr("key 'shards': expected a whole number, found 'many' (from '${SHARDS}')"));
}

TEST(ConfigEnvironment, AVariableCannotBringKeys) {
  const auto config = parse_config(std::string(kSmallest) + "logging:\n  level: ${LEVEL}\n",
                                   {{"LEVEL", "info\n  format: json"}});
  ASSERT_FALSE(config.is_ok());
  EXPECT_THAT(config.status().message(), HasSubstr("found 'info\\x0a  format: json'"));
}

class ConfigFile : public testing::Test {
 protected:
  ConfigFile()
      : path_(std::filesystem::path(testing::TempDir()) /
              ("segue_config_" + std::to_string(getpid()) + ".yaml")) {}
  ~ConfigFile() override { std::filesystem::remove(path_); }
  void write(std::string_view text) { std::ofstream(path_, std::ios::binary) << text; }

  std::filesystem::path path_;
};

TEST_F(ConfigFile, IsLoaded) {
  write(kSmallest);
  const auto config = load_cluster_config(path_.string(), no_environment());
  ASSERT_TRUE(config.is_ok()) << config.status().message();
  EXPECT_EQ(config->cluster, "test");
}

TEST_F(ConfigFile, ErrorsNameThePath) {
  write("cluster: [\n");
  const auto config = load_cluster_config(path_.string(), no_environment());
  ASSERT_FALSE(config.is_ok());
  EXPECT_TRUE(config.status().message().starts_with(path_.string() + ":"))
      << config.status().message();
}

TEST_F(ConfigFile, ThatIsMissingIsAnError) {
  const auto config = load_cluster_config(path_.string(), no_environment());
  ASSERT_FALSE(config.is_ok());
  EXPECT_EQ(config.status().code(), Code::kIoError);
  EXPECT_EQ(config.status().message(),
            "cannot read the configuration '" + path_.string() + "': No such file or directory");
}

TEST_F(ConfigFile, ThatIsADirectoryIsAnError) {
  const auto config = load_cluster_config(testing::TempDir(), no_environment());
  ASSERT_FALSE(config.is_ok());
  EXPECT_THAT(config.status().message(), HasSubstr("Is a directory"));
}

TEST_F(ConfigFile, ThatIsTooLargeIsAnError) {
  write(std::string(kSmallest) + "#" + std::string(kMaxConfigBytes, 'x'));
  const auto config = load_cluster_config(path_.string(), no_environment());
  ASSERT_FALSE(config.is_ok());
  EXPECT_THAT(config.status().message(),
              HasSubstr("has " + std::to_string(std::filesystem::file_size(path_)) +
                        " bytes; at most 1048576 are read"));
}

TEST_F(ConfigFile, ThatIsAPipeIsAnErrorAtOnce) {
  ASSERT_EQ(::mkfifo(path_.c_str(), 0600), 0);
  const auto config = load_cluster_config(path_.string(), no_environment());
  ASSERT_FALSE(config.is_ok());
  EXPECT_EQ(config.status().code(), Code::kInvalidConfig);
  EXPECT_THAT(config.status().message(), HasSubstr("Is a pipe; what is read at the start must be"));
}

TEST_F(ConfigFile, WithoutEndIsAnError) {
  const auto config = load_cluster_config("/dev/zero", no_environment());
  ASSERT_FALSE(config.is_ok());
  EXPECT_EQ(config.status().code(), Code::kInvalidConfig);
}

TEST(ConfigDefinitions, ArePathsFromWhereTheFileIs) {
  const auto of = [](const std::string& value) {
    return parse_cluster_config(std::string(kSmallest) + "definitions: " + value + "\n",
                                "/etc/segue/cluster.yaml", environment_of({{"TEAM", "b"}}));
  };
  EXPECT_TRUE(parse_config(kSmallest)->definitions.empty());
  EXPECT_EQ(of("d.json")->definitions, std::vector<std::string>{"/etc/segue/d.json"});
  EXPECT_EQ(of("[a/d.json, '/var/${TEAM}.yaml']")->definitions,
            (std::vector<std::string>{"/etc/segue/a/d.json", "/var/b.yaml"}));
  EXPECT_THAT(of("[a, {b: c}]").status().message(), HasSubstr("key 'definitions[1]'"));
  EXPECT_FALSE(of("{a: b}"));
}

TEST(ConfigProcessEnvironment, IsThatOfTheProcess) {
  const EnvironmentLookup environment = process_environment();
  EXPECT_TRUE(environment("PATH").has_value());
  EXPECT_FALSE(environment("SEGUE_NO_SUCH_VARIABLE").has_value());
}

}  // namespace
}  // namespace segue
