#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "common/ids.h"
#include "common/status.h"
#include "storage/checkpoint_file.h"
#include "storage/log_content.h"
#include "storage/repair_work.h"
#include "storage/segment_salvage.h"

namespace segue::storage {

/// What a queue whose checkpoint tells nothing (any more) goes on with.
struct SalvagedQueue {
  std::vector<CheckpointSegment> segments;
  Sequence last;               // the highest message that was found; 0: none
  std::uint64_t messages = 0;  // that are not settled
  RepairLoss loss;
};

/// Makes of all files in a queue's directory segments that a new checkpoint can name, so that with
/// what the log has of the queue nothing is lost that is there. What is not needed goes into the
/// repair's folder. One use.
class QueueSalvage {
 public:
  /// `in_log`: what the log, replayed over the segments, says of the queue; null: nothing.
  QueueSalvage(RepairWork& work, QueueId id, std::string directory, const LogContent::Queue* in_log)
      : work_(work), id_(id), directory_(std::move(directory)), in_log_(in_log) {}

  Result<SalvagedQueue> run();

 private:
  using Segments = std::vector<SalvagedSegment>;

  Result<Segments> read_segments();
  Status settle_copies(Segments& segments);
  Status replace_sources(const std::vector<const SalvagedSegment*>& sources, SalvagedSegment& copy,
                         Segments& chosen);
  Status keep_remainder(const SalvagedSegment& source, Sequence first, Sequence last,
                        std::uint32_t generation, Segments& remainders);
  Status cut_what_is_logged(Segments& segments);
  Status cut_from(Segments& segments, std::size_t first, Sequence from);
  Status write(const SalvagedSegment& segment);
  Status move_aside(SegmentName name);
  /// What the next start would remove.
  Status move_others_aside();
  std::string data_path(SegmentName name) const;
  std::string index_path(SegmentName name) const;
  std::string queue_name() const;

  RepairWork& work_;
  const QueueId id_;
  const std::string directory_;
  const LogContent::Queue* const in_log_;
  SalvagedQueue found_;
};

/// How many unsettled messages a queue's directory has above `above` that the log neither has nor
/// knows to be settled: what a start that goes by the checkpoint would lose.
Result<std::uint64_t> count_unlogged(FileSystem& files, QueueId id, const std::string& directory,
                                     Sequence above, const LogContent::Queue* in_log);

}  // namespace segue::storage
