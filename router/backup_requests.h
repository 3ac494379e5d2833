#pragma once

#include "router/node_requests.h"
#include "router/node_table.h"
#include "router/request_context.h"

namespace segue::router {

/// Requests about backups: each goes to the node that it names. One thread.
class BackupRequests {
 public:
  BackupRequests(NodeTable& nodes, NodeRequests& requests) : nodes_(nodes), requests_(requests) {}

  void node_backup(const RequestContext& context, const v1::NodeBackup& request);

 private:
  NodeTable& nodes_;
  NodeRequests& requests_;
};

}  // namespace segue::router
