#pragma once

#include <cstdint>
#include <map>

#include "common/logging.h"
#include "router/catalog_requests.h"
#include "router/queue_lookup.h"
#include "router/session_table.h"

namespace segue::router {

/// Has the exclusive queues of sessions that are gone deleted, and tries again until they are.
/// Those of an earlier life of this router are the catalog leader's to delete. One thread.
class ExclusiveQueues {
 public:
  ExclusiveQueues(const QueueLookup& lookup, CatalogRequests& leader, const SessionTable& sessions,
                  const Turn& turn, Logger& log)
      : lookup_(lookup), leader_(leader), sessions_(sessions), turn_(turn), log_(log) {}

  /// The session is out of the table already.
  void on_session_ended(SessionId session);
  void on_queue_created(const v1::QueueDefinition& queue);
  void on_queue_deleted(QueueId queue) { doomed_.erase(queue); }
  void on_catalog_replaced();
  void on_tick();

  std::size_t kept() const { return doomed_.size(); }

 private:
  struct Doomed {
    bool asked = false;
    TimePoint retry_at{};
  };

  bool is_orphan(const v1::QueueDefinition& queue) const;
  void ask(QueueId queue, Doomed& doomed);

  const QueueLookup& lookup_;
  CatalogRequests& leader_;
  const SessionTable& sessions_;
  const Turn& turn_;
  Logger& log_;
  std::map<QueueId, Doomed> doomed_;
};

}  // namespace segue::router
