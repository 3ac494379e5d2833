#pragma once

#include <compare>
#include <cstdint>

#include "common/ids.h"

namespace segue {

/// An exchange's number in one table of compiled exchanges; used again when the exchange is gone.
using ExchangeNumber = StrongId<struct ExchangeNumberTag, std::uint32_t>;

/// Where a binding leads: to a queue, or on to another exchange. Queues come first in order.
class RouteTarget {
 public:
  // NOLINTNEXTLINE(google-explicit-constructor): a queue is what a target is, mostly
  constexpr RouteTarget(QueueId queue) : value_(queue.value) {}
  // NOLINTNEXTLINE(google-explicit-constructor)
  constexpr RouteTarget(ExchangeNumber exchange) : value_(kExchange | exchange.value) {}

  constexpr bool is_queue() const { return (value_ & kExchange) == 0; }
  constexpr QueueId queue() const { return QueueId(value_); }
  constexpr ExchangeNumber exchange() const {
    return ExchangeNumber(static_cast<std::uint32_t>(value_));
  }
  constexpr auto operator<=>(const RouteTarget&) const = default;

 private:
  static constexpr std::uint64_t kExchange = std::uint64_t{1} << 63;

  std::uint64_t value_;
};

}  // namespace segue
