// Any bytes as a cluster's configuration: never a crash, always a configuration that keeps its
// promises or a message that has a place.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "common/check.h"
#include "common/config.h"
#include "common/config_values.h"
#include "common/utf8.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(bytes), size);
  const segue::EnvironmentLookup environment =
      [](std::string_view name) -> std::optional<std::string> {
    if (name.size() % 2 == 0) return std::nullopt;
    return std::string(name);
  };
  const segue::Result<segue::ClusterConfig> config =
      segue::parse_cluster_config(text, "fuzz.yaml", environment);
  if (!config) {
    SEGUE_CHECK(config.status().code() == segue::Code::kInvalidConfig);
    SEGUE_CHECK(config.status().message().starts_with("fuzz.yaml:"));
    SEGUE_CHECK(segue::is_utf8(config.status().message()));
    return 0;
  }
  SEGUE_CHECK(segue::check_id(config->cluster).is_ok());
  SEGUE_CHECK(!config->routers.empty());
  SEGUE_CHECK(config->find_node(config->catalog_leader) != nullptr);
  SEGUE_CHECK(config->shards >= config->nodes.size());
  SEGUE_CHECK(config->limits.max_message_bytes <= config->limits.max_frame_bytes);
  for (const segue::NodeConfig& node : config->nodes) {
    SEGUE_CHECK(segue::check_endpoint(node.endpoint, segue::EndpointUse::kConnect).is_ok());
    SEGUE_CHECK(!node.listen.empty() && !node.data_dir.empty());
  }
  return 0;
}
