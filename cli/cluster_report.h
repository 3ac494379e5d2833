#pragma once

#include <string>

#include "segue/cluster.h"

namespace segue::cli {

/// Every node is connected, every shard available, and something can be declared.
bool healthy(const client::ClusterDescription& cluster);

/// How one process of the cluster is.
struct MemberHealth {
  bool known = false;  // there is a router or a node with this id
  bool up = false;     // the router is the one that answered; the node is connected to it
  std::string text;    // a sentence without its end
};
MemberHealth member_health(const client::ClusterDescription& cluster, const std::string& id);

/// What `segue status` shows to people; with `shards` a line for each of them.
std::string cluster_text(const client::ClusterDescription& cluster, bool shards);

/// What `segue status --json` prints.
std::string cluster_json(const client::ClusterDescription& cluster);

}  // namespace segue::cli
