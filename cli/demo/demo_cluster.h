#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "cli/local_cluster.h"
#include "segue/client.h"

namespace segue::cli::demo {

/// A directory of the demo's own under the system's temporary one; removed with all in it when the
/// object goes, unless keep() was called.
class DemoDirectory {
 public:
  static Result<std::unique_ptr<DemoDirectory>> make();
  ~DemoDirectory();
  DemoDirectory(const DemoDirectory&) = delete;
  DemoDirectory& operator=(const DemoDirectory&) = delete;

  const std::string& path() const { return path_; }
  void keep() { kept_ = true; }

 private:
  explicit DemoDirectory(std::string path) : path_(std::move(path)) {}

  std::string path_;
  bool kept_ = false;
};

/// The cluster of a demo: the processes r1, n1, n2 and n3 with all they have in one directory,
/// which outlives this object. Only ends and starts processes when told. One thread.
class DemoCluster {
 public:
  static constexpr const char* kRouter = "r1";

  /// Writes the configuration and starts all processes; `binaries` is where their programs are.
  static Result<std::unique_ptr<DemoCluster>> start(const std::string& directory,
                                                    const std::string& binaries);

  const std::string& router_endpoint() const { return router_endpoint_; }
  std::vector<std::string> node_ids() const;
  /// Where each process writes its log, as <id>.log.
  const std::string& log_directory() const { return log_directory_; }

  /// SIGKILL, and waits for the end.
  Status kill(const std::string& id);
  /// SIGTERM, and waits for the end.
  Status terminate(const std::string& id);
  Status start_again(const std::string& id);
  /// Processes that died without being told to: a sentence for each, with the log's last lines.
  std::vector<std::string> unexpected_deaths();
  /// Stops everything. False: something had to be killed.
  bool stop();

  /// Whether every node is connected and every shard is served, as a router says; waits for its
  /// answer a second at most.
  static bool serves_everything(client::Connection& connection);
  /// Whether the router noticed that the node is gone; waits as above.
  static bool misses(client::Connection& connection, const std::string& node);

 private:
  DemoCluster(const ClusterConfig& config, LocalCluster::Options options);

  std::string router_endpoint_;
  std::string log_directory_;
  std::vector<std::string> node_ids_;
  LocalCluster processes_;
};

}  // namespace segue::cli::demo
