#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "node/delivery_frame.h"
#include "node/group_reader.h"
#include "node/peer_output.h"
#include "node/queue_gets.h"
#include "node/queue_table.h"
#include "node/read_ahead.h"
#include "node/shard_table.h"

namespace segue::node {

/// Hands ready messages to consumers with credit, in runs, once in every turn: one frame for each
/// consumer. What a turn gives out is bounded, so that the loop comes round; what is left over
/// stays listed for the next. Reactor's thread.
class Delivery {
 public:
  /// The references outlive this.
  Delivery(QueueTable& queues, ShardTable& shards, Subscriptions& subscriptions, PeerOutput& output,
           ReadAhead& read_ahead, QueueGets& gets)
      : queues_(queues),
        shards_(shards),
        subscriptions_(subscriptions),
        output_(output),
        read_ahead_(read_ahead),
        gets_(gets),
        group_reader_(shards) {}

  void end_turn();

 private:
  struct Open {
    Consumer* consumer = nullptr;
    DeliveryFrame frame;
  };

  /// Serves one queue; true if more could be delivered now.
  bool serve(HostedQueue& hosted);
  /// How many messages a consumer is given before it is another's turn.
  static std::uint64_t slice_for(HostedQueue& hosted);
  /// One slice for the consumer whose turn it is; false when the queue has nothing more for now.
  bool serve_slice(HostedQueue& hosted);
  /// The same for a queue with message groups (delivery_groups.cc).
  bool serve_groups(HostedQueue& hosted);
  bool serve_group_slice(HostedQueue& hosted, Consumer& consumer);
  bool has_room() const;
  void no_more(HostedQueue& hosted, Consumer& consumer);
  void give(HostedQueue& hosted, Consumer& consumer, const MessageRun& run);
  DeliveryFrame& frame_of(Consumer& consumer);
  void send_frames();

  QueueTable& queues_;
  ShardTable& shards_;
  Subscriptions& subscriptions_;
  PeerOutput& output_;
  ReadAhead& read_ahead_;
  QueueGets& gets_;
  GroupReader group_reader_;
  std::vector<Open> open_;  // the first open_count_ are in use, for the queue being served
  std::size_t open_count_ = 0;
  std::uint64_t turn_messages_ = 0;
  std::uint64_t turn_bytes_ = 0;
  std::uint64_t queue_messages_ = 0;
  std::uint64_t queue_bytes_ = 0;
  std::uint64_t slice_ = 0;
};

}  // namespace segue::node
