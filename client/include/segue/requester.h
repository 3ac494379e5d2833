#pragma once

#include <chrono>
#include <future>
#include <memory>
#include <string_view>

#include "segue/connection.h"
#include "segue/delivery.h"
#include "segue/message.h"
#include "segue/result.h"

namespace segue::client {

/// Sends requests and waits for their replies (RPC), without declaring a queue: replies come
/// through the pseudo queue amq.reply-to. A connection has room for one Requester. Safe from any
/// thread.
///
/// A reply can be lost: with the one who answers, or when the connection is made anew, since
/// replies to requests from before that do not arrive. So a request that ends by TIMEOUT may have
/// been done.
class Requester {
 public:
  /// Begins to consume replies. The connection outlives the use of the Requester. ACCESS_REFUSED:
  /// the connection has one already.
  static Result<Requester> open(Connection& connection);

  Requester(Requester&&) noexcept;
  Requester& operator=(Requester&&) noexcept;
  ~Requester();

  /// Publishes the message and waits for its reply. Its properties reply_to and correlation_id are
  /// set. NO_ROUTE at once when no queue takes the message, what it was rejected with, or TIMEOUT.
  Result<Delivery> request(Message message, std::chrono::milliseconds timeout);
  /// Many at a time; the future has no end of its own. Destroying the Requester ends it: CLOSED.
  std::future<Result<Delivery>> request_async(Message message);

 private:
  class State;
  Requester(Connection& connection, std::shared_ptr<State> state, Consumer consumer);

  Connection* connection_;
  std::shared_ptr<State> state_;
  Consumer consumer_;
};

/// Answers a request: publishes `body` to where its sender waits for it. INVALID_ARGUMENT when the
/// request does not say where that is.
Result<std::uint64_t> reply(Connection& connection, const Delivery& request, std::string_view body);

}  // namespace segue::client
