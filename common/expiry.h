#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>

namespace segue {

/// Stands for "no time to live" and "no expiration"; all times here are milliseconds.
inline constexpr std::int64_t kNoExpiration = -1;
/// The longest time to live: ten years.
inline constexpr std::int64_t kMaxExpirationMs = 3650ll * 24 * 60 * 60 * 1000;
inline constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

/// The value of a Properties.expiration: decimal digits, 0 to kMaxExpirationMs. Nothing for any
/// other text.
std::optional<std::int64_t> parse_expiration(std::string_view text);

/// The expiration in a serialized MessageHeader, found without parsing the rest; kNoExpiration if
/// there is none that counts. Bytes that are no header have none.
std::int64_t find_expiration(std::string_view header);

/// The latest time that a message may be delayed to: the end of the year 9999.
inline constexpr std::int64_t kLatestDeliverAtMs = 253'402'300'799'999;

/// What a serialized MessageHeader says of times, found without parsing the rest. What does not
/// count (out of range, or the bytes are no header) is as if it were not there.
struct MessageTimes {
  std::int64_t expiration = kNoExpiration;
  std::int64_t delay_ms = 0;
  std::int64_t deliver_at_ms = 0;

  /// Before when it is not delivered, if it arrives then.
  std::int64_t due(std::int64_t arrived_ms) const {
    return std::max(arrived_ms + delay_ms, deliver_at_ms);
  }
};
MessageTimes find_times(std::string_view header);

/// By what a queue's messages expire. `arrived` is when a message came to the queue (milliseconds
/// since 1970-01-01 UTC; 0: not known), `own` its expiration.
struct ExpiryRule {
  std::int64_t ttl_ms = kNoExpiration;  // the queue's
  /// Counts as the arrival of messages whose arrival is not known.
  std::int64_t unknown_arrival_ms = 0;

  /// When it expires; kNever.
  std::int64_t due(std::int64_t arrived, std::int64_t own) const {
    std::int64_t left = own;
    if (left < 0 || (ttl_ms >= 0 && ttl_ms < left)) left = ttl_ms;
    if (left < 0) return kNever;
    const std::int64_t from = arrived == 0 ? unknown_arrival_ms : arrived;
    return from > kNever - left ? kNever : from + left;
  }
  bool operator==(const ExpiryRule&) const = default;
};

}  // namespace segue
