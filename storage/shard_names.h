#pragma once

#include <cstdint>

#include "common/status.h"
#include "storage/repair_work.h"

namespace segue::storage {

/// Gives the shards' folders the names that their checkpoints say: such folders were exchanged or
/// renamed. One whose place is taken by the right one is moved into the repair's folder. What is
/// done is told. A checkpoint that stands alone in the wrong place, without the queues that it
/// names, says nothing of its folder. May be interrupted and run again. IO_ERROR, NO_SPACE.
Status correct_shard_names(RepairWork& work, std::uint32_t shard_count);

}  // namespace segue::storage
