#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "segue/v1/types.pb.h"

namespace segue::node {

/// Where, why and when a message died.
struct Death {
  std::string_view queue;
  v1::DeadReason reason = v1::DEAD_REASON_REJECTED;
  std::int64_t time_ms = 0;
};

/// Writes the death into a message's header: into x-death and x-last-death-*, at the first one into
/// x-first-death-*; the property expiration goes. What a client has set in their place and makes no
/// sense there counts as not set. Exchange and routing key are left as they are.
void add_death(const Death& death, v1::MessageHeader& header);

/// Whether a message that goes to `queue` now would go round: it died there before, and since then
/// nobody has rejected it. The last death is in the header already.
bool goes_round(const v1::MessageHeader& header, std::string_view queue);

}  // namespace segue::node
