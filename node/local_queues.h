#pragma once

#include <functional>
#include <set>
#include <string>

#include "common/catalog_state.h"
#include "common/ids.h"

namespace segue::node {

/// Turns changes of the catalog into queues that this node has to hold or to drop: those of the
/// shards that it leads. No I/O; reactor's thread.
class LocalQueues final : public CatalogState::Listener {
 public:
  using Add = std::function<void(const v1::QueueDefinition&)>;
  using Remove = std::function<void(QueueId)>;

  /// Listens to `state`, which outlives it.
  LocalQueues(CatalogState& state, std::string node_id, Add add, Remove remove);
  ~LocalQueues() override;
  LocalQueues(const LocalQueues&) = delete;
  LocalQueues& operator=(const LocalQueues&) = delete;

  void on_change(const v1::CatalogChange& change) override;
  /// Compares. Queues that stay are added again: they may have been changed.
  void on_reset() override;

 private:
  CatalogState& state_;
  const std::string node_id_;
  Add add_;
  Remove remove_;
  std::set<QueueId> held_;
};

}  // namespace segue::node
