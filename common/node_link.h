#pragma once

#include <google/protobuf/arena.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/bytes.h"
#include "common/clock.h"
#include "common/link.h"
#include "common/logging.h"
#include "common/outgoing_connection.h"
#include "common/random.h"
#include "common/status.h"
#include "common/zmq_socket.h"
#include "segue/v1/peer.pb.h"

namespace segue {

/// The connection below a NodeLink: a DEALER socket (ZmqLinkTransport), or a test's.
class LinkTransport {
 public:
  virtual ~LinkTransport() = default;
  /// A fresh connection; what an earlier one has not sent or delivered is gone.
  virtual Status open() = 0;
  /// Ends the connection. With `deliver` what was sent may still go out for a moment.
  virtual void close(bool deliver) = 0;
  /// False: the other end is too far behind.
  virtual bool send(std::string header, const std::vector<SharedBytes>& bodies) = 0;
  /// Takes the next message if there is one.
  virtual bool receive(WireMessage& message) = 0;
  /// What became of the connection, to follow `node n1 at tcp://n1:7101`: `is gone: ...`, `cannot
  /// be reached: ...`; empty while all may be well. What arrived before can still be received.
  virtual std::string broken() = 0;
};

/// The connecting end of a link between two processes of a cluster: a router's or a node's link to
/// one node. Says hello, numbers and checks the frames, keeps the link alive, and notices when it
/// is not; then it resets (on_down) and connects again by itself, in a new epoch, with growing
/// pauses. A reset means: what was sent and not answered may or may not have been taken.
///
/// No I/O of its own. One thread; the loop calls poll() when the transport may be readable and at
/// next_timer().
class NodeLink {
 public:
  /// Told of the link's life and its frames, out of poll() or reset(). May call send() and reset().
  class Events {
   public:
    virtual ~Events() = default;
    /// The node took us in; frames may be sent. Compare `hello.incarnation()` with the last one to
    /// know whether the node was restarted.
    virtual void on_up(const v1::PeerHelloOk& hello) = 0;
    /// The epoch is over. Comes once after each on_up().
    virtual void on_down(const Status& reason) = 0;
    /// Neither hello, heartbeat nor close. The frame may be taken apart (its strings moved out); it
    /// is valid during the call. `bodies` may be kept.
    virtual void on_frame(v1::NodeFrame& frame, SharedBytes bodies) = 0;
  };

  struct Options {
    std::string node_id;   // whom we expect to answer
    std::string endpoint;  // for messages
    v1::PeerHello hello;   // what we say of ourselves
    /// How long until the hello must be answered, and the heartbeat until the answer names one.
    Duration heartbeat = std::chrono::seconds(1);
    Duration reconnect_min = std::chrono::milliseconds(50);
    Duration reconnect_max = std::chrono::seconds(2);
  };

  /// The references outlive the link. The first attempt starts with the first poll().
  NodeLink(Options options, LinkTransport& transport, Events& events, Random& random, Logger& log);
  NodeLink(const NodeLink&) = delete;
  NodeLink& operator=(const NodeLink&) = delete;

  bool is_up() const { return state_ == State::kUp; }
  const std::string& node_id() const { return options_.node_id; }
  /// Why the link is down: of the last reset or failed attempt. OK at first and while it is up.
  const Status& last_error() const { return last_error_; }

  /// Takes at most `max_frames` frames and does what is due by now. True: there may be more frames,
  /// so do not sleep.
  bool poll(TimePoint now, std::size_t max_frames = 64);
  /// When poll() is due even if nothing arrives.
  TimePoint next_timer() const;

  /// Stamps the frame and sends it; `bodies` go back to back behind it. False: the link is down (if
  /// it was up, on_down() has been called meanwhile), and the frame will not arrive.
  bool send(v1::PeerFrame& frame, const std::vector<SharedBytes>& bodies, TimePoint now);
  bool send(v1::PeerFrame&& frame, const std::vector<SharedBytes>& bodies, TimePoint now) {
    return send(frame, bodies, now);
  }

  /// Ends this epoch, e.g. because of a frame that makes no sense, and connects again later.
  void reset(const Status& reason, TimePoint now);
  /// Says goodbye and stays down for ever. No on_down().
  void close(TimePoint now);

 private:
  enum class State { kWaiting, kHello, kUp, kClosed };

  void connect(TimePoint now);
  void on_message(WireMessage& message, TimePoint now);
  void on_hello_ok(const v1::PeerHelloOk& hello, TimePoint now);
  void on_timers(TimePoint now);
  bool transmit(v1::PeerFrame& frame, const std::vector<SharedBytes>& bodies, TimePoint now);
  Duration pause();

  Options options_;
  LinkTransport& transport_;
  Events& events_;
  Random& random_;
  Logger& log_;
  State state_ = State::kWaiting;
  TimePoint retry_at_{};
  std::uint32_t failures_ = 0;  // since the link was up last, for longer than it had waited
  Duration last_pause_{};
  TimePoint up_since_{};
  Status last_error_;
  std::optional<Link> link_;
  // Frames are parsed into memory that is used again for the next one.
  std::vector<char> arena_block_;
  google::protobuf::Arena arena_;
};

/// A LinkTransport over a DEALER socket, one for each connection. Keeps `poller` informed of the
/// socket; context and poller outlive it. One thread.
class ZmqLinkTransport final : public LinkTransport {
 public:
  ZmqLinkTransport(ZmqContext& context, Poller& poller, std::string endpoint,
                   ZmqSocket::Options options);
  Status open() override;
  void close(bool deliver) override;
  bool send(std::string header, const std::vector<SharedBytes>& bodies) override;
  bool receive(WireMessage& message) override;
  std::string broken() override;

 private:
  const std::string endpoint_;
  OutgoingConnection connection_;
};

}  // namespace segue
