#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "common/bytes.h"
#include "common/zmq_socket.h"

namespace segue::router {

/// Where frames to clients go out: the clients' ROUTER socket, or a test. The loop's thread.
class ClientOutput {
 public:
  virtual ~ClientOutput() = default;
  /// Sends without waiting. `peer` is the client's routing id; `header` a serialized RouterFrame;
  /// `bodies` stand back to back in frame 2, which `with_bodies` sends even when it is empty.
  /// `bound` says what keeps frames from piling up for a client that does not read. False: the
  /// client is gone or does not read, and nothing was sent.
  virtual bool send(std::string_view peer, std::string header,
                    const std::vector<SharedBytes>& bodies, bool with_bodies,
                    ZmqSocket::Bound bound) = 0;
};

}  // namespace segue::router
