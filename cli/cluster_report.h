#pragma once

#include <string>

#include "segue/cluster.h"

namespace segue::cli {

/// Every node is connected, every shard available, and something can be declared.
bool healthy(const client::ClusterDescription& cluster);

/// What `segue status` shows to people; with `shards` a line for each of them.
std::string cluster_text(const client::ClusterDescription& cluster, bool shards);

/// What `segue status --json` prints.
std::string cluster_json(const client::ClusterDescription& cluster);

}  // namespace segue::cli
