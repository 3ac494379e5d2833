#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <unordered_map>
#include <vector>

#include "common/logging.h"
#include "node/auto_delete.h"
#include "node/consumer.h"
#include "node/lease_book.h"
#include "node/peer_output.h"
#include "node/queue_table.h"
#include "node/shard_table.h"
#include "node/turn_clock.h"
#include "node/unused_queues.h"
#include "segue/v1/peer.pb.h"

namespace segue::node {

/// The consumers of all peers: subscribing, credit, ending. What a peer's end leaves unsettled goes
/// back to its queues. Reactor's thread.
class Subscriptions {
 public:
  /// What may be on the way to one peer, and how many sessions it may have.
  struct Limits {
    std::uint64_t peer_delivery_bytes = 512ull << 20;
    std::uint64_t peer_sessions = 10'000;
  };

  /// The references outlive this.
  Subscriptions(const Limits& limits, QueueTable& queues, ShardTable& shards, PeerOutput& output,
                AutoDelete& auto_delete, UnusedQueues& unused, const TurnClock& clock, Logger& log)
      : limits_(limits),
        queues_(queues),
        shards_(shards),
        output_(output),
        auto_delete_(auto_delete),
        unused_(unused),
        clock_(clock),
        log_(log) {}

  void on_command(PeerId peer, const v1::ConsumerCommand& command);
  void on_peer_lost(PeerId peer);
  /// The queue goes: its consumers are told and end.
  void end_consumers_of(HostedQueue& hosted);

  /// Null if the peer has no such consumer.
  Consumer* find(PeerId peer, std::uint64_t number);
  /// The consumer that stands for a session's gets, made at its first use; null if the number is an
  /// ordinary consumer's.
  Consumer* find_for_gets(PeerId peer, std::uint64_t number);
  /// The deliveries were given out, or their time begins anew: if the consumer or its queue sets a
  /// time, they go back when it is over.
  void lease(Consumer& consumer, const HostedQueue& hosted, NumberRange numbers);
  /// Takes back what was not settled in time.
  void on_tick();
  /// Messages taken out of a consumer's unacked go back to their queues.
  void requeue(const std::vector<Unacked::Run>& runs, std::int64_t rest_ms = 0);
  /// The same, without counting the deliveries.
  void release(const std::vector<Unacked::Run>& runs);
  /// The consumer's credit or unacked changed: it is served again, or, stopped and with nothing
  /// left to settle, forgotten (`consumer` is gone then).
  void after_change(Consumer& consumer);

  /// Once in every turn, before deliveries: consumers that waited for what others of their peer had
  /// on the way are served again. Looks at so many at most.
  void begin_deliveries();
  /// Whether begin_deliveries() has left some to the next turn.
  bool wants_turn() const;

 private:
  struct Peer {
    explicit Peer(const Limits& limits)
        : budget(limits.peer_delivery_bytes, limits.peer_sessions) {}
    LinkBudget budget;  // its consumers count in it
    std::unordered_map<std::uint64_t, std::unique_ptr<Consumer>> consumers;
    std::deque<std::uint64_t> gone;  // consumers whose queue was deleted, oldest first
  };

  Peer& peer_of(PeerId peer) { return peers_.try_emplace(peer, limits_).first->second; }
  void subscribe(PeerId peer, std::uint64_t number, const v1::Subscribe& terms);
  void unsubscribe(Consumer& consumer, bool requeue_unsettled);
  void leave_queue(Consumer& consumer, bool peer_lost);
  /// Empty: it may subscribe. Else why not.
  static std::string refusal_of(const HostedQueue& hosted, const v1::Subscribe& terms);
  void forget(Consumer& consumer);
  void log_timeout(const Consumer& consumer, const std::vector<Unacked::Run>& runs);
  void refuse(PeerId peer, std::uint64_t number, Code code, std::string entity, std::string text);

  const Limits limits_;
  QueueTable& queues_;
  ShardTable& shards_;
  PeerOutput& output_;
  AutoDelete& auto_delete_;
  UnusedQueues& unused_;
  const TurnClock& clock_;
  Logger& log_;
  LeaseBook leases_;  // of consumers in peers_
  std::map<PeerId, Peer> peers_;
};

}  // namespace segue::node
