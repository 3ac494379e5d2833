#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "router/node_requests.h"
#include "router/node_table.h"
#include "router/queue_lookup.h"
#include "router/request_context.h"

namespace segue::router {

/// Requests about the files of queues and the collection of their garbage: one queue's go to its
/// node, the others to all nodes at once. One thread.
class GarbageRequests {
 public:
  GarbageRequests(const QueueLookup& lookup, NodeTable& nodes, NodeRequests& requests)
      : lookup_(lookup), nodes_(nodes), requests_(requests) {}

  void segments(const RequestContext& context, const v1::ListSegments& request);
  void collect(const RequestContext& context, const v1::CollectGarbage& request);

 private:
  /// Answers of all nodes, which are on their way.
  struct Gathering {
    RequestContext context;
    v1::CollectGarbageOk all;
    std::size_t open = 0;
  };

  void collect_queue(const RequestContext& context, const v1::CollectGarbage& request);
  static void gathered(const std::shared_ptr<Gathering>& gathering);
  /// Makes the reply of the node's answer, which is no error.
  using Answered = void (*)(v1::QueueReply& answer, const std::string& node, v1::Reply& reply);
  /// Asks the node of the queue; answers the request, also when there is no such queue.
  void ask_node_of(const RequestContext& context, const std::string& name,
                   v1::QueueRequest question, Answered answered);

  const QueueLookup& lookup_;
  NodeTable& nodes_;
  NodeRequests& requests_;
};

}  // namespace segue::router
