#pragma once

#include <cstdint>

#include "segue/v1/catalog.pb.h"
#include "storage/gc_options.h"

namespace segue::node {

/// What a queue's arguments ask of the node that has it. Read once, when the queue is defined or
/// its definition changes.
struct QueueSettings {
  bool single_active_consumer = false;
  std::uint8_t max_priority = 0;  // 0: the queue has no priorities
  storage::GcOverrides gc;        // in the place of the node's gc.*
};

/// Of a definition that was checked.
QueueSettings settings_of(const v1::QueueDefinition& definition);

}  // namespace segue::node
