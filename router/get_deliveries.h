#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <unordered_map>

#include "common/ids.h"
#include "router/node_table.h"
#include "segue/v1/client.pb.h"
#include "segue/v1/peer.pb.h"

namespace segue::router {

/// Messages that one session has polled with Get and not settled: the client knows them by tags of
/// consumer 0, nodes by a subscription for each queue and its numbers. No I/O, one thread.
class GetDeliveries {
 public:
  struct Subscription {
    ConsumerId id;
    Node* node = nullptr;
    /// Goes up with each reset of the node's link: numbers start again.
    std::uint64_t life = 0;
  };
  /// Part of a Settle for one subscription.
  struct Part {
    Node* node;
    v1::PeerSettle settle;
  };
  struct Settled {
    std::vector<Part> parts;
    bool stale = false;
    std::string wrong;
  };

  Subscription* find(QueueId queue);
  Subscription& add(QueueId queue, ConsumerId id, Node& node);
  const std::map<QueueId, Subscription>& subscriptions() const { return subscriptions_; }

  /// Requests that nodes have not answered, by their number.
  std::set<std::uint64_t> open_requests;

  /// Notes a delivery of the subscription; returns its tag.
  std::uint64_t delivered(const Subscription& subscription, QueueId queue, std::uint64_t number);
  std::size_t unsettled() const { return tags_.size(); }
  Settled settle(const v1::Settle& settle);
  void on_node_down(const Node& node);

 private:
  struct Delivery {
    QueueId queue;
    std::uint64_t life;
    std::uint64_t number;
  };

  void settle_one(const Delivery& delivery, const v1::SettledTags& settled, Settled& result);

  std::map<QueueId, Subscription> subscriptions_;
  std::map<std::uint64_t, Delivery> tags_;
  std::uint64_t last_tag_ = 0;
};

}  // namespace segue::router
