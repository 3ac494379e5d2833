#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "common/ids.h"
#include "common/status.h"

namespace segue {

/// The catalog's number of a binding: never used again.
using BindingNumber = StrongId<struct BindingNumberTag, std::uint64_t>;

/// Which queues an exchange's messages go to: its bindings, compiled for its type. One per
/// exchange, owned by a view of the catalog, on that view's thread; it can be built again from the
/// catalog at any time. Routing keys may be any bytes.
///
/// A type that looks at more than the key (headers, consistent hash) takes it as a further argument
/// of bind() and match().
class ExchangeRouter {
 public:
  virtual ~ExchangeRouter() = default;

  /// Adds a binding. Does nothing if the number is bound already. An error, and nothing bound, if
  /// the type cannot make sense of it.
  virtual Status bind(BindingNumber number, QueueId queue, std::string_view routing_key) = 0;
  /// Removes a binding; does nothing if there is none of that number.
  virtual void unbind(BindingNumber number) = 0;
  /// Sets `queues` to those that a message with this key goes to: each once, however many bindings
  /// match, in the order of their ids.
  virtual void match(std::string_view routing_key, std::vector<QueueId>& queues) = 0;
  virtual std::size_t binding_count() const = 0;
};

/// Makes the router of an exchange type: "direct", "fanout" or "topic". PRECONDITION_FAILED for a
/// type that there is not.
Result<std::unique_ptr<ExchangeRouter>> make_exchange_router(std::string_view type);

/// Whether there is such a type; the same error as make_exchange_router() gives.
Status check_exchange_type(std::string_view type);

}  // namespace segue
