#pragma once

#include <functional>
#include <string>

#include "storage/check_report.h"
#include "storage/file_system.h"
#include "storage/log_content.h"
#include "storage/log_record.h"
#include "storage/missing_messages.h"

namespace segue::storage {

struct DataCheckOptions {
  CheckReport::Found found;        // each finding, as soon as it is known
  CheckReport::Progress progress;  // how far it is
  /// Tells what a record of a shard's log says of the messages of missing segments. Without it
  /// nothing counts as settled.
  std::function<void(const ReplayedRecord&, MissingMessages&)> interpret;
  /// Tells what such a record says of all messages. Without it files that no checkpoint names are
  /// taken for what a crash left.
  std::function<void(const ReplayedRecord&, LogContent&)> content;
  bool catalog = true;  // the directory has a catalog.db
};

/// Verifies everything in a node's data directory, or in those of the nodes right below
/// `directory`, as `segue up` makes them: identity, log, checkpoints, the queues' files against
/// each other, the catalog; and names what does not belong there. Only reads. What cannot be read
/// is a finding, too. Memory: bounded, but for the largest message, a shard's checkpoint, and the
/// catalog.
///
/// INVALID_CONFIG when a node runs on it, or there is no node's data; IO_ERROR when the directory
/// cannot be read.
Result<CheckTotals> check_data(FileSystem& files, const std::string& directory,
                               const DataCheckOptions& options);

}  // namespace segue::storage
