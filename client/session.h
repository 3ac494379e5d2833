#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "client/consumer_set.h"
#include "client/link_writer.h"
#include "client/publish_sender.h"
#include "client/request_table.h"
#include "segue/options.h"

namespace segue::client {

/// What a session tells the connection; called on the I/O thread.
class SessionEvents {
 public:
  virtual ~SessionEvents() = default;
  virtual void on_ready(const v1::HelloOk& hello) = 0;
  virtual void on_blocked(const v1::Blocked& blocked) = 0;
  virtual void on_unblocked(const v1::Unblocked& unblocked) = 0;
};

/// One session after the other with some router: handshake, heartbeats, and who gets which frame.
/// Publishes, requests and consumers live on from session to session. No I/O of its own, no clock,
/// one thread.
class Session {
 public:
  struct Parts {
    PublishSender& publishes;
    RequestTable& requests;
    ConsumerSet& consumers;
    SessionEvents& events;
  };
  enum class Phase { kNone, kHello, kReady };

  Session(const ConnectionOptions& options, std::string producer_id, Parts parts)
      : options_(options), producer_id_(std::move(producer_id)), parts_(parts) {}

  /// Says Hello over a fresh connection. `epoch` is random, not 0.
  void begin(RouterTransport& transport, std::uint64_t epoch, TimePoint now);
  void on_message(const WireMessage& message, TimePoint now);
  /// Nothing more will come over the connection.
  void on_broken(std::string_view why) { fail(ErrorCode::kDisconnected, std::string(why)); }
  /// Sends all that can be sent, watches the time.
  void turn(TimePoint now);
  /// When turn() should be called again although nothing happens.
  TimePoint deadline(TimePoint now) const;
  /// Says Close.
  void say_close();
  /// The connection is gone: what was on its way waits for the next session, or fails.
  void end(const Error& why);

  Phase phase() const { return phase_; }
  /// Why the session must be ended, once it must.
  const std::optional<Error>& failure() const { return failure_; }
  /// The router refused us in so many words.
  bool refused() const { return refused_; }
  /// Sessions that became ready.
  std::uint64_t sessions() const { return sessions_; }

 private:
  void fail(ErrorCode code, std::string text);
  /// False: not for us, or the session has failed.
  bool check_link(const IncomingFrame& frame, TimePoint now);
  void dispatch(IncomingFrame& frame, const WireMessage& message, TimePoint now);
  void on_hello_ok(const v1::HelloOk& hello, TimePoint now);
  void on_close(const v1::Close& close);

  const ConnectionOptions& options_;
  const std::string producer_id_;
  Parts parts_;
  Phase phase_ = Phase::kNone;
  std::optional<LinkWriter> writer_;
  std::optional<Error> failure_;
  bool refused_ = false;
  std::uint64_t sessions_ = 0;
  IncomingFrame incoming_;  // kept for its memory
};

}  // namespace segue::client
