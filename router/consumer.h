#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "common/clock.h"
#include "common/range_set.h"
#include "router/ids.h"
#include "router/node_table.h"
#include "segue/v1/peer.pb.h"

namespace segue::router {

/// One consumer of a session, and its subscription at the node of its queue. Survives the node: the
/// subscription is made again when the link is back, and the client's delivery tags go on by one.
struct Consumer {
  enum class State {
    kWaiting,     // the node is down
    kSubscribed,  // asked for; deliveries come
    kCancelling,  // the node has been told to stop; what was on the way still comes
    kCancelled,   // nothing comes any more; what was delivered can be settled
  };
  /// Null: done.
  using Then = std::function<void(const v1::Error*)>;

  ConsumerId id;  // the number that nodes know it by
  SessionId session;
  std::uint64_t number = 0;  // the client's number for it
  QueueId queue;
  Node* node = nullptr;
  v1::Subscribe subscribe;
  State state = State::kWaiting;
  /// The tag of delivery n of the present subscription is base + n.
  std::uint64_t base = 0;
  std::uint64_t delivered = 0;
  /// Of those delivered, what the client has settled; a number that it settles again counts once.
  segue::RangeSet settled;
  /// Answers the Consume, until it is answered.
  Then on_subscribed;
  TimePoint deadline{};
  /// Answers the Cancel.
  Then on_cancelled;

  std::uint64_t last_tag() const { return base + delivered; }
  /// The link is gone: what was delivered comes again in another subscription.
  void end_subscription() {
    base += delivered;
    delivered = 0;
    settled.clear();
    state = State::kWaiting;
  }
};

/// Tags of a client's Settle, as numbers of the present subscription.
struct TranslatedSettle {
  v1::PeerSettle settle;
  /// Some tags were of an earlier subscription: their messages come again.
  bool stale = false;
  /// Some ranges were empty, or of tags never given out; which, for the message.
  std::string wrong;
};

TranslatedSettle translate(const Consumer& consumer, const v1::Settle& settle);

/// Null when it can be looked at; else what is wrong with a range of a Settle.
const char* check_settled_tags(const v1::SettledTags& tags);

}  // namespace segue::router
