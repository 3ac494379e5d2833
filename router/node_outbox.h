#pragma once

#include <cstdint>
#include <vector>

#include "common/bytes.h"
#include "common/ids.h"
#include "router/node_channel.h"
#include "segue/v1/peer.pb.h"

namespace segue::router {

/// What one turn of the loop has for one node: collected into as few frames as may be, sent at the
/// end of the turn. Things of different kinds whose order matters (a publish and a purge, a settle
/// and an unsubscribe) keep it. One thread.
class NodeOutbox {
 public:
  /// `needs`: the node must know the catalog up to here to understand the item.
  void publish(const v1::ShardPublish& publish, const SharedBytes& bodies, CatalogIndex needs);
  void consumer_command(v1::ConsumerCommand command, CatalogIndex needs = {});
  void settle(v1::PeerSettle settle);
  void queue_request(v1::QueueRequest request, CatalogIndex needs);
  void catalog_request(v1::CatalogRequest request);
  void catalog_follow(CatalogIndex after);

  bool empty() const { return frames_.empty(); }
  /// Forgets what was not sent.
  void clear() { frames_.clear(); }
  void flush(NodeChannel& channel);

 private:
  using Kind = v1::PeerFrame::BodyCase;
  struct Frame {
    v1::PeerFrame frame;
    std::vector<SharedBytes> bodies;
    std::size_t bytes = 0;
    bool sealed = false;  // nothing may be added
  };

  Frame& frame_for(Kind kind, std::size_t bytes, CatalogIndex needs);

  std::vector<Frame> frames_;
};

}  // namespace segue::router
