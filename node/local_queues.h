#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "common/catalog_state.h"
#include "common/ids.h"
#include "node/policy_source.h"

namespace segue::node {

/// Turns changes of the catalog into queues that this node has to hold or to drop: those of the
/// shards that it leads, each with what policies say of it. A change of policies is brought to a
/// few queues in each turn, so that thousands of them do not hold up the others. No I/O; reactor's
/// thread.
class LocalQueues final : public CatalogState::Listener, public PolicySource {
 public:
  /// With the arguments that are in force. Also for a queue that is held already.
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

  bool behind() const override { return remaining_ > 0; }
  void catch_up(QueueId queue) override;
  void describe(QueueId queue, v1::QueueDescription& to) const override;
  std::vector<QueueId> queues_in(std::string_view vhost) const override;
  /// Once in each turn: brings policies to some of the queues that are behind.
  void step();

 private:
  CatalogState& state_;
  const std::string node_id_;
  Add add_;
  Remove remove_;
  struct Held {
    std::uint64_t generation = 0;  // of the policies that were looked at
    std::string said;              // by them
  };

  void add(const v1::QueueDefinition& queue, Held& held);
  void bring(QueueId queue, Held& held);

  std::map<QueueId, Held> held_;
  // Where the next step goes on, and how many queues from there on may be behind.
  QueueId next_{0};
  std::size_t remaining_ = 0;
};

}  // namespace segue::node
