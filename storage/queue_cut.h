#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "common/ids.h"
#include "storage/log_content.h"

namespace segue::storage {

/// A message in a queue's segments, in their order.
struct HeldMessage {
  Sequence sequence;
  bool intact = false;   // passes every check
  bool valid = false;    // not settled
  bool can_cut = false;  // the segments may end before it
};

/// Where segments end, and the log goes on.
struct QueueCut {
  std::size_t kept = 0;        // messages of the segments
  std::uint64_t lost = 0;      // unsettled ones that are then in neither
  std::uint64_t returned = 0;  // settled ones that the log brings back
};

/// Replay leaves out what is at or below the last message that a queue has in segments. So where
/// the segments lack what the log has, they have to end, and where the log lacks what they have, to
/// go on: finds the place at which the least is lost, and the least comes back; of several the
/// first, so that what the log has comes from it.
QueueCut cut_queue(const std::vector<HeldMessage>& held, const LogContent::Queue& in_log);

}  // namespace segue::storage
