#include "cli/commands/commands.h"
#include "cli/exit_codes.h"
#include "cli/json_output.h"
#include "cli/session.h"
#include "cli/table_output.h"

namespace segue::cli {

namespace {

constexpr const char* kDescription =
    "Shows the cluster as the router that answers knows it. Exit code 0 when every node is\n"
    "connected and every shard is available, 1 when something is down, 69 when no router answers:\n"
    "fit for a health check.\n"
    "\n"
    "Examples:\n"
    "  segue status\n"
    "  segue status --shards\n"
    "  segue status --json | jq '.nodes[] | select(.connected | not) | .id'\n";

std::uint64_t milliseconds(std::chrono::milliseconds duration) {
  return static_cast<std::uint64_t>(std::max<std::int64_t>(0, duration.count()));
}

std::size_t unavailable_shards(const client::ClusterDescription& cluster) {
  std::size_t count = 0;
  for (const client::ShardDescription& shard : cluster.shards) count += shard.available ? 0 : 1;
  return count;
}

bool healthy(const client::ClusterDescription& cluster) {
  for (const client::NodeDescription& node : cluster.nodes) {
    if (!node.connected) return false;
  }
  return cluster.catalog_available && unavailable_shards(cluster) == 0;
}

void write_routers(JsonWriter& json, const client::ClusterDescription& cluster) {
  json.key("routers").begin_array();
  for (const client::RouterDescription& router : cluster.routers) {
    json.begin_object().field("id", router.id).field("endpoint", router.endpoint);
    json.field("self", router.self).field("sessions", router.sessions);
    json.field("unconfirmed", router.unconfirmed);
    json.field("uptime_ms", milliseconds(router.uptime)).end_object();
  }
  json.end_array();
}

void write_nodes(JsonWriter& json, const client::ClusterDescription& cluster) {
  json.key("nodes").begin_array();
  for (const client::NodeDescription& node : cluster.nodes) {
    json.begin_object().field("id", node.id).field("endpoint", node.endpoint);
    json.field("connected", node.connected).field("shards", node.shards);
    json.field("queues", node.queues).field("ready", node.ready).field("unacked", node.unacked);
    json.field("memory_bytes", node.memory_bytes).field("memory_limit", node.memory_limit);
    json.field("disk_free_bytes", node.disk_free_bytes).field("wal_bytes", node.wal_bytes);
    json.field("blocked_reason", node.blocked_reason);
    json.field("uptime_ms", milliseconds(node.uptime)).end_object();
  }
  json.end_array();
}

void write_shards(JsonWriter& json, const client::ClusterDescription& cluster) {
  json.key("shards").begin_array();
  for (const client::ShardDescription& shard : cluster.shards) {
    json.begin_object().field("shard", shard.shard).field("node", shard.node);
    json.field("available", shard.available).field("queues", shard.queues);
    json.field("blocked_reason", shard.blocked_reason).end_object();
  }
  json.end_array();
}

std::string json_of(const client::ClusterDescription& cluster) {
  JsonWriter json;
  json.begin_object().field("cluster", cluster.cluster).field("version", cluster.version);
  json.field("healthy", healthy(cluster)).field("shard_count", cluster.shard_count);
  json.field("catalog_index", cluster.catalog_index);
  json.field("catalog_leader", cluster.catalog_leader);
  json.field("catalog_available", cluster.catalog_available);
  write_routers(json, cluster);
  write_nodes(json, cluster);
  write_shards(json, cluster);
  json.end_object();
  return json.take() + "\n";
}

Table router_table(const client::ClusterDescription& cluster) {
  Table table({{"ROUTER"}, {"ENDPOINT"}, {"SESSIONS", Table::Align::kRight}, {"UP"}});
  for (const client::RouterDescription& router : cluster.routers) {
    // Of the others, this router knows only that they are configured.
    table.add({router.id, router.endpoint, router.self ? grouped(router.sessions) : "-",
               router.self ? human_duration(milliseconds(router.uptime)) : "-"});
  }
  return table;
}

Table node_table(const client::ClusterDescription& cluster) {
  constexpr auto kRight = Table::Align::kRight;
  Table table({{"NODE"},
               {"STATE"},
               {"SHARDS", kRight},
               {"QUEUES", kRight},
               {"READY", kRight},
               {"UNACKED", kRight},
               {"MEMORY", kRight},
               {"LIMIT", kRight},
               {"DISK FREE", kRight},
               {"UP"}});
  for (const client::NodeDescription& node : cluster.nodes) {
    if (!node.connected) {
      table.add({node.id, "DOWN", grouped(node.shards), "-", "-", "-", "-", "-", "-", "-"});
      continue;
    }
    table.add({node.id, node.blocked_reason.empty() ? "up" : "BLOCKED", grouped(node.shards),
               grouped(node.queues), grouped(node.ready), grouped(node.unacked),
               human_bytes(node.memory_bytes), human_bytes(node.memory_limit),
               human_bytes(node.disk_free_bytes), human_duration(milliseconds(node.uptime))});
  }
  return table;
}

std::string reasons(const client::ClusterDescription& cluster) {
  std::string out;
  for (const client::NodeDescription& node : cluster.nodes) {
    if (!node.blocked_reason.empty()) {
      out += "\n" + node.id + " takes no publishes: " + printable(node.blocked_reason);
    }
  }
  for (const client::ShardDescription& shard : cluster.shards) {
    if (!shard.blocked_reason.empty()) {
      out += "\nshard " + std::to_string(shard.shard) +
             " takes no publishes: " + printable(shard.blocked_reason);
    }
  }
  return out.empty() ? out : out + "\n";
}

std::string text_of(const client::ClusterDescription& cluster, bool shards) {
  const std::size_t down = unavailable_shards(cluster);
  std::string out = "Cluster " + printable(cluster.cluster) + ", version " +
                    printable(cluster.version) + ", " + std::to_string(cluster.shard_count) +
                    " shards" + (down > 0 ? ", " + std::to_string(down) + " of them DOWN" : "") +
                    "\nCatalog index " + grouped(cluster.catalog_index) + ", leader " +
                    printable(cluster.catalog_leader) +
                    (cluster.catalog_available ? "" : " (DOWN: nothing can be declared)") + "\n\n";
  out += router_table(cluster).text() + "\n" + node_table(cluster).text() + reasons(cluster);
  if (shards) {
    Table table(
        {{"SHARD", Table::Align::kRight}, {"NODE"}, {"STATE"}, {"QUEUES", Table::Align::kRight}});
    for (const client::ShardDescription& shard : cluster.shards) {
      table.add({std::to_string(shard.shard), shard.node,
                 !shard.available               ? "DOWN"
                 : shard.blocked_reason.empty() ? "up"
                                                : "BLOCKED",
                 grouped(shard.queues)});
    }
    out += "\n" + table.text();
  }
  return out;
}

class StatusCommand final : public SessionCommand {
 protected:
  void declare_own(OptionTable& options) override {
    options.flag(json_, {"json", 0, "", "print JSON, shards included"});
    options.flag(shards_, {"shards", 0, "", "list the shards too"});
  }

  int run_with(Console& console, client::Connection& connection) override {
    const auto cluster = connection.admin().cluster_status();
    if (!cluster) return report(console, "ask for the cluster's status", cluster.error());
    console.write(json_ ? json_of(*cluster) : text_of(*cluster, shards_));
    return healthy(*cluster) ? kExitOk : kExitRefused;
  }

 private:
  bool json_ = false;
  bool shards_ = false;
};

}  // namespace

CommandEntry status_command() {
  return {"status", "show the cluster: routers, nodes, shards", kDescription,
          [] { return std::make_unique<StatusCommand>(); }};
}

}  // namespace segue::cli
