#pragma once

#include <optional>
#include <string>
#include <vector>

#include "common/status.h"
#include "storage/checkpoint_file.h"
#include "storage/segment_context.h"

namespace segue::storage {

/// A segment that the last checkpoint names.
struct NamedSegment {
  CheckpointSegment segment;
  bool there = true;  // its messages are on disk
};

/// A whole copy that the last checkpoint does not name.
struct FoundCopy {
  CheckpointSegment segment;
  Sequence replaced_first;
  Sequence replaced_last;
};

/// Which files a queue goes on with.
struct SegmentChoice {
  std::vector<CheckpointSegment> segments;  // in order
  std::vector<SegmentName> replaced;        // a copy stands for them
  std::vector<SegmentName> discarded;       // copies whose sources are all there
  std::vector<CheckpointSegment> missing;   // named, not there, and no copy stands for them
};

/// Decides between copies and what they were copied from, after a crash at any moment. A copy is
/// whole before it has its name, and its flags are at least those of the last checkpoint before the
/// first of its sources is removed. So: when all sources of a copy are there, they are the truth
/// (the copy may lack flags that a checkpoint has written to them since); when one is missing, the
/// copy is. Copies of copies are decided in the order in which they were made.
SegmentChoice choose_segments(std::vector<NamedSegment> named, std::vector<FoundCopy> copies);

/// The whole copies among `names`, the files of the directory, that are not in `named`. CORRUPTION
/// names the file: one that has a copy's name is whole, or was damaged.
Result<std::vector<FoundCopy>> find_copies(SegmentContext& context, QueueId queue,
                                           const std::string& directory,
                                           const std::vector<std::string>& names,
                                           const std::vector<CheckpointSegment>& named);

/// Named segments of which a copy may have to take the place, but that a file hides: it has their
/// name, and says that it is another segment's. The paths.
Result<std::vector<std::string>> find_hiding_files(SegmentContext& context, QueueId queue,
                                                   const std::string& directory,
                                                   const std::vector<NamedSegment>& named,
                                                   const std::vector<FoundCopy>& copies);

/// A segment, as a file's header names it.
struct HeaderName {
  QueueId queue;
  Sequence first;
};
/// What the file's header says, if it is whole, and not that of a segment of this queue with this
/// name.
Result<std::optional<HeaderName>> names_another_segment(FileSystem& files, const std::string& path,
                                                        QueueId queue, SegmentName name);

/// CORRUPTION for the first of these files.
Status hides_a_copy(const std::string& path);

}  // namespace segue::storage
