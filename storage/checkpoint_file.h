#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/ids.h"
#include "common/status.h"
#include "storage/file_system.h"
#include "storage/segment_format.h"

namespace segue::storage {

/// What a checkpoint says of a segment: recovery cuts its files back to this.
struct CheckpointSegment {
  Sequence first;
  std::uint32_t generation = 0;
  Sequence last;
  std::uint64_t data_bytes = 0;
  std::uint32_t messages = 0;  // entries in the index
  std::uint32_t valid = 0;     // for people; the index decides
  bool sealed = false;

  SegmentName name() const { return {first, generation}; }
  bool operator==(const CheckpointSegment&) const = default;
};

struct CheckpointQueue {
  QueueId id;
  std::string directory;  // its name
  std::vector<CheckpointSegment> segments;

  bool operator==(const CheckpointQueue&) const = default;
};

/// A shard's durable state outside the log: the file shards/<shard>/checkpoint.
struct Checkpoint {
  ShardId shard;
  LogIndex applied;
  std::string state;  // the node's, opaque here
  std::vector<CheckpointQueue> queues;

  bool operator==(const Checkpoint&) const = default;

  /// All of the file but `state`, which follows it. Drawn in docs/storage-format.md.
  std::string encode_head() const;
  /// Reads a whole file. CORRUPTION says what is wrong at which offset; INVALID_CONFIG for a newer
  /// version.
  static Result<Checkpoint> decode(std::string_view file);
};

/// Puts the checkpoint in the place of the directory's former one, atomically and durably. A failed
/// sync is told to `fatal`, too. On NO_SPACE and IO_ERROR the former one stays.
Status write_checkpoint(FileSystem& files, const std::string& directory,
                        const Checkpoint& checkpoint,
                        const std::function<void(const Status&)>& fatal);

/// CORRUPTION: the checkpoint at `path` is that of `shard`, which is not where it stands.
Status another_shards(const std::string& path, ShardId shard);

/// Nothing when the directory has no checkpoint. CORRUPTION names the file and the offset.
Result<std::optional<Checkpoint>> read_checkpoint(FileSystem& files, const std::string& directory);

}  // namespace segue::storage
