#include "common/config.h"

#include <algorithm>
#include <filesystem>

#include "common/config_problems.h"
#include "common/config_reader.h"
#include "common/config_tree.h"
#include "common/regular_file.h"

namespace segue {
namespace {

template <typename Process>
const Process* find_by_id(const std::vector<Process>& processes, std::string_view id) {
  const auto found = std::find_if(processes.begin(), processes.end(),
                                  [id](const Process& process) { return process.id == id; });
  return found == processes.end() ? nullptr : &*found;
}

template <typename Process>
std::string join_ids(const std::vector<Process>& processes) {
  std::string ids;
  for (const Process& process : processes) ids += (ids.empty() ? "" : ", ") + process.id;
  return ids;
}

std::string join_path(const std::string& directory, const std::string& name) {
  return directory.ends_with('/') ? directory + name : directory + "/" + name;
}

/// Fills in what follows from other keys, and from where the file is.
void derive(const ConfigReader& reader, std::string_view file_name, ClusterConfig& config) {
  const std::filesystem::path directory = std::filesystem::path(file_name).parent_path();
  for (std::string& path : config.definitions) path = (directory / path).string();
  config.durability.sync = config.durability.interval.count() == 0;
  for (RouterConfig& router : config.routers) {
    if (router.listen.empty()) router.listen = router.endpoint;
  }
  for (std::size_t i = 0; i < config.nodes.size(); ++i) {
    NodeConfig& node = config.nodes[i];
    if (node.listen.empty()) node.listen = node.endpoint;
    if (node.data_dir.empty()) node.data_dir = join_path(config.storage.data_dir, node.id);
    if (!reader.has("nodes[" + std::to_string(i) + "].memory_limit")) {
      node.memory_limit = config.memory_limit;
    }
  }
  if (config.catalog_leader.empty()) config.catalog_leader = config.nodes.front().id;
}

Status too_large(std::string_view file_name) {
  return {Code::kInvalidConfig, std::string(file_name) + ": expected at most " +
                                    std::to_string(kMaxConfigBytes) +
                                    " bytes of configuration, found more"};
}

}  // namespace

const RouterConfig* ClusterConfig::find_router(std::string_view id) const {
  return find_by_id(routers, id);
}

const NodeConfig* ClusterConfig::find_node(std::string_view id) const {
  return find_by_id(nodes, id);
}

std::string ClusterConfig::router_ids() const {
  return join_ids(routers);
}

std::string ClusterConfig::node_ids() const {
  return join_ids(nodes);
}

std::string ClusterConfig::summary() const {
  const auto counted = [](std::size_t number, const char* noun) {
    return ", " + std::to_string(number) + " " + noun + (number == 1 ? "" : "s");
  };
  return "cluster '" + cluster + "'" + counted(routers.size(), "router") +
         counted(nodes.size(), "node") + counted(shards, "shard");
}

Result<ClusterConfig> parse_cluster_config(std::string_view text, std::string_view file_name,
                                           const EnvironmentLookup& environment) {
  if (text.size() > kMaxConfigBytes) return too_large(file_name);
  ConfigProblems problems(file_name);
  const std::optional<ConfigNode> tree = parse_config_tree(text, problems);
  if (!tree) return problems.to_status();
  ConfigReader reader(environment, problems);
  reader.read(*tree);
  check_combinations(reader, reader.config(), problems);
  if (!problems.empty()) return problems.to_status();
  derive(reader, file_name, reader.config());
  return std::move(reader.config());
}

Result<ClusterConfig> load_cluster_config(const std::string& path,
                                          const EnvironmentLookup& environment) {
  const Result<std::string> text = read_regular_file(path, kMaxConfigBytes);
  if (text) return parse_cluster_config(*text, path, environment);
  return Status(text.status().code(),
                "cannot read the configuration '" + path + "': " + text.status().message());
}

}  // namespace segue
