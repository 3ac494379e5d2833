#pragma once

#include <cstdint>
#include <unordered_map>

#include "router/backup_requests.h"
#include "router/cluster_report.h"
#include "router/garbage_requests.h"
#include "router/list_requests.h"
#include "router/queue_requests.h"
#include "router/reply_queues.h"
#include "router/session_table.h"
#include "router/topology_requests.h"

namespace segue::router {

/// The way of requests: hands each to the part that does it, bounds how many a session may have
/// open, and sends the replies. One thread.
class RequestPath {
 public:
  RequestPath(std::uint32_t max_in_flight, SessionTable& sessions, TopologyRequests& topology,
              QueueRequestsPath& queues, ListRequests& lists, GarbageRequests& garbage,
              BackupRequests& backups, const ClusterReport& cluster)
      : max_in_flight_(max_in_flight),
        sessions_(sessions),
        topology_(topology),
        queues_(queues),
        lists_(lists),
        garbage_(garbage),
        backups_(backups),
        cluster_(cluster),
        replies_(topology, queues, sessions) {}

  /// The request may be taken apart.
  void on_request(Session& session, v1::Request& request);
  void end_session(const Session& session) { in_flight_.erase(session.id()); }
  /// Sessions with open requests.
  std::size_t kept() const { return in_flight_.size(); }

 private:
  RequestContext begin(const Session& session, std::uint64_t request_id);
  void answer(SessionId session, std::uint64_t request_id, v1::Reply& reply,
              const SharedBytes& body, bool with_bodies);
  void dispatch(const RequestContext& context, Session& session, v1::Request& request);

  const std::uint32_t max_in_flight_;
  SessionTable& sessions_;
  TopologyRequests& topology_;
  QueueRequestsPath& queues_;
  ListRequests& lists_;
  GarbageRequests& garbage_;
  BackupRequests& backups_;
  const ClusterReport& cluster_;
  ReplyQueues replies_;
  std::unordered_map<SessionId, std::uint32_t> in_flight_;
};

}  // namespace segue::router
