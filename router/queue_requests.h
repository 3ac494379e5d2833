#pragma once

#include "router/delivery_path.h"
#include "router/node_requests.h"
#include "router/queue_lookup.h"
#include "router/request_context.h"

namespace segue::router {

/// Requests about one queue that its node answers: purge, status, browse; and those of consumers
/// and polls, which the delivery path does. One thread.
class QueueRequestsPath {
 public:
  QueueRequestsPath(const QueueLookup& lookup, NodeRequests& nodes, DeliveryPath& deliveries)
      : lookup_(lookup), nodes_(nodes), deliveries_(deliveries) {}

  void purge(const RequestContext& context, const v1::QueuePurge& request);
  void status(const RequestContext& context, const v1::QueueStatus& request);
  void browse(const RequestContext& context, const v1::Browse& request);
  void cancel_delayed(const RequestContext& context, const v1::CancelDelayed& request);
  void consume(const RequestContext& context, Session& session, const v1::Consume& request);
  void cancel(const RequestContext& context, Session& session, const v1::Cancel& request);
  void qos(const RequestContext& context, Session& session, const v1::Qos& request);
  void get(const RequestContext& context, Session& session, const v1::Get& request);

 private:
  const v1::QueueDefinition* usable(const RequestContext& context, const std::string& name) const;

  const QueueLookup& lookup_;
  NodeRequests& nodes_;
  DeliveryPath& deliveries_;
};

}  // namespace segue::router
