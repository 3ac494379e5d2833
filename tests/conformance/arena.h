#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <string>

#include "tests/fakes/test_cluster.h"

namespace segue::conformance {

/// A router and two nodes on which programs run one after the other. One thread.
class Arena {
 public:
  Arena() : cluster_({.routers = 1, .nodes = 2, .shards = 4}) {}

  /// Whether all is up.
  bool start();
  TestCluster& cluster() { return cluster_; }
  client::Admin& admin() { return connection_->admin(); }
  client::Connection connect(const std::string& name, const std::string& vhost = "") const;

  /// Every node knows all exchanges, queues and bindings that were there before the call.
  client::Status sync_catalogs();
  /// What nodes logged before the call is on their disks.
  client::Status sync_logs();

 private:
  TestCluster cluster_;
  std::unique_ptr<client::Connection> connection_;
  std::map<std::string, std::string> queues_;  // one on each node, by node
  int changes_ = 0;
};

}  // namespace segue::conformance
