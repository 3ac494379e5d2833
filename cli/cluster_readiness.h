#pragma once

#include <optional>
#include <vector>

#include "cli/local_cluster.h"
#include "common/config.h"
#include "segue/client.h"

namespace segue::cli {

/// Whether all of a local cluster serves: each of its routers is asked at its endpoint, and must be
/// the process that was started, not one of another cluster which has that endpoint. One thread.
class ClusterReadiness {
 public:
  explicit ClusterReadiness(const ClusterConfig& config);

  /// Every router answers and knows every node connected and every shard served. Waits up to a
  /// second for each answer.
  bool check(const std::vector<LocalCluster::Member>& members);

  /// What the first router said last.
  const std::optional<client::ClusterDescription>& cluster() const { return cluster_; }
  /// A sentence when another process answered at a router's endpoint; else empty.
  const std::string& foreign() const { return foreign_; }

  /// Whether the router that answered is this process.
  static bool is_own(const client::ClusterDescription& cluster,
                     const std::vector<LocalCluster::Member>& members, const std::string& id);

 private:
  struct Router {
    std::string id;
    std::string endpoint;
    std::optional<client::Connection> connection{};
  };

  bool check_router(Router& router, const std::vector<LocalCluster::Member>& members);

  std::vector<Router> routers_;
  std::optional<client::ClusterDescription> cluster_;
  std::string foreign_;
};

}  // namespace segue::cli
