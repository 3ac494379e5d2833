#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "segue/v1/catalog.pb.h"
#include "storage/gc_options.h"

namespace segue::node {

/// Where a queue's dead letters go.
struct DeadLettering {
  std::string vhost;
  std::string exchange;                    // empty: the default exchange
  std::optional<std::string> routing_key;  // none: the message's own
};

/// What a queue's arguments ask of the node that has it. Read once, when the queue is defined or
/// its definition changes.
struct QueueSettings {
  bool single_active_consumer = false;
  std::uint8_t max_priority = 0;                      // 0: the queue has no priorities
  std::shared_ptr<const DeadLettering> dead_letters;  // null: dead messages are dropped
  /// A message leaves the queue when so many deliveries and one more have ended without an ack.
  std::optional<std::uint32_t> delivery_limit;
  storage::GcOverrides gc;  // in the place of the node's gc.*
};

/// Of a definition that was checked.
QueueSettings settings_of(const v1::QueueDefinition& definition);

}  // namespace segue::node
