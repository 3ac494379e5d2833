#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>

#include "router/node_requests.h"
#include "router/queue_lookup.h"
#include "router/request_context.h"
#include "router/session_table.h"
#include "router/vhost_usage.h"

namespace segue::router {

/// Lists of queues, exchanges, bindings, policies and virtual hosts, in pages. The counts of a
/// page's queues are asked of their nodes at the same time; few such lists run at once, the others
/// wait their turn. One thread.
class ListRequests {
 public:
  ListRequests(const QueueLookup& lookup, NodeRequests& nodes, VhostUsage& usage,
               const SessionTable& sessions)
      : lookup_(lookup), nodes_(nodes), usage_(usage), sessions_(sessions) {}

  void queues(const RequestContext& context, const v1::ListQueues& request);
  void exchanges(const RequestContext& context, const v1::ListExchanges& request);
  void bindings(const RequestContext& context, const v1::ListBindings& request);
  void policies(const RequestContext& context, const v1::ListPolicies& request);
  void vhosts(const RequestContext& context, const v1::ListVhosts& request);

 private:
  /// A page of queues whose counts are on their way.
  struct Counting {
    RequestContext context;
    v1::ListQueuesOk list;
    std::size_t open = 0;
  };

  void start_counting(const std::shared_ptr<Counting>& counting);
  void counted(const std::shared_ptr<Counting>& counting);

  const QueueLookup& lookup_;
  NodeRequests& nodes_;
  VhostUsage& usage_;
  const SessionTable& sessions_;
  std::size_t running_ = 0;
  std::deque<std::shared_ptr<Counting>> waiting_;
};

}  // namespace segue::router
