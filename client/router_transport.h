#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "common/clock.h"
#include "common/status.h"
#include "common/zmq_socket.h"

namespace segue::client {

/// What carries frames to one router at a time. Belongs to the I/O thread.
class RouterTransport {
 public:
  virtual ~RouterTransport() = default;
  /// A fresh way to `endpoint`; drops the former one. Does not wait for the other end.
  virtual segue::Status connect(const std::string& endpoint) = 0;
  virtual void disconnect() = 0;
  /// False: not taken, the router is too far behind.
  virtual bool send(std::string header, const std::vector<SharedBytes>& bodies,
                    bool with_bodies) = 0;
  virtual bool receive(WireMessage& message) = 0;
  /// Why nothing will come any more from the router connected to; empty while something may. What
  /// arrived before can still be received.
  virtual std::string_view broken() = 0;
  /// Until something can be received, the I/O thread's Wakeup rings, or `timeout` is over.
  virtual void wait(Duration timeout) = 0;
};

}  // namespace segue::client
