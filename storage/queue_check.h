#pragma once

#include <string>
#include <vector>

#include "storage/check_report.h"
#include "storage/checkpoint_file.h"
#include "storage/missing_messages.h"
#include "storage/segment_context.h"

namespace segue::storage {

/// Verifies the directory of a queue that the checkpoint of its shard names: every segment that the
/// queue goes on with, as recovery chooses them. Named segments that are not there are added to
/// `missing`: the log tells which of them are lost.
void check_queue(SegmentContext& context, CheckReport& report, const std::string& queues_directory,
                 const CheckpointQueue& named, std::vector<MissingSegment>& missing);

}  // namespace segue::storage
