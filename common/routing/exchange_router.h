#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "common/ids.h"
#include "common/routing/route_target.h"
#include "common/status.h"
#include "segue/v1/types.pb.h"

namespace segue {

/// The catalog's number of a binding: never used again.
using BindingNumber = StrongId<struct BindingNumberTag, std::uint64_t>;

/// Arguments of an exchange or a binding, and a message's headers.
using FieldValues = google::protobuf::Map<std::string, v1::FieldValue>;

/// Every type of exchange has this argument: the name of the exchange that takes what goes to no
/// queue.
inline constexpr std::string_view kAlternateExchange = "alternate-exchange";

/// A binding, as an exchange sees it. Valid for a call.
struct ExchangeBinding {
  BindingNumber number;
  RouteTarget target;
  std::string_view target_name;  // the same on every router, unlike an exchange's number
  std::string_view routing_key;
  const FieldValues& arguments;
};

/// What an exchange looks at. Valid for a call. Routing keys may be any bytes.
struct RoutedMessage {
  std::string_view routing_key;
  const v1::Properties& properties;
};

/// Where an exchange's messages go: its bindings, compiled for its type. One per exchange, owned by
/// a view of the catalog, on that view's thread; it can be built again from the catalog at any
/// time.
class ExchangeRouter {
 public:
  virtual ~ExchangeRouter() = default;

  /// Adds a binding. Does nothing if the number is bound already. An error, and nothing bound, if
  /// the type cannot make sense of it (see check_exchange_binding()).
  virtual Status bind(const ExchangeBinding& binding) = 0;
  /// Removes a binding; does nothing if there is none of that number.
  virtual void unbind(BindingNumber number) = 0;
  /// Sets `targets` to where the message goes: each once, however many bindings match, in order.
  virtual void match(const RoutedMessage& message, std::vector<RouteTarget>& targets) = 0;
  /// Whether messages with equal routing keys may go to different places.
  virtual bool looks_beyond_key() const { return false; }
  virtual std::size_t binding_count() const = 0;
};

/// Makes the router of an exchange: of type "direct", "fanout", "topic", "headers" or
/// "x-consistent-hash". PRECONDITION_FAILED for a type that there is not. Arguments that make no
/// sense count as not given.
Result<std::unique_ptr<ExchangeRouter>> make_exchange_router(std::string_view type,
                                                             const FieldValues& arguments);

/// Whether there is such a type, and what is given of its arguments makes sense: an error names the
/// argument, what it is and what it may be. Arguments that the type does not have are not looked
/// at. PRECONDITION_FAILED.
Status check_exchange_type(std::string_view type, const FieldValues& arguments);
/// Whether the type can make sense of a binding. PRECONDITION_FAILED.
Status check_exchange_binding(std::string_view type, std::string_view routing_key,
                              const FieldValues& arguments);
/// Whether exchanges of the type have an argument of this name.
bool is_exchange_argument(std::string_view type, std::string_view name);
/// Those that they have, for messages: "a, b".
std::string exchange_arguments(std::string_view type);

}  // namespace segue
