#include "router/cluster_report.h"

#include <algorithm>
#include <chrono>

#include "router/version.h"

namespace segue::router {

v1::ClusterStatusOk ClusterReport::report() const {
  v1::ClusterStatusOk status;
  status.set_cluster(catalog_.state().cluster());
  status.set_version(std::string(kVersion));
  status.set_shard_count(catalog_.state().shard_count());
  status.set_catalog_index(catalog_.index().value);
  status.set_catalog_leader(self_.catalog_leader);
  status.set_catalog_available(nodes_.catalog_leader() != nullptr);
  status.set_link_heartbeat_ms(static_cast<std::uint32_t>(self_.link_heartbeat.count()));
  add_routers(status);
  add_nodes(status);
  add_shards(status);
  return status;
}

std::uint64_t ClusterReport::milliseconds_since(TimePoint then) const {
  const auto since = std::chrono::duration_cast<std::chrono::milliseconds>(turn_.now - then);
  return static_cast<std::uint64_t>(std::max<std::int64_t>(0, since.count()));
}

void ClusterReport::add_routers(v1::ClusterStatusOk& status) const {
  for (const RouterConfig& router : self_.routers) {
    v1::RouterDescription& description = *status.add_routers();
    description.set_id(router.id);
    description.set_endpoint(router.endpoint);
    if (router.id != self_.router_id) continue;
    description.set_self(true);
    description.set_sessions(static_cast<std::uint32_t>(sessions_.size()));
    std::uint64_t unconfirmed = 0;
    sessions_.for_each(
        [&](const Session& session) { unconfirmed += session.ledger()->unconfirmed(); });
    description.set_unconfirmed(unconfirmed);
    description.set_uptime_ms(milliseconds_since(self_.started));
    description.set_pid(self_.pid);
    description.set_machine(self_.machine);
  }
}

void ClusterReport::add_nodes(v1::ClusterStatusOk& status) const {
  for (const auto& [id, node] : nodes_.all()) {
    v1::NodeDescription& description = *status.add_nodes();
    description.set_id(id);
    description.set_endpoint(node->endpoint);
    description.set_connected(node->up);
    description.set_silent_ms(milliseconds_since(node->heard));
    std::uint32_t shards = 0;
    for (std::uint32_t shard = 0; shard < catalog_.state().shard_count(); ++shard) {
      if (catalog_.state().node_of(ShardId(static_cast<std::uint16_t>(shard))) == id) ++shards;
    }
    description.set_shards(shards);
    if (!node->up) continue;
    description.set_pid(node->hello.pid());
    description.set_machine(node->hello.machine());
    const v1::NodeState& state = node->state;
    description.set_queues(state.queues());
    description.set_memory_bytes(state.memory_bytes());
    description.set_memory_limit(state.memory_limit());
    description.set_disk_free_bytes(state.disk_free_bytes());
    description.set_wal_bytes(state.wal_bytes());
    description.set_blocked_reason(state.blocked_reason());
    description.set_uptime_ms(state.uptime_ms());
    description.set_ready(state.ready());
    description.set_unacked(state.unacked());
    description.set_quarantined(state.quarantined());
  }
}

void ClusterReport::add_shards(v1::ClusterStatusOk& status) const {
  const std::vector<std::uint64_t> queues = catalog_.queues_by_shard();
  for (std::uint32_t number = 0; number < catalog_.state().shard_count(); ++number) {
    const ShardId shard(static_cast<std::uint16_t>(number));
    v1::ShardDescription& description = *status.add_shards();
    description.set_shard(number);
    description.set_node(catalog_.state().node_of(shard));
    Node* node = nodes_.find(description.node());
    description.set_available(node != nullptr && node->up);
    description.set_queues(number < queues.size() ? queues[number] : 0);
    description.set_blocked_reason(shards_.unavailable_reason(shard, node));
  }
}

}  // namespace segue::router
