#pragma once

#include <string>

#include "common/ids.h"
#include "common/status.h"
#include "storage/file_system.h"
#include "storage/segment_salvage.h"

namespace segue::storage {

/// Which messages of a segment, for which others stand in part, are still needed.
struct Remainder {
  Sequence first;  // both included
  Sequence last;
  SegmentName to;  // a new segment: named by the first of these messages
};

/// Makes a complete segment of the unsettled messages of `source` in a range: records as they are,
/// durable under its name; the source stays. The range has such messages.
Result<SalvagedSegment> make_remainder(FileSystem& files, QueueId queue,
                                       const std::string& directory, const SalvagedSegment& source,
                                       const Remainder& wanted);

}  // namespace segue::storage
