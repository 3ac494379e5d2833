#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "common/catalog_state.h"
#include "common/random.h"
#include "common/status.h"
#include "segue/v1/catalog.pb.h"

namespace segue::node {

/// What an operation on the catalog comes to.
struct CatalogDecision {
  /// Refused: the reason, and nothing changes.
  Status status;
  /// The object that the status is about.
  std::string entity;
  /// In the order in which they are to be applied. Empty: nothing needs to change.
  std::vector<v1::CatalogChange> changes;
  bool created = false;
  bool updated = false;
  /// Of a declare: the queue as it is now.
  v1::QueueDefinition queue;
};

/// The rules of exchanges, queues and bindings: looks at what exists and says what an operation
/// does to it. Changes nothing by itself. One thread.
class CatalogRules {
 public:
  /// `random` names queues that are declared without a name; outlives the rules.
  CatalogRules(std::uint32_t max_queues, Random& random)
      : max_queues_(max_queues), random_(random) {}

  CatalogDecision decide(const CatalogState& state, const v1::CatalogOperation& operation);
  /// The changes that take a queue away with its bindings, and the auto-delete exchanges that are
  /// left without any.
  static std::vector<v1::CatalogChange> deletion(const CatalogState& state,
                                                 const v1::QueueDefinition& queue);
  /// The same of an exchange.
  static std::vector<v1::CatalogChange> deletion(const CatalogState& state,
                                                 const v1::ExchangeDefinition& exchange);

  /// From now on, or no longer, operations in the virtual host are refused: it is being deleted.
  void close_vhost(const std::string& name) { closed_vhosts_.insert(name); }
  void open_vhost(const std::string& name) { closed_vhosts_.erase(name); }

 private:
  Status check_open(const v1::CatalogOperation& operation) const;

  std::string new_queue_name(const CatalogState& state, const std::string& vhost);
  void declare_queue(const CatalogState& state, const v1::DeclareQueueOp& operation,
                     const v1::SessionOwner& asker, CatalogDecision& decision);
  static void redeclare(const v1::QueueDefinition& current, const v1::QueueDefinition& wanted,
                        bool update, CatalogDecision& decision);

  std::uint32_t max_queues_;
  Random& random_;
  std::set<std::string> closed_vhosts_;
};

}  // namespace segue::node
