#pragma once

#include <cstdint>

#include "client/publish_batch.h"
#include "client/router_transport.h"
#include "common/link.h"
#include "segue/v1/client.pb.h"

namespace segue::client {

/// Stamps and sends the frames of one session. I/O thread. A frame that the transport does not take
/// would leave a gap in the sequence, so the first failure ends the session.
class LinkWriter {
 public:
  LinkWriter(RouterTransport& transport, std::uint64_t epoch, Duration heartbeat, TimePoint now)
      : transport_(transport), link_(epoch, heartbeat, now), now_(now) {}

  Link& link() { return link_; }
  const Link& link() const { return link_; }
  /// What stamp() counts as now.
  void set_now(TimePoint now) { now_ = now; }
  /// False once a frame was not taken.
  bool fine() const { return fine_; }

  void send(v1::ClientFrame& frame);
  void send_publish(std::uint64_t settled_below, const PublishBatch& batch, PublishBatch::Run run);

 private:
  RouterTransport& transport_;
  Link link_;
  TimePoint now_;
  bool fine_ = true;
};

}  // namespace segue::client
