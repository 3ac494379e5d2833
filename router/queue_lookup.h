#pragma once

#include <string_view>

#include "common/status.h"
#include "router/catalog_view.h"
#include "router/node_table.h"
#include "router/request_context.h"

namespace segue::router {

/// Finds the queues and nodes that requests name. One thread.
class QueueLookup {
 public:
  /// `router_id` and `incarnation` say whose sessions own exclusive queues.
  QueueLookup(std::string router_id, std::uint64_t incarnation, const CatalogView& catalog,
              NodeTable& nodes)
      : router_id_(std::move(router_id)),
        incarnation_(incarnation),
        catalog_(catalog),
        nodes_(nodes) {}

  /// NOT_FOUND without such a queue, RESOURCE_LOCKED when it is another session's exclusive one.
  Result<const v1::QueueDefinition*> usable(const RequestContext& context,
                                            const std::string& name) const;
  /// Whose the session is, for the catalog.
  v1::SessionOwner owner(SessionId session) const;
  const std::string& node_id(const v1::QueueDefinition& queue) const {
    return catalog_.state().node_of(ShardId(static_cast<std::uint16_t>(queue.shard())));
  }
  Node* node(const v1::QueueDefinition& queue) const { return nodes_.find(node_id(queue)); }
  /// What the catalog says of the queue; the counts are not known.
  v1::QueueDescription describe(const v1::QueueDefinition& queue) const;
  /// Takes over the counts that a node told.
  static void add_counts(const v1::QueueDescription& counts, v1::QueueDescription& to);

  const CatalogView& catalog() const { return catalog_; }
  const std::string& router_id() const { return router_id_; }
  std::uint64_t incarnation() const { return incarnation_; }

 private:
  std::string router_id_;
  std::uint64_t incarnation_;
  const CatalogView& catalog_;
  NodeTable& nodes_;
};

}  // namespace segue::router
