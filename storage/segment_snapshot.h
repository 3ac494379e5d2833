#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "common/ids.h"
#include "storage/segment_files.h"
#include "storage/segment_format.h"
#include "storage/segment_index.h"

namespace segue::storage {

/// A segment as it is to be when a checkpoint is done.
struct SegmentSnapshot {
  SegmentName name;
  Sequence last;
  std::uint64_t data_bytes = 0;  // with the footer, if sealed
  std::uint64_t body_bytes = 0;
  std::uint32_t messages = 0;
  std::uint32_t valid = 0;
  bool sealed = false;
  bool seal = false;     // its footer is to be written
  bool changed = false;  // since the last checkpoint: to be synced
  IndexFlags flags;      // to be written

  std::uint64_t records_end() const { return data_bytes - (sealed ? SegmentFooter::kSize : 0); }
};

struct QueueSnapshot {
  std::shared_ptr<QueueFiles> files;
  std::uint64_t attempt = 0;  // of the stores that the snapshot counts on
  std::uint64_t total = 0;    // messages in the segments
  std::uint64_t valid = 0;
  bool changed = false;
  std::vector<SegmentSnapshot> segments;
};

/// All segments of a shard, as a checkpoint is to make them durable.
struct ShardSnapshot {
  ShardId shard;
  std::vector<QueueSnapshot> queues;
};

}  // namespace segue::storage
