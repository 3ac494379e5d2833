#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "common/bytes.h"
#include "common/clock.h"
#include "common/status.h"

namespace segue {

/// ZeroMQ's context: its I/O threads. Outlives its sockets. Safe from any thread.
class ZmqContext {
 public:
  explicit ZmqContext(int io_threads = 1);
  ~ZmqContext();
  ZmqContext(const ZmqContext&) = delete;
  ZmqContext& operator=(const ZmqContext&) = delete;

 private:
  friend class ZmqSocket;
  struct Holder;
  std::unique_ptr<Holder> holder_;
};

/// One message of Segue on the wire: a protobuf header and, for some, the bodies behind it.
struct WireMessage {
  /// Who sent it, or whom it is for: ZeroMQ's routing id. Only on ROUTER sockets.
  std::string peer;
  SharedBytes header;
  SharedBytes bodies;
  /// The sender put more than two frames, or none, into the message; header and bodies are the
  /// first two.
  bool malformed = false;
};

/// A DEALER or ROUTER socket. Belongs to the thread that made it; closes without waiting for unsent
/// messages longer than `linger`.
class ZmqSocket {
 public:
  enum class Kind { kDealer, kRouter };
  /// What keeps frames for a peer that does not read from piling up in memory.
  enum class Bound {
    kWindow,   // the sender counts what is on the way by itself
    kReading,  // nothing: no more is sent while max_unread_bytes wait
  };
  struct Options {
    /// Messages that ZeroMQ may hold for one peer; what is beyond is refused, never dropped.
    int high_water_mark = 10'000;
    /// Bytes of Bound::kReading frames that may wait for one peer of a ROUTER to read; small frames
    /// are not counted, the high-water mark bounds them. 0: no limit.
    std::uint64_t max_unread_bytes = 0;
    /// A larger frame closes the connection it came on. 0: no limit.
    std::int64_t max_frame_bytes = 0;
    std::chrono::milliseconds linger{0};
    std::chrono::milliseconds reconnect_min{20};
    std::chrono::milliseconds reconnect_max{500};
    /// For trouble(): costs a socket more.
    bool watch = false;
  };
  /// The worst that has happened to a connecting socket's connection. ZeroMQ goes on trying by
  /// itself.
  enum class Trouble {
    kNone,
    kRefused,  // an attempt to connect failed: nobody listens, or no such host
    kLost,     // it was there and ended: what was sent may be lost
  };

  ZmqSocket(ZmqContext& context, Kind kind, const Options& options);
  ~ZmqSocket();
  ZmqSocket(ZmqSocket&&) noexcept;
  ZmqSocket& operator=(ZmqSocket&&) noexcept;

  /// INVALID_CONFIG with the endpoint and the system's reason (address in use, no such host...). Of
  /// a name all addresses are bound that this machine has; looking it up may block.
  Status bind(const std::string& endpoint);
  Status connect(const std::string& endpoint);
  /// The endpoint bound last, with the port that a wildcard was given.
  std::string bound_endpoint() const;

  /// Sends without waiting. False: the peer is gone or too far behind, and nothing was sent.
  /// `peer` is ignored on a DEALER. Bodies are sent back to back as one frame, a single large one
  /// without copying; `with_bodies` sends the frame even when it is empty.
  bool send(std::string_view peer, std::string header, const std::vector<SharedBytes>& bodies = {},
            bool with_bodies = false, Bound bound = Bound::kWindow);
  /// How long unsent messages may go on being sent after the socket is closed.
  void set_linger(std::chrono::milliseconds linger);
  /// Takes the next message if there is one.
  bool receive(WireMessage& message);
  /// Only with Options::watch, else always kNone. Wakes a Poller when it changes; must be asked
  /// then. What arrived before the connection was lost can be received after this says so.
  Trouble trouble();

 private:
  friend class Poller;
  struct Holder;
  /// `endpoint`: as messages call it.
  Status bind_address(const std::string& address, const std::string& endpoint);

  std::unique_ptr<Holder> holder_;
};

/// Something other threads ring to wake a loop that sleeps in Poller::wait().
class Wakeup {
 public:
  Wakeup();
  ~Wakeup();
  Wakeup(const Wakeup&) = delete;
  Wakeup& operator=(const Wakeup&) = delete;

  /// From any thread; cheap when it rings already.
  void signal();
  /// By the loop, before it looks at what the others left.
  void clear();
  int fd() const { return fd_; }

 private:
  int fd_;
};

/// Waits for sockets and file descriptors. One thread.
class Poller {
 public:
  Poller();
  ~Poller();
  /// The socket must outlive the poller or be removed.
  void add(ZmqSocket& socket);
  void remove(ZmqSocket& socket);
  void add_fd(int fd);
  void remove_fd(int fd);
  /// Returns when something is readable, or after `timeout` (rounded up to 1 ms; negative: at
  /// once). EINTR counts as something. Which it was is found out by trying.
  void wait(Duration timeout);

 private:
  struct Holder;
  std::unique_ptr<Holder> holder_;
};

/// Turns SIGTERM and SIGINT into a readable descriptor, and ignores SIGPIPE. Made first in main(),
/// before any thread, so that every thread has the signals blocked.
class ShutdownSignals {
 public:
  ShutdownSignals();
  ~ShutdownSignals();
  ShutdownSignals(const ShutdownSignals&) = delete;
  ShutdownSignals& operator=(const ShutdownSignals&) = delete;

  int fd() const { return fd_; }
  /// The signal that came since the last call; 0: none.
  int take();

 private:
  int fd_;
};

}  // namespace segue
