#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "segue/error.h"

namespace segue::client {

/// What publish() does while the in-flight window, or the router's credit, is used up.
enum class WhenFull {
  kBlock,  // waits, at most `full_timeout`, then fails with WINDOW_FULL
  kFail,   // fails with WINDOW_FULL at once
};

enum class ConnectionState {
  kConnecting,  // no session; the client goes on trying the routers in turn
  kConnected,
  kClosed,  // close() was called; final
};

/// A router's pressure on publishers, as Blocked frames tell it.
struct BlockedState {
  bool blocked = false;
  /// Which shards' publishes wait; empty while `blocked` means all shards of some node.
  std::vector<std::uint32_t> shards;
  std::string reason;
  /// Messages wait so long at most, then they are rejected; 0: not known.
  std::chrono::milliseconds timeout{0};
};

/// How a Connection behaves. The defaults suit most programs; only `routers` must be right.
struct ConnectionOptions {
  /// ZeroMQ endpoints, tried in turn, e.g. {"tcp://10.0.0.1:5680", "tcp://10.0.0.2:5680"}.
  std::vector<std::string> routers = {"tcp://127.0.0.1:5680"};
  /// For logs and lists of sessions, e.g. "billing-worker 1.4".
  std::string client_name = "segue-client";
  /// Names the producer, 1-64 bytes; what it publishes is enqueued once across retries. Empty: a
  /// random one. Give one of your own, together with `first_seq`, only if the application numbers
  /// its messages itself and wants retries to be safe across its own restarts.
  std::string producer_id;
  /// The seq of the first message. With an id of your own: the first that was not yet confirmed.
  std::uint64_t first_seq = 1;
  /// Empty: "/".
  std::string vhost;

  /// A session silent for two intervals is given up. The router may set another one.
  std::chrono::milliseconds heartbeat{5'000};
  /// For Connection::open(): the first session must be there by then.
  std::chrono::milliseconds connect_timeout{10'000};
  /// For one attempt at one router; then the next is tried. Where nothing listens, that is known at
  /// once and not waited for.
  std::chrono::milliseconds attempt_timeout{2'000};
  /// Wait between rounds over all routers: doubles from min to max, with random jitter.
  std::chrono::milliseconds reconnect_min{50};
  std::chrono::milliseconds reconnect_max{2'000};
  /// For admin calls, get and subscribe, unless the call says otherwise.
  std::chrono::milliseconds request_timeout{30'000};
  /// What close() and the destructor wait at most for confirms and settlements.
  std::chrono::milliseconds close_timeout{5'000};

  /// Unconfirmed messages at most (the router may allow fewer), and their bytes. A message larger
  /// than the byte limit still goes when it is the only one.
  std::size_t max_in_flight_messages = 1'000;
  std::size_t max_in_flight_bytes = std::size_t{64} << 20;
  WhenFull when_full = WhenFull::kBlock;
  std::chrono::milliseconds full_timeout{30'000};
  /// A publish batch is sent when it has this many messages or bytes, or earlier when the
  /// connection has nothing better to do.
  std::size_t max_batch_messages = 4'096;
  std::size_t max_batch_bytes = std::size_t{512} << 10;
  /// A larger frame from a router ends the session.
  std::size_t max_receive_frame_bytes = std::size_t{256} << 20;

  /// Told of every change of state, with the reason when it is a loss. Runs on the connection's
  /// I/O thread: must not block or call anything that waits.
  std::function<void(ConnectionState, const std::optional<Error>&)> on_state{};
  /// Told of every attempt at a router that failed, with its endpoint; also of those that open()
  /// makes. On the I/O thread, as above.
  std::function<void(const std::string& router, const Error&)> on_attempt_failed{};
  /// Told when a router blocks or unblocks publishing. On the I/O thread, as above.
  std::function<void(const BlockedState&)> on_blocked{};
};

}  // namespace segue::client
