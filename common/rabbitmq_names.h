#pragma once

#include <string>
#include <string_view>

namespace segue {

// What people bring along from RabbitMQ: reading its documents and refusing the same in a declare
// tell it alike.

/// Why a queue's argument of RabbitMQ means nothing here, as a predicate ("is about ..."); empty
/// for any other.
std::string_view why_not_needed(std::string_view queue_argument);

/// The type of its exchanges with delays, and what to know of their delays here.
inline constexpr std::string_view kDelayedExchangeType = "x-delayed-message";
inline constexpr std::string_view kDelaysElsewhere =
    "any exchange takes delayed messages; their delay is the property `delay`, and not the header "
    "x-delay";

}  // namespace segue
