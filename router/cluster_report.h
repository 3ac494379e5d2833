#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "common/config.h"
#include "router/catalog_view.h"
#include "router/node_table.h"
#include "router/session_table.h"
#include "router/shard_table.h"
#include "segue/v1/client.pb.h"

namespace segue::router {

/// Tells how the cluster looks from this router. One thread.
class ClusterReport {
 public:
  struct Self {
    std::string router_id;
    std::vector<RouterConfig> routers;
    std::string catalog_leader;
    std::chrono::milliseconds link_heartbeat{};
    TimePoint started{};
    std::uint32_t pid = 0;
    std::string machine;
  };

  ClusterReport(Self self, const CatalogView& catalog, NodeTable& nodes, const ShardTable& shards,
                const SessionTable& sessions, const Turn& turn)
      : self_(std::move(self)),
        catalog_(catalog),
        nodes_(nodes),
        shards_(shards),
        sessions_(sessions),
        turn_(turn) {}

  v1::ClusterStatusOk report() const;

 private:
  std::uint64_t milliseconds_since(TimePoint then) const;
  void add_routers(v1::ClusterStatusOk& status) const;
  void add_nodes(v1::ClusterStatusOk& status) const;
  void add_shards(v1::ClusterStatusOk& status) const;

  Self self_;
  const CatalogView& catalog_;
  NodeTable& nodes_;
  const ShardTable& shards_;
  const SessionTable& sessions_;
  const Turn& turn_;
};

}  // namespace segue::router
