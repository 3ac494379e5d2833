#pragma once

#include <functional>
#include <string>

#include "common/clock.h"
#include "router/catalog_requests.h"
#include "router/catalog_view.h"
#include "router/node_requests.h"
#include "router/queue_lookup.h"
#include "router/request_context.h"
#include "router/turn.h"

namespace segue::router {

/// Requests that change what exists: exchanges, queues, bindings, policies, virtual hosts. Done by
/// the catalog's leader; the answer goes out when this router's view has the change, so that what
/// the session does next counts on it. One thread.
class TopologyRequests {
 public:
  TopologyRequests(CatalogView& catalog, const QueueLookup& lookup, CatalogRequests& leader,
                   NodeRequests& nodes, Duration view_timeout, const Turn& turn)
      : catalog_(catalog),
        lookup_(lookup),
        leader_(leader),
        nodes_(nodes),
        view_timeout_(view_timeout),
        turn_(turn) {}

  void exchange_declare(const RequestContext& context, v1::ExchangeDeclare& request);
  void exchange_delete(const RequestContext& context, const v1::ExchangeDelete& request);
  void queue_declare(const RequestContext& context, v1::QueueDeclare& request);
  void queue_delete(const RequestContext& context, const v1::QueueDelete& request);
  void bind(const RequestContext& context, v1::Bind& request);
  void unbind(const RequestContext& context, v1::Unbind& request);
  void set_policy(const RequestContext& context, v1::PolicyDefinition& request);
  void delete_policy(const RequestContext& context, const v1::PolicyDelete& request);
  void vhost_declare(const RequestContext& context, v1::VhostDeclare& request);
  void vhost_delete(const RequestContext& context, const v1::VhostDelete& request);

 private:
  using Done = std::function<void(const v1::CatalogOutcome& outcome)>;

  /// Has the leader do it; `then` runs when the view has the outcome. Failures are answered.
  void change(const RequestContext& context, v1::CatalogOperation operation, Done then);
  void change(const RequestContext& context, v1::CatalogOperation operation);
  /// `index`: of the catalog with the declare's effect; 0: nothing was declared, only looked for.
  void reply_declared(const RequestContext& context, const v1::QueueDefinition& queue,
                      v1::QueueDeclareOk known, std::uint64_t index);
  void delete_queue(const RequestContext& context, const v1::QueueDefinition& queue,
                    std::uint64_t messages);

  CatalogView& catalog_;
  const QueueLookup& lookup_;
  CatalogRequests& leader_;
  NodeRequests& nodes_;
  const Duration view_timeout_;
  const Turn& turn_;
};

}  // namespace segue::router
