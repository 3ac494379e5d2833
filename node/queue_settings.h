#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>

#include "common/clock.h"
#include "common/expiry.h"
#include "node/dedupe_limits.h"
#include "segue/v1/catalog.pb.h"
#include "storage/gc_options.h"

namespace segue::node {

/// Where a queue's dead letters go.
struct DeadLettering {
  std::string vhost;
  std::string exchange;                    // empty: the default exchange
  std::optional<std::string> routing_key;  // none: the message's own
};

/// How much of what is ready a queue keeps.
struct QueueLimits {
  static constexpr std::uint64_t kNone = std::numeric_limits<std::uint64_t>::max();

  std::uint64_t messages = kNone;
  std::uint64_t body_bytes = kNone;
  bool rejects = false;          // what has no room; else the oldest go
  bool buries_rejected = false;  // what it rejects becomes a dead letter, if the queue has those

  bool any() const { return messages != kNone || body_bytes != kNone; }
  bool counts_bytes() const { return body_bytes != kNone; }
};

/// How long a message that comes back rests before it is delivered again.
struct RetryBackOff {
  std::int64_t least_ms = 0;  // 0: not at all
  std::int64_t most_ms = kMaxExpirationMs;
  std::int64_t factor = 1;

  bool any() const { return least_ms > 0; }
  /// After a delivery before which so many had ended without an ack.
  std::int64_t rest_ms(std::uint32_t earlier) const;
};

/// What a queue's arguments ask of the node that has it. Read once, when the queue is defined or
/// its definition changes.
struct QueueSettings {
  bool single_active_consumer = false;
  bool message_groups = false;
  std::uint8_t max_priority = 0;                      // 0: the queue has no priorities
  Duration expires{};                                 // deleted after so long unused; 0: never
  Duration consumer_timeout{};                        // unsettled for longer, it comes back; 0: off
  std::shared_ptr<const DeadLettering> dead_letters;  // null: dead messages are dropped
  /// A message leaves the queue when so many deliveries and one more have ended without an ack.
  std::optional<std::uint32_t> delivery_limit;
  std::int64_t ttl_ms = kNoExpiration;
  QueueLimits limits;
  DedupeLimits dedupe;
  RetryBackOff retry;
  storage::GcOverrides gc;  // in the place of the node's gc.*
};

/// Of a definition that was checked.
QueueSettings settings_of(const v1::QueueDefinition& definition);

}  // namespace segue::node
