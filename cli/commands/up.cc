#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "cli/cluster_plan.h"
#include "cli/cluster_readiness.h"
#include "cli/commands/commands.h"
#include "cli/endpoint.h"
#include "cli/exit_codes.h"
#include "cli/listen_check.h"
#include "cli/local_cluster.h"
#include "cli/table_output.h"
#include "common/definitions.h"
#include "segue/client.h"

namespace segue::cli {

namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr const char* kDescription =
    "Runs one router and some nodes on this machine, in the foreground, until Ctrl-C: for trying\n"
    "out, for development and for tests. Data, logs (logs/ID.log) and the cluster.yaml that is\n"
    "written for them go to the data directory, and are still there the next time.\n"
    "\n"
    "With --config it runs every router and node of that file. Then data goes where the file says\n"
    "(storage.data_dir, nodes[].data_dir; from this directory if relative), and only the logs go\n"
    "to --data-dir.\n"
    "\n"
    "A process that dies is told and started again, so that one may kill a node and watch; with\n"
    "--no-restart it stays away. One that dies before all are up ends the whole command with its\n"
    "exit code, and so does the last that is left when it dies for good. Ctrl-C stops the "
    "routers,\n"
    "then the nodes, within some seconds; a second one kills them at once.\n"
    "\n"
    "With --definitions the cluster makes what that document has and it has not, before anybody\n"
    "can use it: the same as the key definitions of a configuration. What is there stays as it "
    "is,\n"
    "so this can be done at every start; what is there and different, or refused, is told. A\n"
    "document that is wrong keeps the cluster from starting.\n"
    "\n"
    "Examples:\n"
    "  segue up\n"
    "  segue up --nodes 1 --data-dir /tmp/segue\n"
    "  segue up --config deploy/cluster.example.yaml --definitions definitions.yaml\n";

// Held while a `segue up` uses the data directory.
class DirectoryLock {
 public:
  DirectoryLock() = default;
  ~DirectoryLock() {
    if (fd_ >= 0) ::close(fd_);
  }
  DirectoryLock(const DirectoryLock&) = delete;
  DirectoryLock& operator=(const DirectoryLock&) = delete;

  Status take(const std::string& path) {
    fd_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    if (fd_ < 0) return Status(Code::kIoError, "cannot write " + path);
    if (::flock(fd_, LOCK_EX | LOCK_NB) == 0) return Status::ok();
    return Status(Code::kResourceLocked,
                  "another `segue up` runs on this data directory (" + path + " is locked)");
  }

 private:
  int fd_ = -1;
};

class UpCommand final : public Command {
 public:
  void declare(OptionTable& options) override {
    data_dir_ = environment("SEGUE_DATA_DIR").value_or("segue-data");
    options.text(config_,
                 {"config", 'c', "FILE", "run all routers and nodes of this configuration"});
    options.number(
        nodes_, {"nodes", 'n', "N", "how many nodes, 1 to 64 (as many as have data, or 3)"}, 1, 64);
    options.text(data_dir_, {"data-dir", 'd', "DIR",
                             "data and logs; with --config the logs only ($SEGUE_DATA_DIR, else "
                             "./segue-data)"});
    options.custom({"endpoint", 'e', "ENDPOINT",
                    "where the router listens: tcp://host:port, host:port, or ipc://path "
                    "(tcp://127.0.0.1:5680, or another port if that is taken)"},
                   [this](std::string_view value) {
                     Result<std::string> full = full_endpoint(std::string(value));
                     if (full) endpoint_ = *full;
                     return full.status();
                   });
    options.text(definitions_,
                 {"definitions", 0, "FILE",
                  "a document of what the cluster is to have: made as far as it is missing"});
    options.flag(no_restart_, {"no-restart", 0, "", "do not start processes again that die"});
    options.duration(ready_timeout_, {"ready-timeout", 0, "TIME",
                                      "give up when not all is up after this, e.g. 500ms, 30s, 2m "
                                      "(60s)"});
  }

  Status check(const OptionTable& options) override {
    for (const char* name : {"nodes", "endpoint"}) {
      if (config_ && options.given(name)) {
        return Status(Code::kInvalidConfig,
                      std::string("--config says it all: --") + name + " cannot be given with it");
      }
    }
    return Status::ok();
  }

  int run(Console& console) override {
    DirectoryLock lock;
    const Status prepared = prepare(lock);
    if (!prepared.is_ok()) return fail(console, prepared);
    const Result<ClusterConfig> config = load_cluster_config(config_path_, process_environment());
    if (!config) return fail(console, config.status());
    LocalCluster::Options options{config_path_, own_directory(), data_dir_ + "/logs", !no_restart_};
    if (definitions_) options.node_arguments = {"--definitions", *definitions_};
    LocalCluster cluster(*config, std::move(options));
    if (config_) {
      console.note("data: " + directories(*config) + " (by " + *config_ + ")\nlogs: " + data_dir_ +
                   "/logs");
    } else {
      console.note("data and logs: " + data_dir_);
    }
    const Status started = cluster.start();
    if (!started.is_ok()) return fail(console, started);
    int code = wait_until_ready(console, cluster, *config);
    if (code == kExitOk) {
      tell_definitions(console, cluster, *config);
      greet(console, *config, cluster);
      code = watch(console, cluster);
    }
    return stop(console, cluster, *config, code);
  }

 private:
  // What the leader's log says of the documents, which it has made when all is up.
  void tell_definitions(Console& console, const LocalCluster& cluster,
                        const ClusterConfig& config) const {
    if (!definitions_ && config.definitions.empty()) return;
    constexpr std::size_t kMostLines = 100;
    std::istringstream lines(cluster.log_tail(config.catalog_leader, kMostLines));
    for (std::string line; std::getline(lines, line);) {
      for (const char* event : {"definition_differs", "definition_refused", "definitions_wait",
                                "definitions_applied"}) {
        if (line.find(event) != std::string::npos) {
          console.note(config.catalog_leader + ": " + printable(line));
        }
      }
    }
  }

  static int fail(Console& console, const Status& status) {
    console.note("segue: " + status.message());
    if (status.code() == Code::kResourceError) return kExitUnavailable;
    if (status.code() == Code::kResourceLocked) return kExitDataDirectory;
    if (status.code() == Code::kIoError) return kExitInputOutput;
    return status.code() == Code::kInvalidConfig ? kExitUsage : kExitRefused;
  }

  // A router that cannot listen dies of it, but only after data was made and nodes were started.
  static Status endpoints_are_free(const std::vector<std::string>& endpoints) {
    for (const std::string& endpoint : endpoints) {
      const Status status = can_listen(endpoint);
      if (status.is_ok()) continue;
      return Status(status.code(),
                    "the router " + status.message() +
                        "; stop what listens there (another cluster?) or give another endpoint");
    }
    return Status::ok();
  }

  // Where the nodes' data is: one directory when they share it, else all.
  static std::string directories(const ClusterConfig& config) {
    std::set<std::string> all;
    std::error_code error;
    for (const NodeConfig& node : config.nodes) {
      std::filesystem::path path = std::filesystem::absolute(node.data_dir, error);
      if (path.filename() == node.id) path = path.parent_path();
      all.insert(path.lexically_normal().string());
    }
    std::string text;
    for (const std::string& directory : all) text += (text.empty() ? "" : ", ") + directory;
    return text;
  }

  // The directories, the lock and, without --config, the configuration.
  Status prepare(DirectoryLock& lock) {
    if (definitions_) SEGUE_RETURN_IF_ERROR(load_definitions(*definitions_).status());
    std::vector<std::string> endpoints;
    if (endpoint_) endpoints.push_back(*endpoint_);
    if (config_) {
      // Refused before anything is made.
      const auto config = load_cluster_config(*config_, process_environment());
      if (!config) return config.status();
      for (const RouterConfig& router : config->routers) endpoints.push_back(router.listen);
    }
    std::error_code error;
    data_dir_ = std::filesystem::absolute(data_dir_, error).lexically_normal().string();
    while (data_dir_.size() > 1 && data_dir_.back() == '/') data_dir_.pop_back();
    // Where there was no directory there is none after a refusal; where there is one, another
    // `segue up` on it is the better reason.
    const bool fresh = !std::filesystem::exists(data_dir_, error);
    if (fresh) SEGUE_RETURN_IF_ERROR(endpoints_are_free(endpoints));
    std::filesystem::create_directories(data_dir_ + "/logs", error);
    if (error) {
      return Status(Code::kIoError, "cannot make " + data_dir_ + ": " + error.message());
    }
    SEGUE_RETURN_IF_ERROR(lock.take(data_dir_ + "/up.lock"));
    if (!fresh) SEGUE_RETURN_IF_ERROR(endpoints_are_free(endpoints));
    if (config_) {
      config_path_ = *config_;
      return Status::ok();
    }
    const auto present = nodes_with_data(data_dir_);
    const auto wanted = static_cast<std::uint32_t>(nodes_.value_or(present > 0 ? present : 3));
    if (wanted < present) {
      return Status(Code::kPreconditionFailed,
                    data_dir_ + " has data of " + counted(present, "node") + ", and " +
                        std::to_string(wanted) + " cannot serve it: give --nodes " +
                        std::to_string(present) + ", another --data-dir, or remove the directory");
    }
    const Result<std::string> yaml =
        cluster_yaml({data_dir_, wanted, endpoint_.value_or(free_router_endpoint()), "sync"});
    if (!yaml) return yaml.status();
    // The file of the last run stays when this one is refused.
    SEGUE_RETURN_IF_ERROR(
        parse_cluster_config(*yaml, "the generated cluster.yaml", process_environment()).status());
    config_path_ = data_dir_ + "/cluster.yaml";
    std::ofstream file(config_path_, std::ios::binary | std::ios::trunc);
    file << *yaml;
    file.close();
    if (!file) return Status(Code::kIoError, "cannot write " + config_path_);
    return Status::ok();
  }

  int wait_until_ready(Console& console, LocalCluster& cluster, const ClusterConfig& config) {
    const SystemClock clock;
    const TimePoint deadline = clock.now() + ready_timeout_;
    ClusterReadiness readiness(config);
    while (clock.now() < deadline) {
      console.progress("starting " + counted(config.nodes.size(), "node") + " and " +
                       counted(config.routers.size(), "router") + " ...");
      const auto events = cluster.poll(clock.now());
      if (!events.empty()) return tell_early_death(console, cluster, events.front());
      if (readiness.check(cluster.members())) {
        console.end_progress();
        tell_idle_nodes(console, *readiness.cluster());
        return kExitOk;
      }
      if (console.wait_readable(-1, 50) || console.stop_requested()) return kExitInterrupted;
    }
    console.note("segue: the cluster was not up after " +
                 human_duration(static_cast<std::uint64_t>(ready_timeout_.count())) +
                 (readiness.foreign().empty() ? "" : ": " + readiness.foreign()) +
                 "; the logs are in " + data_dir_ + "/logs");
    return kExitTimeout;
  }

  static int tell_early_death(Console& console, LocalCluster& cluster,
                              const LocalCluster::Event& event) {
    const std::string tail = cluster.log_tail(event.id, 10);
    const std::string reason = last_reason(tail);
    // What else the event says, that it will be started again, does not happen now.
    console.note("segue: " + event.text.substr(0, event.text.find(';')) +
                 (reason.empty() ? "" : " (" + printable(reason) + ")") +
                 ", before everything was up; giving up");
    if (!tail.empty()) console.note("its last words:\n" + tail);
    return code_of(event);
  }

  // What the process exited with says more than a code of ours.
  static int code_of(const LocalCluster::Event& event) {
    return event.exit_code > 0 ? event.exit_code : kExitRefused;
  }

  // Nodes that hold no shard have nothing to do, which one does not see from outside.
  static void tell_idle_nodes(Console& console, const client::ClusterDescription& status) {
    const std::vector<std::string> idle = nodes_without_shards(status);
    if (idle.empty()) return;
    std::string names;
    for (const std::string& id : idle) names += (names.empty() ? "" : ", ") + id;
    console.note("segue: note: " + names + (idle.size() == 1 ? " holds" : " hold") +
                 " no shards and will store nothing: shards are given to nodes when a cluster's "
                 "data is made, and stay there; a new data directory spreads them over all " +
                 std::to_string(status.nodes.size()));
  }

  void greet(Console& console, const ClusterConfig& config, const LocalCluster& cluster) const {
    Table table({{"PROCESS"}, {"ENDPOINT"}, {"PID", Table::Align::kRight}, {"LOG"}});
    for (const LocalCluster::Member& member : cluster.members()) {
      const std::string& endpoint = member.is_router ? config.find_router(member.id)->endpoint
                                                     : config.find_node(member.id)->endpoint;
      table.add({member.id, endpoint, std::to_string(member.pid), member.log});
    }
    const std::string& router = config.routers.front().endpoint;
    std::string out = table.text() + "\nREADY: clients connect to " + router;
    if (!endpoint_ && !config_ && router != kDefaultRouter) {
      out += " (port 5680 is taken: by another cluster?)";
    }
    out += "\n\nTry:\n";
    if (router != kDefaultRouter) out += "  export SEGUE_ROUTER=" + router + "\n";
    const std::string segue = own_directory() + "/segue";
    out += "  " + segue + " queue declare hello\n";
    out += "  " + segue + " publish --queue hello --body 'Hello, world'\n";
    out += "  " + segue + " consume hello --count 1\n\nCtrl-C stops it.\n";
    console.write(out);
    console.flush();
  }

  static int watch(Console& console, LocalCluster& cluster) {
    const SystemClock clock;
    while (!console.stop_requested()) {
      std::optional<int> gave_up;
      for (const LocalCluster::Event& event : cluster.poll(clock.now())) {
        console.note("segue: " + event.text);
        if (event.kind == LocalCluster::Event::Kind::kGaveUp) gave_up = code_of(event);
      }
      // What still runs goes on: the others' shards are served.
      if (gave_up && cluster.none_running()) return *gave_up;
      console.wait_readable(-1, 200);
    }
    return kExitOk;
  }

  static int stop(Console& console, LocalCluster& cluster, const ClusterConfig& config, int code) {
    console.end_progress();
    console.note("stopping ...");
    const bool clean = cluster.stop(config.timeouts.shutdown * 2 + seconds(2),
                                    [&] { return console.stop_again(); });
    if (!clean && console.stop_again()) {
      console.note("segue: asked again to stop: the processes that still ran were killed");
    } else if (!clean) {
      console.note("segue: some processes did not stop in time and were killed");
    }
    console.note("stopped; the data stays in its directory");
    if (code == kExitOk && !clean) return kExitRefused;
    return code;
  }

  std::optional<std::string> definitions_;
  std::optional<std::string> config_;
  std::optional<std::uint64_t> nodes_;
  std::string data_dir_;
  std::optional<std::string> endpoint_;
  bool no_restart_ = false;
  milliseconds ready_timeout_{seconds(60)};
  std::string config_path_;
};

}  // namespace

CommandEntry up_command() {
  return {"up", "run a local cluster in the foreground", kDescription,
          [] { return std::make_unique<UpCommand>(); }};
}

}  // namespace segue::cli
