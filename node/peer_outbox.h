#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "common/bytes.h"
#include "segue/v1/peer.pb.h"

namespace segue::node {

/// What one turn of the loop has for one peer, collected into one frame of each kind. A frame that
/// grows large is handed out before the turn ends. The messages are used again from turn to turn.
/// No I/O; reactor's thread.
class PeerOutbox {
 public:
  /// Takes a frame to send, its bodies to go back to back. Must not call the outbox.
  using Send = std::function<void(v1::NodeFrame& frame, const std::vector<SharedBytes>& bodies)>;

  static constexpr std::size_t kFrameBodyBytes = 4 << 20;
  static constexpr int kFrameItems = 16'384;

  explicit PeerOutbox(Send send) : send_(std::move(send)) {}

  void add(v1::ShardConfirm confirm);
  void add(v1::NodeDelivery delivery, std::vector<SharedBytes> bodies);
  void add(v1::ConsumerEvent event);
  void add(v1::QueueReply reply, std::vector<SharedBytes> bodies);
  void add(v1::CatalogReply reply);
  void add(v1::CatalogFeed feed);

  /// Sends what was collected: catalog before what may refer to it, events before deliveries.
  void flush();

 private:
  void flush_feed();
  void flush_catalog_replies();
  void flush_confirms();
  void flush_events();
  void flush_deliveries();
  void flush_queue_replies();

  Send send_;
  v1::NodeFrame frame_;
  std::vector<v1::CatalogFeed> feeds_;
  v1::CatalogReplies catalog_replies_;
  v1::ShardConfirms confirms_;
  v1::ConsumerEvents events_;
  v1::NodeDeliveries deliveries_;
  std::vector<SharedBytes> delivery_bodies_;
  std::size_t delivery_bytes_ = 0;
  v1::QueueReplies queue_replies_;
  std::vector<SharedBytes> reply_bodies_;
  std::size_t reply_bytes_ = 0;
};

}  // namespace segue::node
