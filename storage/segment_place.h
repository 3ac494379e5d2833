#pragma once

#include "common/status.h"
#include "storage/checkpoint_file.h"
#include "storage/file_system.h"
#include "storage/segment_files.h"

namespace segue::storage {

/// CORRUPTION if the file of messages is whole, but another segment's: of another queue, or
/// of the same one with messages that do not belong there. Read from it, every message would
/// pass for damaged. OK for a file whose header is damaged or cannot be read: who reads its
/// messages finds out.
Status check_place(const QueueFiles& queue, const CheckpointSegment& named, File& data);

}  // namespace segue::storage
