#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <unordered_map>
#include <vector>

#include "common/config.h"
#include "common/logging.h"
#include "router/catalog_view.h"
#include "router/consumer.h"
#include "router/get_deliveries.h"
#include "router/node_requests.h"
#include "router/range_set.h"
#include "router/session_table.h"
#include "router/settle_confirms.h"
#include "router/turn.h"

namespace segue::router {

/// The way of deliveries: consumers and polls of sessions, their deliveries (handed through without
/// being looked into), and settles back to the nodes. Keeps consumers over resets of a node's link.
/// One thread.
class DeliveryPath {
 public:
  using Then = Consumer::Then;
  using GotThen = std::function<void(const v1::Error* error, v1::GetOk& got, SharedBytes body)>;

  DeliveryPath(const LimitsConfig& limits, Duration subscribe_timeout, CatalogView& catalog,
               NodeTable& nodes, SessionTable& sessions, NodeRequests& requests, const Turn& turn,
               Logger& log);

  // ---- from sessions; the queue exists and the session may use it

  void consume(Session& session, const v1::Consume& consume, const v1::QueueDefinition& queue,
               Then then);
  void cancel(Session& session, std::uint64_t number, Then then);
  void qos(Session& session, const v1::Qos& qos, Then then);
  void get(Session& session, const v1::QueueDefinition& queue, bool no_ack, GotThen then);
  void on_settle(Session& session, const v1::Settle& settle);
  void on_received(Session& session, const v1::Received& received);
  void end_session(Session& session);

  // ---- from nodes

  /// FRAME_ERROR: the frame makes no sense, the link should be reset.
  Status on_deliveries(Node& node, v1::NodeDeliveries& deliveries, const SharedBytes& bodies);
  void on_consumer_events(Node& node, const v1::ConsumerEvents& events);
  void on_node_up(Node& node);
  void on_node_down(Node& node);

  void on_queue_deleted(QueueId queue);
  /// Consumers of queues that no longer exist end.
  void on_catalog_replaced();
  void on_tick();

  std::size_t consumer_count() const { return consumers_.size(); }
  /// Of everything that is kept for sessions: 0 when all have gone.
  std::size_t kept() const {
    return consumers_.size() + sessions_consumers_.size() + confirms_.open();
  }

 private:
  /// What one session consumes.
  struct SessionConsumers {
    std::unordered_map<std::uint64_t, ConsumerId> by_number;
    RangeSet used_numbers;
    GetDeliveries gets;
    /// Of cancelled consumers: the last tag from before their node's link was reset.
    std::map<std::uint64_t, std::uint64_t> lost_tags;
  };

  Consumer* find(ConsumerId id);
  Consumer* find(const Session& session, std::uint64_t number);
  SessionConsumers* consumers_of(const Session& session);
  Status check_new(Session& session, std::uint64_t number);
  std::uint64_t window_of_next(const Session& session);
  void subscribe(Consumer& consumer);
  void unsubscribe(Node& node, ConsumerId consumer, bool requeue);
  void deliver(Consumer& consumer, v1::NodeDelivery& delivery, const SharedBytes& bodies);
  void fence_cancel(Consumer& consumer);
  void cancelled(ConsumerId id);
  void remove_if_done(Consumer& consumer);
  /// A cancelled one goes; keeps in mind which of its tags can still be settled in vain.
  void remove_cancelled(Consumer& consumer);
  void remove(ConsumerId id);
  /// The consumer has ended by itself: answers what is open, or tells the client.
  void ended(ConsumerId id, const v1::Error& reason);
  void settle_removed(Session& session, const v1::Settle& settle);
  void settle_gets(Session& session, const v1::Settle& settle);
  void tell_unasked(SessionId session_id, const v1::Error& error);
  void finish_settle(const SettleConfirms::JoinPtr& join, bool wrong);
  bool may_confirm(Session& session, const v1::Settle& settle);
  void on_got(SessionId session, QueueId queue, bool no_ack, v1::QueueReply& reply,
              const SharedBytes& body, const GotThen& then);

  const LimitsConfig limits_;
  const Duration subscribe_timeout_;
  CatalogView& catalog_;
  NodeTable& nodes_;
  SessionTable& sessions_;
  NodeRequests& requests_;
  const Turn& turn_;
  Logger& log_;
  SettleConfirms confirms_;
  std::uint64_t next_id_ = 1;
  std::unordered_map<ConsumerId, std::unique_ptr<Consumer>> consumers_;
  std::unordered_map<QueueId, std::set<ConsumerId>> by_queue_;
  std::unordered_map<SessionId, SessionConsumers> sessions_consumers_;
  v1::RawDeliverFrame deliver_frame_;  // memory used again
};

}  // namespace segue::router
