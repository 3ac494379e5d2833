#include <map>

#include "common/config_reader.h"
#include "common/config_values.h"
#include "common/counted.h"

namespace segue {
namespace {

// What a message costs of a publish window beside its body (client.proto, Publish).
constexpr std::uint64_t kMessageCost = 64;

/// Finds what stands twice where it must not.
class Duplicates {
 public:
  Duplicates(const ConfigReader& reader, ConfigProblems& problems)
      : reader_(reader), problems_(problems) {}

  void check(const std::string& value, const std::string& path) {
    if (value.empty()) return;  // missing or wrong, and reported as that
    const auto [first, is_new] = first_.emplace(value, path);
    if (is_new) return;
    problems_.add(reader_.position(path), path,
                  "expected one that nobody else has, found " + in_quotes(value) +
                      ", which is also " + first->second + " in line " +
                      std::to_string(reader_.position(first->second).line));
  }

 private:
  const ConfigReader& reader_;
  ConfigProblems& problems_;
  std::map<std::string, std::string> first_;
};

void check_duplicates(const ConfigReader& reader, const ClusterConfig& config,
                      ConfigProblems& problems) {
  Duplicates ids(reader, problems);
  Duplicates endpoints(reader, problems);
  for (std::size_t i = 0; i < config.routers.size(); ++i) {
    const std::string path = "routers[" + std::to_string(i) + "]";
    ids.check(config.routers[i].id, path + ".id");
    endpoints.check(config.routers[i].endpoint, path + ".endpoint");
  }
  for (std::size_t i = 0; i < config.nodes.size(); ++i) {
    const std::string path = "nodes[" + std::to_string(i) + "]";
    ids.check(config.nodes[i].id, path + ".id");
    endpoints.check(config.nodes[i].endpoint, path + ".endpoint");
  }
}

/// A size, and the key that says it.
struct NamedSize {
  std::string path;
  std::uint64_t bytes;
};

/// Requires `large` to hold `small` and `extra` more. Reported at the one that the file gives.
class Fits {
 public:
  Fits(const ConfigReader& reader, ConfigProblems& problems)
      : reader_(reader), problems_(problems) {}

  void check(const NamedSize& small, const NamedSize& large, std::uint64_t extra) {
    if (small.bytes + extra <= large.bytes) return;
    const std::string more = extra > 0 ? " and " + std::to_string(extra) + " bytes more" : "";
    if (reader_.has(large.path)) {
      problems_.add(reader_.position(large.path), large.path,
                    "expected at least " + small.path + " (" + format_size(small.bytes) + ")" +
                        more + ", found " + format_size(large.bytes));
    } else {
      problems_.add(reader_.position(small.path), small.path,
                    "expected at most " + large.path + " (" + format_size(large.bytes) + ")" +
                        (extra > 0 ? " less " + std::to_string(extra) + " bytes" : "") +
                        ", found " + format_size(small.bytes));
    }
  }

 private:
  const ConfigReader& reader_;
  ConfigProblems& problems_;
};

void check_sizes(const ConfigReader& reader, const ClusterConfig& config,
                 ConfigProblems& problems) {
  constexpr std::uint64_t kWalRecordRoom = 4096;
  Fits fits(reader, problems);
  const NamedSize message{"limits.max_message_bytes", config.limits.max_message_bytes};
  const NamedSize frame{"limits.max_frame_bytes", config.limits.max_frame_bytes};
  const NamedSize credit{"limits.publish_credit_bytes", config.limits.publish_credit_bytes};
  const NamedSize window{"limits.node_publish_window_bytes",
                         config.limits.node_publish_window_bytes};
  const NamedSize wal_file{"storage.wal_file_bytes", config.storage.wal_file_bytes};
  const NamedSize checkpoint{"storage.checkpoint_wal_bytes", config.storage.checkpoint_wal_bytes};
  const NamedSize reserve{"storage.wal_reserve_bytes", config.storage.wal_reserve_bytes};
  fits.check(message, frame, 0);
  fits.check(message, credit, kMessageCost);  // or it could never be published
  fits.check(message, window, kMessageCost);
  fits.check(frame, wal_file,
             kWalRecordRoom);  // a batch is one record, and a record is in one file
  fits.check(wal_file, checkpoint, 0);
  fits.check(reserve, checkpoint, 0);
  fits.check(window, {"memory_limit", config.memory_limit}, 0);
  for (std::size_t i = 0; i < config.nodes.size(); ++i) {
    const std::string path = "nodes[" + std::to_string(i) + "].memory_limit";
    if (reader.has(path)) fits.check(window, {path, config.nodes[i].memory_limit}, 0);
  }
}

void check_durations(const ConfigReader& reader, const ClusterConfig& config,
                     ConfigProblems& problems) {
  const TimeoutsConfig& timeouts = config.timeouts;
  if (timeouts.reconnect_min <= timeouts.reconnect_max) return;
  const std::string_view path =
      reader.has("timeouts.reconnect_min") ? "timeouts.reconnect_min" : "timeouts.reconnect_max";
  problems.add(reader.position(path), path,
               "expected reconnect_min to be at most reconnect_max, found " +
                   format_duration(timeouts.reconnect_min) + " and " +
                   format_duration(timeouts.reconnect_max));
}

void check_nodes(const ConfigReader& reader, const ClusterConfig& config,
                 ConfigProblems& problems) {
  if (config.nodes.size() > config.shards) {
    const std::string_view path = reader.has("shards") ? "shards" : "nodes";
    problems.add(reader.position(path), path,
                 "expected at least one shard for each node, found " +
                     counted(config.shards, "shard") + " and " +
                     counted(config.nodes.size(), "node"));
  }
  if (!config.nodes.empty() && !config.catalog_leader.empty() &&
      config.find_node(config.catalog_leader) == nullptr) {
    problems.add(reader.position("catalog.leader"), "catalog.leader",
                 "expected a node's id (" + config.node_ids() + "), found " +
                     in_quotes(config.catalog_leader));
  }
}

}  // namespace

void check_combinations(const ConfigReader& reader, const ClusterConfig& config,
                        ConfigProblems& problems) {
  check_duplicates(reader, config, problems);
  check_sizes(reader, config, problems);
  check_durations(reader, config, problems);
  check_nodes(reader, config, problems);
}

}  // namespace segue
