#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "common/catalog_state.h"
#include "common/clock.h"
#include "common/ids.h"
#include "common/routing/compiled_exchanges.h"
#include "common/status.h"
#include "router/turn.h"

namespace segue::router {

/// Where messages with one exchange and routing key go, as of one catalog index.
struct Route {
  struct Target {
    QueueId queue;
    ShardId shard;
    bool operator==(const Target&) const = default;
  };

  /// NOT_FOUND or ACCESS_REFUSED: such messages are rejected.
  Status status;
  /// Ordered by shard, then queue. Empty: unroutable.
  std::vector<Target> targets;
  /// A node must know the catalog up to here to know the targets.
  CatalogIndex needs;

  bool one_shard() const {
    return !targets.empty() && targets.front().shard == targets.back().shard;
  }
};

/// The router's copy of the catalog, fed by a node, and what is compiled from it. One thread.
class CatalogView final : private CatalogState::Listener {
 public:
  /// Told of what ends or begins in the catalog.
  class Observer {
   public:
    virtual ~Observer() = default;
    virtual void on_queue_created(const v1::QueueDefinition& queue) = 0;
    virtual void on_queue_deleted(QueueId queue) = 0;
    virtual void on_vhost_deleted() = 0;
    /// Everything may have changed.
    virtual void on_catalog_replaced() = 0;
  };

  /// `leader_patience`: for how long those who wait for the catalog wait for the leader too, from
  /// the first one on.
  explicit CatalogView(const Turn& turn, Duration leader_patience = Duration{0});
  ~CatalogView() override;

  void set_observer(Observer* observer) { observer_ = observer; }

  const CatalogState& state() const { return state_; }
  CatalogIndex index() const { return state_.index(); }
  /// The cluster's shards are known: routing works.
  bool ready() const { return state_.shard_count() > 0; }
  /// The leader has fed it since this process started: nothing is missing that was declared before
  /// that. What only other nodes have told may be behind, so what is not there may be there all the
  /// same.
  bool complete() const { return complete_; }
  void set_complete();
  /// What to answer when something is not there: NOT_FOUND with `text` ("no queue 'q'"), or
  /// CATALOG_UNAVAILABLE when it may be there all the same.
  Status not_found(std::string text) const;

  void apply(const v1::CatalogEntry& entry);
  /// Replaces everything.
  void replace(const std::vector<v1::CatalogEntry>& snapshot, CatalogIndex index);

  std::shared_ptr<const Route> route(std::string_view vhost, std::string_view exchange,
                                     const RoutedMessage& message);
  /// A node must know the catalog up to here to know the queue, and what policies say of it.
  CatalogIndex needed_for(QueueId queue) const;
  /// The queue's name for messages; "queue 17" when it is gone.
  std::string queue_name(QueueId queue) const;

  /// How many queues each shard has.
  const std::vector<std::uint64_t>& queues_by_shard() const { return queues_by_shard_; }

  /// Calls back once, with true when the view has reached `index` and is complete, or the leader
  /// was waited for long enough (at once if so), with false if it has not reached it by `deadline`.
  void when_reached(CatalogIndex index, TimePoint deadline, std::function<void(bool)> then);
  void on_tick();

 private:
  struct Waiter {
    TimePoint deadline;
    std::function<void(bool)> then;
  };

  void on_change(const v1::CatalogChange& change) override;
  void on_reset() override;
  /// `by_key_alone`: it is the route of every message with this routing key.
  std::shared_ptr<const Route> compute(std::string_view vhost, std::string_view exchange,
                                       const RoutedMessage& message, bool& by_key_alone);
  void count_queue(const v1::QueueDefinition& queue);
  void wake_waiters();
  bool settled() const;

  const Turn& turn_;
  Observer* observer_ = nullptr;
  const Duration leader_patience_;
  std::optional<TimePoint> leader_awaited_until_;
  bool complete_ = false;
  CatalogState state_;
  CompiledExchanges compiled_;
  std::unordered_map<std::string, std::shared_ptr<const Route>> routes_;
  std::string route_key_;
  // When each queue came, unless it came with the snapshot.
  std::unordered_map<QueueId, CatalogIndex> created_at_;
  std::unordered_map<QueueId, std::uint32_t> shard_of_queue_;
  std::vector<std::uint64_t> queues_by_shard_;
  CatalogIndex snapshot_index_;
  CatalogIndex applying_;
  CatalogIndex policies_at_;
  std::multimap<CatalogIndex, Waiter> waiters_;
};

}  // namespace segue::router
