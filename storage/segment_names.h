#pragma once

#include <map>

#include "common/ids.h"
#include "common/status.h"
#include "storage/checkpoint_file.h"
#include "storage/repair_work.h"

namespace segue::storage {

/// Gives the files of queues' segments the directories and names that they say themselves, where
/// these are free: such files were exchanged, moved or renamed. What is done is told. A file whose
/// place is taken stays. `known`: checkpoints that can be read; they tell names of copies, and of
/// directories that are gone. May be interrupted and run again. IO_ERROR, NO_SPACE.
Status correct_segment_names(RepairWork& work, const std::map<ShardId, const Checkpoint*>& known);

}  // namespace segue::storage
