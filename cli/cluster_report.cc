#include "cli/cluster_report.h"

#include <algorithm>
#include <map>
#include <utility>

#include "cli/table_output.h"
#include "common/json_output.h"

namespace segue::cli {

namespace {

std::uint64_t milliseconds(std::chrono::milliseconds duration) {
  return static_cast<std::uint64_t>(std::max<std::int64_t>(0, duration.count()));
}

std::size_t unavailable_shards(const client::ClusterDescription& cluster) {
  std::size_t count = 0;
  for (const client::ShardDescription& shard : cluster.shards) count += shard.available ? 0 : 1;
  return count;
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
    const std::string silent = human_duration(milliseconds(node.silent));
    if (!node.connected) {
      table.add(
          {node.id, "DOWN for " + silent, grouped(node.shards), "-", "-", "-", "-", "-", "-", "-"});
      continue;
    }
    std::string state = node.blocked_reason.empty() ? "up" : "BLOCKED";
    if (node.silent > cluster.link_heartbeat) state += ", silent for " + silent;
    table.add({node.id, std::move(state), grouped(node.shards), grouped(node.queues),
               grouped(node.ready), grouped(node.unacked), human_bytes(node.memory_bytes),
               human_bytes(node.memory_limit), human_bytes(node.disk_free_bytes),
               human_duration(milliseconds(node.uptime))});
  }
  return table;
}

const client::NodeDescription* find_node(const client::ClusterDescription& cluster,
                                         const std::string& id) {
  const auto found =
      std::find_if(cluster.nodes.begin(), cluster.nodes.end(),
                   [&](const client::NodeDescription& node) { return node.id == id; });
  return found == cluster.nodes.end() ? nullptr : &*found;
}

// What is not as it should be, and why publishes wait: a line for each node, and one for all shards
// of a node that have a reason of their own.
std::string reasons(const client::ClusterDescription& cluster) {
  std::string out;
  for (const client::NodeDescription& node : cluster.nodes) {
    if (!node.blocked_reason.empty()) {
      out += "\n" + printable(node.id) + " takes no publishes: " + printable(node.blocked_reason);
    }
  }
  for (const client::NodeDescription& node : cluster.nodes) {
    if (node.quarantined == 0) continue;
    out += "\n" + printable(node.id) + " has set aside " +
           counted(node.quarantined, "damaged message") +
           " in the file `quarantine` of its data directory";
  }
  std::map<std::pair<std::string, std::string>, std::vector<std::uint32_t>> shards;
  for (const client::ShardDescription& shard : cluster.shards) {
    if (shard.blocked_reason.empty()) continue;
    const client::NodeDescription* node = find_node(cluster, shard.node);
    const bool said = node != nullptr && !node->blocked_reason.empty() &&
                      shard.blocked_reason.ends_with(node->blocked_reason);
    if (!said) shards[{shard.node, shard.blocked_reason}].push_back(shard.shard);
  }
  for (const auto& [which, numbers] : shards) {
    out += "\n" + std::string(numbers.size() == 1 ? "shard " : "shards ") + ranges(numbers) +
           " of " + printable(which.first) + (numbers.size() == 1 ? " takes" : " take") +
           " no publishes: " + printable(which.second);
  }
  return out.empty() ? out : out + "\n";
}

void write_routers(JsonWriter& json, const client::ClusterDescription& cluster) {
  json.key("routers").begin_array();
  for (const client::RouterDescription& router : cluster.routers) {
    json.begin_object().field("id", router.id).field("endpoint", router.endpoint);
    json.field("self", router.self).field("sessions", router.sessions);
    json.field("unconfirmed", router.unconfirmed);
    json.field("uptime_ms", milliseconds(router.uptime));
    json.field("pid", router.pid).end_object();
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
    json.field("quarantined", node.quarantined);
    json.field("uptime_ms", milliseconds(node.uptime));
    json.field("silent_ms", milliseconds(node.silent)).field("pid", node.pid).end_object();
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

}  // namespace

bool healthy(const client::ClusterDescription& cluster) {
  for (const client::NodeDescription& node : cluster.nodes) {
    if (!node.connected) return false;
  }
  return cluster.catalog_available && unavailable_shards(cluster) == 0;
}

MemberHealth member_health(const client::ClusterDescription& cluster, const std::string& id) {
  std::string all;
  for (const client::RouterDescription& router : cluster.routers) {
    all += (all.empty() ? "" : ", ") + printable(router.id);
    if (router.id != id) continue;
    if (!router.self)
      return {true, false, "router " + printable(id) + " is not the one that answers"};
    return {
        true, true,
        "router " + printable(id) + " is up for " + human_duration(milliseconds(router.uptime))};
  }
  for (const client::NodeDescription& node : cluster.nodes) {
    all += (all.empty() ? "" : ", ") + printable(node.id);
    if (node.id != id) continue;
    const std::string name = "node " + printable(id);
    if (!node.connected) {
      return {true, false, name + " is DOWN for " + human_duration(milliseconds(node.silent))};
    }
    return {true, true,
            name + " is up for " + human_duration(milliseconds(node.uptime)) +
                (node.blocked_reason.empty()
                     ? ""
                     : "; it takes no publishes: " + printable(node.blocked_reason))};
  }
  return {false, false, "there is no router or node '" + printable(id) + "'; there are " + all};
}

std::string cluster_json(const client::ClusterDescription& cluster) {
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

std::string cluster_text(const client::ClusterDescription& cluster, bool shards) {
  const std::size_t down = unavailable_shards(cluster);
  std::string out = "Cluster " + printable(cluster.cluster) + ", version " +
                    printable(cluster.version) + ", " + counted(cluster.shard_count, "shard") +
                    (down > 0 ? ", " + grouped(down) + " of them DOWN" : "") + "\nCatalog index " +
                    grouped(cluster.catalog_index) + ", leader " +
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

}  // namespace segue::cli
