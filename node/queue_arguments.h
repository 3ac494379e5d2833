#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "common/expiry.h"
#include "segue/v1/catalog.pb.h"

namespace segue::node {

/// An argument that a queue may be declared with: its name and what its value may be. check_queue()
/// refuses others.
struct QueueArgument {
  enum class Kind : std::uint8_t {
    kNumber,  // a whole number from `least` to `most`
    kBoolean,
    kWord,        // one of `words`
    kName,        // a text of at most 255 bytes of UTF-8
    kDurability,  // "sync", or a whole number from `least` to `most`
  };
  std::string_view name;
  Kind kind = Kind::kNumber;
  std::int64_t least = 0;
  std::int64_t most = 0;
  std::span<const std::string_view> words = {};
  bool changeable = false;  // in place, by a declare with `update`
};

// All of them stand in the table at the end of queue_arguments.cc.

/// A whole number that can be changed in place.
constexpr QueueArgument changeable_number(std::string_view name, std::int64_t least,
                                          std::int64_t most) {
  return {name, QueueArgument::Kind::kNumber, least, most, {}, true};
}

inline constexpr QueueArgument kDurabilityArgument{"x-durability", QueueArgument::Kind::kDurability,
                                                   1, 60'000};
inline constexpr QueueArgument kGcMinBytes =
    changeable_number("x-gc-min-bytes", 4096, std::int64_t{4} << 30);
inline constexpr QueueArgument kGcMinMessages =
    changeable_number("x-gc-min-messages", 1, 100'000'000);
inline constexpr QueueArgument kGcValidPercent = changeable_number("x-gc-valid-percent", 1, 66);
inline constexpr QueueArgument kDeadLetterExchange{
    "x-dead-letter-exchange", QueueArgument::Kind::kName, 0, 0, {}, true};
inline constexpr QueueArgument kDeadLetterRoutingKey{
    "x-dead-letter-routing-key", QueueArgument::Kind::kName, 0, 0, {}, true};
inline constexpr QueueArgument kDeliveryLimit =
    changeable_number("x-delivery-limit", 0, 1'000'000'000);
inline constexpr QueueArgument kMaxLength =
    changeable_number("x-max-length", 0, std::numeric_limits<std::int64_t>::max());
inline constexpr QueueArgument kMaxLengthBytes =
    changeable_number("x-max-length-bytes", 0, std::numeric_limits<std::int64_t>::max());
inline constexpr QueueArgument kMessageTtl =
    changeable_number("x-message-ttl", 0, kMaxExpirationMs);
inline constexpr std::string_view kRejectPublish = "reject-publish";
inline constexpr std::string_view kRejectPublishDlx = "reject-publish-dlx";
inline constexpr std::string_view kOverflows[] = {"drop-head", kRejectPublish, kRejectPublishDlx};
inline constexpr QueueArgument kOverflow{"x-overflow", QueueArgument::Kind::kWord, 0, 0, kOverflows,
                                         true};
inline constexpr QueueArgument kSingleActiveConsumer{"x-single-active-consumer",
                                                     QueueArgument::Kind::kBoolean};
inline constexpr QueueArgument kDeduplicationWindow =
    changeable_number("x-deduplication-window", 1, kMaxExpirationMs);
inline constexpr QueueArgument kDeduplicationMax =
    changeable_number("x-deduplication-max", 1, 1'000'000);
inline constexpr std::int64_t kDefaultDeduplicationMax = 100'000;
inline constexpr QueueArgument kMessageGroups{"x-message-groups", QueueArgument::Kind::kBoolean};
inline constexpr QueueArgument kMaxPriority{"x-max-priority", QueueArgument::Kind::kNumber, 1, 255};
inline constexpr QueueArgument kExpires = changeable_number("x-expires", 1, kMaxExpirationMs);
inline constexpr QueueArgument kRetryDelay =
    changeable_number("x-retry-delay", 1, kMaxExpirationMs);
inline constexpr QueueArgument kRetryDelayMax =
    changeable_number("x-retry-delay-max", 1, kMaxExpirationMs);
inline constexpr QueueArgument kRetryFactor = changeable_number("x-retry-factor", 1, 100);
inline constexpr QueueArgument kConsumerTimeout =
    changeable_number("x-consumer-timeout", 1, kMaxExpirationMs);

/// Null when there is no such argument.
const QueueArgument* find_queue_argument(std::string_view name);
/// The names of all, for a message to people.
std::string queue_argument_names();
/// Those that can be changed in place.
std::string changeable_argument_names();

// What a definition that was checked has for an argument.

/// Null: not given.
const v1::FieldValue* value_of(const v1::QueueDefinition& definition,
                               const QueueArgument& argument);
std::optional<std::int64_t> number_of(const v1::QueueDefinition& definition,
                                      const QueueArgument& argument);
/// False unless it is given and true.
bool is_set(const v1::QueueDefinition& definition, const QueueArgument& argument);
/// Empty: not given.
std::string text_of(const v1::QueueDefinition& definition, const QueueArgument& argument);

}  // namespace segue::node
