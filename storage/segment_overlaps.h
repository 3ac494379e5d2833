#pragma once

#include <string>
#include <vector>

#include "common/ids.h"
#include "common/status.h"
#include "storage/repair_work.h"
#include "storage/segment_salvage.h"

namespace segue::storage {

/// Segments of a queue do not overlap; files with wrong names, or copies of files, do. Makes of
/// those that do, among `segments` (ordered by their first messages), others that do not, with
/// every unsettled message once, from where it is whole. What any of them says is settled is
/// settled. The old ones go into the repair's folder. IO_ERROR, NO_SPACE.
Status separate_overlaps(RepairWork& work, QueueId queue, const std::string& directory,
                         std::vector<SalvagedSegment>& segments);

}  // namespace segue::storage
