#pragma once

#include <cstdint>
#include <string>

#include "client/publish_batch.h"

namespace segue::client {

/// The ClientFrame with a Publish of `run`, written by hand: headers go in as they were serialized
/// once, and the sizes straight from the batch.
std::string write_publish(std::uint64_t epoch, std::uint64_t sequence, std::uint64_t settled_below,
                          const PublishBatch& batch, PublishBatch::Run run);

/// What write_publish() needs at most, to stay within the router's frame limit.
std::size_t publish_frame_bound(const PublishBatch& batch, std::uint32_t count);

}  // namespace segue::client
