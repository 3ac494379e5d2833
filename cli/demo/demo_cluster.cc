#include "cli/demo/demo_cluster.h"

#include <signal.h>
#include <stdlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "cli/cluster_plan.h"

namespace segue::cli::demo {

namespace {

using std::chrono::seconds;

constexpr seconds kEndTimeout{20};
constexpr std::size_t kLogLines = 10;
// sun_path has 108 bytes with its NUL.
constexpr std::size_t kLongestSocketPath = 100;

Status write_file(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << text;
  file.close();
  return file ? Status::ok() : Status(Code::kIoError, "cannot write " + path);
}

}  // namespace

Result<std::unique_ptr<DemoDirectory>> DemoDirectory::make() {
  std::error_code error;
  const std::filesystem::path base = std::filesystem::temp_directory_path(error);
  std::string path = ((error ? "/tmp" : base) / "segue-demo.XXXXXX").string();
  if (::mkdtemp(path.data()) == nullptr) {
    return Status(Code::kIoError, "cannot make a directory " + path + ": " + std::strerror(errno) +
                                      "; TMPDIR says where else");
  }
  return std::unique_ptr<DemoDirectory>(new DemoDirectory(std::move(path)));
}

DemoDirectory::~DemoDirectory() {
  if (kept_) return;
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

Result<std::unique_ptr<DemoCluster>> DemoCluster::start(const std::string& directory,
                                                        const std::string& binaries) {
  ClusterPlan plan;
  plan.data_dir = directory;
  const std::string socket = directory + "/r1.sock";
  plan.router_endpoint =
      socket.size() <= kLongestSocketPath ? "ipc://" + socket : free_router_endpoint();
  const Result<std::string> yaml = cluster_yaml(plan);
  if (!yaml) return yaml.status();
  const std::string config_path = directory + "/cluster.yaml";
  SEGUE_RETURN_IF_ERROR(write_file(config_path, *yaml));
  const Result<ClusterConfig> config = load_cluster_config(config_path, process_environment());
  if (!config) return config.status();
  const std::string logs = directory + "/logs";
  std::error_code error;
  std::filesystem::create_directories(logs, error);
  if (error) return Status(Code::kIoError, "cannot make " + logs + ": " + error.message());
  std::unique_ptr<DemoCluster> cluster(
      new DemoCluster(*config, {config_path, binaries, logs, /*restart=*/false}));
  SEGUE_RETURN_IF_ERROR(cluster->processes_.start());
  return cluster;
}

DemoCluster::DemoCluster(const ClusterConfig& config, LocalCluster::Options options)
    : router_endpoint_(config.routers.front().endpoint),
      log_directory_(options.log_directory),
      processes_(config, std::move(options)) {
  for (const NodeConfig& node : config.nodes) node_ids_.push_back(node.id);
}

std::vector<std::string> DemoCluster::node_ids() const {
  return node_ids_;
}

Status DemoCluster::kill(const std::string& id) {
  return processes_.end(id, SIGKILL, kEndTimeout);
}

Status DemoCluster::terminate(const std::string& id) {
  return processes_.end(id, SIGTERM, kEndTimeout);
}

Status DemoCluster::start_again(const std::string& id) {
  return processes_.start_again(id);
}

std::vector<std::string> DemoCluster::unexpected_deaths() {
  std::vector<std::string> deaths;
  for (const LocalCluster::Event& event : processes_.poll(SystemClock().now())) {
    deaths.push_back(event.text + "; its last words:\n" + processes_.log_tail(event.id, kLogLines));
  }
  return deaths;
}

bool DemoCluster::stop() {
  return processes_.stop(kEndTimeout);
}

bool DemoCluster::serves_everything(client::Connection& connection) {
  connection.admin().set_timeout(seconds(1));
  const auto status = connection.admin().cluster_status();
  if (!status || !status->catalog_available) return false;
  return std::all_of(status->nodes.begin(), status->nodes.end(),
                     [](const client::NodeDescription& node) { return node.connected; }) &&
         std::all_of(status->shards.begin(), status->shards.end(),
                     [](const client::ShardDescription& shard) { return shard.available; });
}

bool DemoCluster::misses(client::Connection& connection, const std::string& node) {
  connection.admin().set_timeout(seconds(1));
  const auto status = connection.admin().cluster_status();
  return status && std::any_of(status->nodes.begin(), status->nodes.end(),
                               [&](const client::NodeDescription& description) {
                                 return description.id == node && !description.connected;
                               });
}

}  // namespace segue::cli::demo
