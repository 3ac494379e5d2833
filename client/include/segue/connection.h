#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "segue/admin.h"
#include "segue/consumer.h"
#include "segue/options.h"
#include "segue/publisher.h"
#include "segue/result.h"

namespace segue::client {

class ConnectionCore;

/// What the router said about itself when the session began.
struct ServerInfo {
  std::uint64_t session_id = 0;
  std::string cluster;
  std::string router_id;
  std::string server_version;
  /// The endpoint that the session goes to.
  std::string endpoint;
  std::uint64_t max_message_bytes = 0;
};

/// A connection to a Segue cluster through any of its routers. It has an I/O thread of its own and
/// reconnects by itself: unconfirmed messages are sent again, consumers subscribe again, and the
/// program notices nothing but the delay.
///
/// Safe from any thread, apart from moving and destroying it. It must outlive its Consumers' use;
/// Consumers and Deliveries that outlive it fail with CLOSED or do nothing.
class Connection {
 public:
  /// Connects; waits at most options.connect_timeout for a session. INVALID_ARGUMENT for options
  /// that make no sense, DISCONNECTED with what each router said when none would have us.
  static Result<Connection> open(ConnectionOptions options);

  Connection(Connection&&) noexcept;
  Connection& operator=(Connection&&) noexcept;
  /// As close(), with options.close_timeout.
  ~Connection();

  /// The connection's one publisher; lives as long as the connection.
  Publisher& publisher();
  /// Declarations and looks; lives as long as the connection.
  Admin& admin();

  /// Subscribes, pull style: take deliveries with next() or next_batch(). Waits for the broker's
  /// answer: NOT_FOUND, ACCESS_REFUSED (exclusive), ...
  Result<Consumer> subscribe(const std::string& queue, const ConsumerOptions& options = {});
  /// Subscribes, push style: `handler` runs for one delivery after the other on a thread that
  /// belongs to this consumer; it may block, publish, settle, and call the admin.
  Result<Consumer> subscribe(const std::string& queue, const ConsumerOptions& options,
                             Consumer::Handler handler);

  /// Polls one message without subscribing; nothing when the queue has none ready.
  Result<std::optional<Delivery>> get(const std::string& queue, bool no_ack = false);

  /// Waits for open confirms and sends open settlements, at most `timeout`, then ends the session
  /// and stops the thread. TIMEOUT with the number of messages left unconfirmed. Unsettled
  /// deliveries go back to their queues. A second call does nothing.
  Status close(std::chrono::milliseconds timeout);
  Status close();

  ConnectionState state() const;
  /// Who is at the other end; nothing while connecting.
  std::optional<ServerInfo> server() const;
  /// Whether publishing is held back, and why.
  BlockedState blocked() const;
  /// Sessions begun after the first one.
  std::uint64_t reconnects() const;

 private:
  friend class ConnectionCore;
  explicit Connection(std::shared_ptr<ConnectionCore> core) : core_(std::move(core)) {}

  std::shared_ptr<ConnectionCore> core_;
};

}  // namespace segue::client
