#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "client/consumer_set.h"
#include "client/io_mailbox.h"
#include "client/publish_sender.h"
#include "client/publish_window.h"
#include "client/reconnect_policy.h"
#include "client/request_table.h"
#include "client/router_transport.h"
#include "client/session.h"
#include "common/random.h"
#include "segue/connection.h"

namespace segue::client {

/// Everything behind a Connection: puts the parts together and runs the I/O thread, which alone
/// touches the session, the requests and the consumer set.
class ConnectionCore final : public std::enable_shared_from_this<ConnectionCore>,
                             private SessionEvents {
 public:
  using MakeTransport = std::function<std::unique_ptr<RouterTransport>(Wakeup&)>;

  /// Connects over what `make_transport` makes; as Connection::open().
  static Result<Connection> open(ConnectionOptions options, const MakeTransport& make_transport);

  ~ConnectionCore() override;

  const ConnectionOptions& options() const { return options_; }
  const std::string& producer_id() const { return producer_id_; }
  PublishWindow& window() { return window_; }
  Publisher& publisher() { return publisher_; }
  Admin& admin() { return admin_; }
  bool on_io_thread() const { return mailbox_->on_io_thread(); }

  /// `done` runs on the I/O thread, or at once when the connection is closed.
  void request(v1::Request request, bool repeatable, std::chrono::milliseconds timeout,
               RequestTable::Done done);
  Result<Consumer> subscribe(const std::string& queue, const ConsumerOptions& options,
                             Consumer::Handler handler);
  Result<std::optional<Delivery>> get(const std::string& queue, bool no_ack);
  void unsubscribe(const std::shared_ptr<ConsumerCore>& consumer);
  Status set_prefetch(std::uint64_t consumer, std::uint32_t messages, std::uint64_t bytes);

  Status close(std::chrono::milliseconds timeout);
  ConnectionState state() const;
  std::optional<ServerInfo> server() const;
  BlockedState blocked() const;
  std::uint64_t reconnects() const;

  std::chrono::milliseconds admin_timeout() const { return admin_timeout_.load(); }
  void set_admin_timeout(std::chrono::milliseconds timeout) { admin_timeout_ = timeout; }

 private:
  ConnectionCore(ConnectionOptions options, const MakeTransport& make_transport);

  Status wait_until_connected();
  /// Stops the I/O thread and ends whatever waits for it.
  void stop();

  // ---- I/O thread
  void run();
  void turn(TimePoint now);
  void receive(TimePoint now);
  void try_router(TimePoint now);
  void lose_session(const Error& why, TimePoint now);
  void sleep(TimePoint now);
  void set_state(ConnectionState state, const std::optional<Error>& why);
  void on_ready(const v1::HelloOk& hello) override;
  void on_blocked(const v1::Blocked& blocked) override;
  void on_unblocked(const v1::Unblocked& unblocked) override;
  void tell_blocked();

  const ConnectionOptions options_;
  SystemClock clock_;
  SystemRandom random_;
  const std::string producer_id_;
  const std::shared_ptr<IoMailbox> mailbox_;
  PublishWindow window_;
  PublishSender publishes_;
  RequestTable requests_;
  ConsumerSet consumers_;
  Session session_;
  ReconnectPolicy policy_;
  std::unique_ptr<RouterTransport> transport_;
  Publisher publisher_;
  Admin admin_;
  std::atomic<std::chrono::milliseconds> admin_timeout_;
  std::atomic<std::uint64_t> last_consumer_{0};

  // I/O thread only.
  std::optional<ReconnectPolicy::Attempt> attempt_;  // the one to make, or being made
  TimePoint session_began_{};
  bool stopping_ = false;

  mutable std::mutex mutex_;
  std::condition_variable state_changed_;
  ConnectionState state_ = ConnectionState::kConnecting;
  std::optional<ServerInfo> server_;
  BlockedState blocked_;
  std::uint64_t sessions_ = 0;
  // What each router said last; how many refused us in the round.
  std::map<std::string, Error> troubles_;
  std::size_t refusals_ = 0;

  std::mutex close_mutex_;
  bool closed_ = false;
  std::thread thread_;
};

}  // namespace segue::client
