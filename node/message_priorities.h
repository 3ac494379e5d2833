#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "common/message_batch.h"

namespace segue::node {

/// Messages of a batch that have one priority: their places in it, rising; empty: all of it.
struct PriorityPlaces {
  std::uint8_t priority = 0;
  std::vector<std::uint32_t> places;
};

/// Sorts the messages of the batch at `places` (all if empty) by their priority: what the property
/// says, `max_priority` at most. In order of priority. Each distinct header is parsed once; one
/// that cannot be parsed has priority 0.
std::vector<PriorityPlaces> by_priority(const MessageBatch& batch,
                                        std::vector<std::uint32_t> places,
                                        std::uint8_t max_priority);

}  // namespace segue::node
