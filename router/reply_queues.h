#pragma once

#include "router/queue_requests.h"
#include "router/request_context.h"
#include "router/session_table.h"
#include "router/topology_requests.h"

namespace segue::router {

/// Consumers of the pseudo queue for replies (reply_to.h): has a session's own exclusive queue made
/// when it consumes from the pseudo queue for the first time, and consumes from that. One thread.
class ReplyQueues {
 public:
  ReplyQueues(TopologyRequests& topology, QueueRequestsPath& queues, SessionTable& sessions)
      : topology_(topology), queues_(queues), sessions_(sessions) {}

  void consume(const RequestContext& context, Session& session, v1::Consume& request);

 private:
  void on_made(const RequestContext& context, v1::Consume& request, const v1::Reply& made);

  TopologyRequests& topology_;
  QueueRequestsPath& queues_;
  SessionTable& sessions_;
};

}  // namespace segue::router
