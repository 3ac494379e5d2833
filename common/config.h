#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/status.h"

namespace segue {

// One YAML file describes a whole cluster; every process reads the same one and finds itself in it
// by its id. What each key means, its unit, default and range stand in one table (config_keys.h)
// and, for people, in deploy/cluster.example.yaml. Byte counts and durations here have the defaults
// of the table.

/// A process that clients connect to.
struct RouterConfig {
  std::string id;
  std::string endpoint;  // where clients reach it: tcp://host:port, ipc://path or ipc://@name
  std::string listen;    // what it binds; the endpoint unless given
};

/// A process that holds shards.
struct NodeConfig {
  std::string id;
  std::string endpoint;  // where routers and other nodes reach it
  std::string listen;    // what it binds; the endpoint unless given
  std::string data_dir;  // never empty after loading: its own, or <storage.data_dir>/<id>
  std::uint64_t memory_limit = 512ull << 20;  // its own, or the cluster's
};

/// What nodes keep on disk, and how.
struct StorageConfig {
  std::string data_dir = "data";
  std::uint64_t wal_file_bytes = 64ull << 20;
  std::uint64_t segment_bytes = 64ull << 20;
  std::uint64_t checkpoint_wal_bytes = 256ull << 20;
  std::chrono::milliseconds checkpoint_interval{std::chrono::minutes(5)};
  std::uint64_t wal_reserve_bytes = 64ull << 20;
  bool direct_io = true;
  std::uint64_t free_disk_limit = 256ull << 20;
  std::uint64_t scrub_bytes_per_second = 4ull << 20;  // 0: no scrubber
  std::string
      backup_directory;  // where nodes make backups that they are asked for; empty: anywhere
};

/// When garbage in queues' segment files is collected.
struct GcConfig {
  std::uint32_t min_messages = 2000;
  std::uint64_t min_bytes = 4ull << 20;
  std::uint32_t valid_percent = 50;
  std::uint32_t merge_percent = 75;
  std::uint64_t bytes_per_second = 64ull << 20;
};

/// When a publish to a durable queue counts as durable, unless the queue says otherwise.
struct DurabilityConfig {
  bool sync = true;                       // confirmed after it is synced
  std::chrono::milliseconds interval{0};  // without sync: written, and synced this often
};

/// What one peer may make a process hold or do. Each is a promise that the process's memory is
/// bounded.
struct LimitsConfig {
  std::uint64_t max_message_bytes = 16ull << 20;
  std::uint64_t max_frame_bytes = 32ull << 20;
  std::uint32_t max_batch_messages = 65536;
  std::uint32_t max_unconfirmed = 65536;
  std::uint64_t publish_credit_bytes = 32ull << 20;
  std::uint64_t node_publish_window_bytes = 64ull << 20;
  std::uint64_t delivery_window_bytes = 16ull << 20;
  std::uint64_t router_delivery_bytes = 512ull << 20;
  std::uint32_t max_sessions = 10000;
  std::uint32_t max_requests_in_flight = 1024;
  std::uint32_t max_consumers_per_session = 10000;
};

struct TimeoutsConfig {
  std::chrono::milliseconds heartbeat{std::chrono::seconds(10)};
  std::chrono::milliseconds link_heartbeat{std::chrono::seconds(1)};
  std::chrono::milliseconds shard_unavailable_timeout{std::chrono::seconds(30)};
  std::chrono::milliseconds request{std::chrono::seconds(10)};
  std::chrono::milliseconds shutdown{std::chrono::seconds(10)};
  std::chrono::milliseconds reconnect_min{50};
  std::chrono::milliseconds reconnect_max{std::chrono::seconds(2)};
};

struct LoggingConfig {
  std::string level = "info";   // trace | debug | info | warn | error | off
  std::string format = "text";  // text | json
};

/// A whole cluster, checked: ids and endpoints are valid and unique, numbers in range, and
/// combinations possible.
struct ClusterConfig {
  std::string cluster;
  std::uint32_t shards = 32;
  std::vector<RouterConfig> routers;
  std::vector<NodeConfig> nodes;
  std::string catalog_leader;  // a node's id; the first node unless given
  StorageConfig storage;
  GcConfig gc;
  DurabilityConfig durability;
  LimitsConfig limits;
  TimeoutsConfig timeouts;
  std::uint64_t memory_limit = 512ull << 20;
  LoggingConfig logging;
  std::vector<std::string> definitions;  // paths of documents; see common/definitions.h

  /// The router or node of this id; nullptr if there is none. Valid as long as the vectors are
  /// unchanged.
  const RouterConfig* find_router(std::string_view id) const;
  const NodeConfig* find_node(std::string_view id) const;
  /// "r1, r2": for messages that say which ids there are.
  std::string router_ids() const;
  std::string node_ids() const;
  /// "cluster 'local', 1 router, 3 nodes, 32 shards".
  std::string summary() const;
};

/// Gives the value of an environment variable; nothing if it is not set.
using EnvironmentLookup = std::function<std::optional<std::string>(std::string_view name)>;

/// The environment of this process.
EnvironmentLookup process_environment();

/// Most bytes that a configuration file may have.
inline constexpr std::size_t kMaxConfigBytes = 1 << 20;

/// Parses and checks a configuration. `${NAME}` and `${NAME:-default}` in values are replaced by
/// what `environment` gives, `$$` by a dollar sign. Any bytes may be given; never throws.
///
/// On failure INVALID_CONFIG; the message has a line for each problem found (at most 50), each as
/// `file:line:column: key 'path.to.key': what was expected, what was found`.
Result<ClusterConfig> parse_cluster_config(std::string_view text, std::string_view file_name,
                                           const EnvironmentLookup& environment);

/// Reads the file and parses it. IO_ERROR when it is missing or unreadable, INVALID_CONFIG too when
/// it is no regular file or too large.
Result<ClusterConfig> load_cluster_config(const std::string& path,
                                          const EnvironmentLookup& environment);

}  // namespace segue
