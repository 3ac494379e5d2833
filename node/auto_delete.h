#pragma once

#include <functional>
#include <map>

#include "common/ids.h"
#include "node/queue_table.h"
#include "node/turn_clock.h"

namespace segue::node {

/// Has queues deleted whose last consumer has gone: asks the catalog, and again each second until
/// the queue is removed. When a router's link broke, its consumers get time to come back first.
/// Reactor's thread.
class AutoDelete {
 public:
  using Request = std::function<void(QueueId)>;

  /// The references outlive this.
  AutoDelete(QueueTable& queues, const TurnClock& clock, Request request)
      : queues_(queues), clock_(clock), request_(std::move(request)) {}

  void last_consumer_gone(HostedQueue& hosted, bool peer_lost);
  /// Has it deleted, whatever it is. Nobody can consume from it from now on.
  void ask(HostedQueue& hosted);
  void on_tick();

 private:
  QueueTable& queues_;
  const TurnClock& clock_;
  Request request_;
  std::map<QueueId, TimePoint> grace_;  // until then consumers may come back
  std::map<QueueId, TimePoint> asked_;  // when to ask again
};

}  // namespace segue::node
