#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/status.h"
#include "segue/client.h"

namespace segue::cli {

/// What a local cluster that nobody wrote a configuration for looks like.
struct ClusterPlan {
  std::string data_dir;  // absolute
  std::uint32_t nodes = 3;
  std::string router_endpoint;
  std::string durability = "sync";  // or a number of milliseconds
};

/// The configuration's text. Nodes listen on ipc sockets in the data directory when its path is
/// short enough for one, else on free ports of the loopback interface, which may be gone again by
/// the time that the node binds them.
Result<std::string> cluster_yaml(const ClusterPlan& plan);

/// tcp://127.0.0.1:5680 when that is free, else one with a port that is.
std::string free_router_endpoint();

/// How many directories n1, n2, ... of nodes there are below `data_dir`.
std::uint32_t nodes_with_data(const std::string& data_dir);

/// Ids of the nodes to which the cluster has given no shard, in its order.
std::vector<std::string> nodes_without_shards(const client::ClusterDescription& cluster);

}  // namespace segue::cli
