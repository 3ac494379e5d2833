#pragma once

#include <signal.h>

#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "segue/client.h"
#include "tests/fakes/process.h"

namespace segue {

/// Options of a cluster whose files are small, so that the log soon lets go of its beginning and a
/// queue has several segments. More keys of `storage` may follow.
inline constexpr char kSmallFiles[] =
    "limits: {max_message_bytes: 64KiB, max_frame_bytes: 128KiB}\n"
    "storage:\n"
    "  data_dir: ${DATA}\n"
    "  wal_file_bytes: 1MiB\n"
    "  wal_reserve_bytes: 1MiB\n"
    "  checkpoint_wal_bytes: 2MiB\n"
    "  segment_bytes: 1MiB\n";

/// A cluster of real processes for one test: routers r1.. and nodes n1.., on ipc endpoints in a
/// directory of its own, which goes with it. One thread.
class TestCluster {
 public:
  struct Options {
    int routers = 1;
    int nodes = 3;
    int shards = 12;
    /// More top-level YAML. ${DATA} in it is the directory for data, which `storage` has to name.
    std::string yaml = {};
    std::string log_level = "warn";
  };

  explicit TestCluster(const Options& options) : options_(options) {
    for (int i = 1; i <= options.routers; ++i) router_ids_.push_back("r" + std::to_string(i));
    for (int i = 1; i <= options.nodes; ++i) node_ids_.push_back("n" + std::to_string(i));
    std::string text = "cluster: test\nshards: " + std::to_string(options.shards) + "\nrouters:\n";
    for (const std::string& id : router_ids_) text += entry(id);
    text += "nodes:\n";
    for (const std::string& id : node_ids_) text += entry(id);
    if (options.yaml.find("storage:") == std::string::npos) {
      text += "storage:\n  data_dir: " + dir_.path() + "/data\n";
    }
    if (options.yaml.find("logging:") == std::string::npos) {
      text += "logging:\n  level: " + options.log_level + "\n";
    }
    std::string more = options.yaml;
    if (const auto at = more.find("${DATA}"); at != std::string::npos) {
      more.replace(at, 7, dir_.path() + "/data");
    }
    config_ = dir_.write("cluster.yaml", text + more);
  }

  /// Fails the test when a process has ended by itself.
  ~TestCluster() {
    for (const std::string& id : check()) {
      Process& process = *processes_.at(id);
      ADD_FAILURE() << id << " ended by itself with " << process.wait().value_or(-1) << ": "
                    << process.stderr_text();
    }
  }
  TestCluster(const TestCluster&) = delete;
  TestCluster& operator=(const TestCluster&) = delete;

  const std::vector<std::string>& router_ids() const { return router_ids_; }
  const std::vector<std::string>& node_ids() const { return node_ids_; }
  const std::string& config() const { return config_; }
  const std::string& directory() const { return dir_.path(); }
  std::string data_dir(const std::string& node) const { return dir_.path() + "/data/" + node; }
  std::string endpoint(const std::string& id) const { return "ipc://" + dir_.path() + "/" + id; }
  std::vector<std::string> router_endpoints() const {
    std::vector<std::string> endpoints;
    for (const std::string& id : router_ids_) endpoints.push_back(endpoint(id));
    return endpoints;
  }

  /// `environment`: "NAME=value", on top of the test's.
  void start(const std::string& id, const std::vector<std::string>& environment = {}) {
    const std::string program = id[0] == 'r' ? "segue-router" : "segue-node";
    processes_[id] = std::make_unique<Process>(
        program, std::vector<std::string>{"--config", config_, "--id", id}, environment);
  }
  void start_all() {
    for (const std::string& id : node_ids_) start(id);
    for (const std::string& id : router_ids_) start(id);
  }
  /// SIGKILL; returns when it is dead. Fails the test when it was dead before.
  void kill(const std::string& id) {
    Process& process = *processes_.at(id);
    process.kill_now();
    EXPECT_EQ(process.wait(), 128 + SIGKILL) << id << " had ended: " << process.stderr_text();
  }
  Process& process(const std::string& id) { return *processes_.at(id); }
  /// Takes what the processes wrote, so that none waits for a full pipe; dead is who died by
  /// itself.
  std::vector<std::string> check() {
    std::vector<std::string> dead;
    for (auto& [id, process] : processes_) {
      process->stderr_text();
      if (process->running() && process->wait(std::chrono::milliseconds(0))) dead.push_back(id);
    }
    return dead;
  }
  /// The last part of what every process wrote to its log.
  std::string logs() {
    std::string all;
    for (auto& [id, process] : processes_) {
      const std::string& text = process->stderr_text();
      all += "---- " + id + "\n" + text.substr(text.size() > 4000 ? text.size() - 4000 : 0);
    }
    return all;
  }

  client::ConnectionOptions connection_options(const std::string& name = "test") const {
    client::ConnectionOptions options;
    options.routers = router_endpoints();
    options.client_name = name;
    options.connect_timeout = std::chrono::seconds(30);
    return options;
  }
  client::Connection connect(const std::string& name = "test") const {
    return client::Connection::open(connection_options(name)).value();
  }

  /// Waits until the catalog and every shard is available; false after `timeout`.
  bool wait_ready(std::chrono::seconds timeout = std::chrono::seconds(60)) {
    const auto deadline = std::chrono::steady_clock::now() + timeout;
    while (std::chrono::steady_clock::now() < deadline) {
      auto connection = client::Connection::open(connection_options("probe"));
      if (!connection) continue;
      while (std::chrono::steady_clock::now() < deadline) {
        const auto status = connection.value().admin().cluster_status();
        if (!status) break;
        std::size_t available = 0;
        for (const auto& shard : status.value().shards) available += shard.available ? 1 : 0;
        if (status.value().catalog_available &&
            available == static_cast<std::size_t>(options_.shards)) {
          return true;
        }
        if (!check().empty()) return false;
      }
    }
    return false;
  }

 private:
  std::string entry(const std::string& id) const {
    return "  - id: " + id + "\n    endpoint: " + endpoint(id) + "\n";
  }

  Options options_;
  TempDir dir_;
  std::string config_;
  std::vector<std::string> router_ids_;
  std::vector<std::string> node_ids_;
  std::map<std::string, std::unique_ptr<Process>> processes_;
};

}  // namespace segue
