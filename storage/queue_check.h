#pragma once

#include <string>
#include <vector>

#include "storage/check_report.h"
#include "storage/checkpoint_file.h"
#include "storage/damaged_messages.h"
#include "storage/missing_messages.h"
#include "storage/segment_context.h"

namespace segue::storage {

/// Files of a queue that the checkpoint does not name: the next start removes them.
struct UnnamedFiles {
  CheckFinding note;  // if nothing is lost by that
  QueueId queue;
  std::string directory;
  Sequence above;  // the highest message that the checkpoint names
};

/// Verifies the directory of a queue that the checkpoint of its shard names: every segment that the
/// queue goes on with, as recovery chooses them. Named segments that are not there are added to
/// `missing`: the log tells which of them are lost; others that are there to `unnamed`: the log
/// tells whether it has all that is in them. Damaged messages are added to `damaged`, unless they
/// are set aside there.
void check_queue(SegmentContext& context, CheckReport& report, const std::string& queues_directory,
                 const CheckpointQueue& named, std::vector<MissingSegment>& missing,
                 std::vector<UnnamedFiles>& unnamed, DamagedMessages& damaged);

}  // namespace segue::storage
