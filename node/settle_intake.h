#pragma once

#include <string>
#include <vector>

#include "node/peer_output.h"
#include "node/queue_table.h"
#include "node/shard_table.h"
#include "node/subscriptions.h"
#include "segue/v1/peer.pb.h"

namespace segue::node {

/// Turns settles by delivery number into departures and requeues of the shards. Reactor's thread.
class SettleIntake {
 public:
  /// The references outlive this.
  SettleIntake(QueueTable& queues, ShardTable& shards, Subscriptions& subscriptions,
               PeerOutput& output)
      : queues_(queues), shards_(shards), subscriptions_(subscriptions), output_(output) {}

  void on_settle(PeerId peer, const v1::PeerSettle& settle);

 private:
  /// What a settle touched: where its answer has to wait.
  struct Touched {
    std::vector<Shard*> shards;  // with something logged; more than one only for gets
    bool sync = false;
    std::string error;  // of the first range that was refused
  };

  void settle_range(Consumer& consumer, const v1::SettledTags& tags, Touched& touched);
  /// How many of them the consumer had.
  std::uint64_t take(Consumer& consumer, NumberRange numbers, const v1::SettledTags& tags,
                     Touched& touched);
  std::uint64_t extend(Consumer& consumer, NumberRange numbers);
  void settle_runs(const std::vector<Unacked::Run>& runs, const v1::SettledTags& tags,
                   Touched& touched);
  void reply(PeerId peer, const v1::PeerSettle& settle, const Touched& touched);

  QueueTable& queues_;
  ShardTable& shards_;
  Subscriptions& subscriptions_;
  PeerOutput& output_;
};

}  // namespace segue::node
