#pragma once

#include <cstdint>
#include <string>

#include "common/bytes.h"
#include "common/status.h"
#include "node/peer_output.h"
#include "segue/v1/peer.pb.h"

namespace segue::node {

/// Who is at the other end of a link.
struct PeerIdentity {
  v1::PeerKind kind = v1::PEER_KIND_UNSPECIFIED;
  std::string id;
  std::uint64_t incarnation = 0;
};

/// What the link server tells of its peers, on the reactor's thread and never out of a call of
/// PeerOutput.
class PeerHandler {
 public:
  virtual ~PeerHandler() = default;
  virtual void on_peer_up(PeerId peer, const PeerIdentity& identity) = 0;
  /// Comes once for each on_peer_up(); before the on_peer_up() of the peer's next life.
  virtual void on_peer_lost(PeerId peer, const PeerIdentity& identity) = 0;
  /// Neither hello, heartbeat nor close. The frame may be taken apart; it is valid during the call.
  /// A failed Status (the frame makes no sense) ends this peer's link.
  virtual Status on_peer_frame(PeerId peer, v1::PeerFrame& frame, SharedBytes bodies) = 0;
};

}  // namespace segue::node
