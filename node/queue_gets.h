#pragma once

#include "node/group_reader.h"
#include "node/peer_output.h"
#include "node/queue_table.h"
#include "node/read_ahead.h"
#include "node/shard_table.h"
#include "node/subscriptions.h"
#include "segue/v1/peer.pb.h"

namespace segue::node {

/// Gets: one message for one request, before any consumer's turn. A get whose message is still on
/// disk waits for it; those after it wait too. Reactor's thread.
class QueueGets {
 public:
  /// The references outlive this.
  QueueGets(ShardTable& shards, Subscriptions& subscriptions, ReadAhead& read_ahead,
            UnusedQueues& unused, PeerOutput& output)
      : shards_(shards),
        subscriptions_(subscriptions),
        read_ahead_(read_ahead),
        unused_(unused),
        output_(output),
        group_reader_(shards) {}

  void on_get(PeerId peer, std::uint64_t request_id, HostedQueue& hosted, const v1::QueueGet& get);
  /// Answers what can be answered; false while a get waits.
  bool serve(HostedQueue& hosted);
  /// The queue goes: waiting gets are answered.
  void end_gets_of(HostedQueue& hosted);

 private:
  Queue::Next next(HostedQueue& lane, Consumer& consumer);
  void deliver(const WaitingGet& get, Consumer& consumer, HostedQueue& hosted,
               const MessageRun& run);

  ShardTable& shards_;
  Subscriptions& subscriptions_;
  ReadAhead& read_ahead_;
  UnusedQueues& unused_;
  PeerOutput& output_;
  GroupReader group_reader_;
};

}  // namespace segue::node
