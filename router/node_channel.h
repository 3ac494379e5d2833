#pragma once

#include <vector>

#include "common/bytes.h"
#include "segue/v1/peer.pb.h"

namespace segue::router {

/// The way to one node: a link that is up or down. The loop's thread.
class NodeChannel {
 public:
  virtual ~NodeChannel() = default;
  /// Sends one frame of the link's present life; the channel fills in the link header. `bodies`
  /// stand back to back in frame 2. A frame that cannot be sent ends the link's life, which is told
  /// later.
  virtual void send(v1::PeerFrame frame, const std::vector<SharedBytes>& bodies) = 0;
};

}  // namespace segue::router
