#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "segue/delivery.h"
#include "segue/result.h"

namespace segue::client {

class ConnectionCore;
class ConsumerCore;

struct ConsumerOptions {
  /// Unsettled deliveries at most; 0: unlimited.
  std::uint32_t prefetch = 500;
  /// Unsettled body bytes at most (one larger message still comes); 0: unlimited.
  std::uint64_t prefetch_bytes = 0;
  /// The broker counts a message as settled when it sends it: faster, and lost if we die.
  bool no_ack = false;
  /// Higher ones are served first, as long as they have credit.
  std::int32_t priority = 0;
  /// The queue's only consumer: subscribing fails with ACCESS_REFUSED while there is another, and
  /// for others while there is this one.
  bool exclusive = false;
  /// "x-consumer-timeout": milliseconds after which a delivery that is not settled goes back to the
  /// queue (as requeue()), in the place of the queue's own. "x-priority": as `priority`.
  Table arguments{};
  /// With a handler: ack each delivery by itself when the handler returns.
  bool auto_ack = false;
  /// Told once when the broker ends the consumer (queue deleted, access revoked), on the handler's
  /// thread, or on the I/O thread for a pulling consumer.
  std::function<void(const Error&)> on_cancelled{};
};

/// A subscription to a queue; ends when it is destroyed. It is renewed by itself after a reconnect.
/// Safe from any thread; the destructor must not run inside its own handler.
class Consumer {
 public:
  using Handler = std::function<void(const Delivery&)>;

  Consumer(Consumer&&) noexcept;
  Consumer& operator=(Consumer&&) noexcept;
  /// As close().
  ~Consumer();

  /// Pull style: the next delivery, waiting at most `timeout`. TIMEOUT when none came, CLOSED after
  /// close(), the broker's Error after it ended the consumer. Not with a handler (NOT_ALLOWED).
  Result<Delivery> next(std::chrono::milliseconds timeout);
  /// As next(), but all that is there, up to `max`, of what arrived in one frame; at least one.
  /// Allocates nothing for each message.
  Result<Deliveries> next_batch(std::size_t max, std::chrono::milliseconds timeout);

  /// Changes the prefetch from now on. Waits for the answer.
  Status set_prefetch(std::uint32_t messages, std::uint64_t bytes = 0);

  /// No more deliveries: cancels, waits for a running handler to return, and gives back what had
  /// arrived and was not handed out (as release() does). What was handed out can still be settled.
  /// A second call does nothing. Waits for the broker at most the connection's request timeout.
  void close();

  const std::string& queue() const;
  /// Why the broker ended it, if it did.
  std::optional<Error> cancelled() const;
  /// Deliveries that arrived and were not handed out yet.
  std::size_t buffered() const;

 private:
  friend class ConnectionCore;
  Consumer(std::weak_ptr<ConnectionCore> connection, std::shared_ptr<ConsumerCore> core)
      : connection_(std::move(connection)), core_(std::move(core)) {}

  std::weak_ptr<ConnectionCore> connection_;
  std::shared_ptr<ConsumerCore> core_;
};

}  // namespace segue::client
