#include "storage/queue_check.h"

#include <algorithm>
#include <set>
#include <utility>

#include "storage/recovery_copies.h"
#include "storage/segment_check.h"

namespace segue::storage {

namespace {

/// A file of a segment, finished or not.
bool is_segment_file(const std::string& name) {
  return segment_of_file_name(name, ".data") || segment_of_file_name(name, ".index") ||
         segment_of_file_name(name, ".data.new");
}

class QueueCheck {
 public:
  QueueCheck(SegmentContext& context, CheckReport& report, const std::string& queues_directory,
             const CheckpointQueue& named, DamagedMessages& damaged)
      : context_(context),
        report_(report),
        damaged_(damaged),
        named_(named),
        queue_{named.id, queue_name_of_directory(named.directory),
               queues_directory + "/" + named.directory} {}

  void run(std::vector<MissingSegment>& missing, std::vector<UnnamedFiles>& unnamed) {
    auto names = context_.files.list(queue_.directory);
    if (names.is_ok()) {
      names_ = std::move(*names);
    } else if (names.status().code() != Code::kNotFound) {
      return report_.problem(queue_.directory, names.status());
    }
    const SegmentChoice choice = choose();
    for (const CheckpointSegment& segment : choice.segments) {
      SegmentCheck(context_.files, report_, queue_, segment, damaged_).run();
    }
    for (const CheckpointSegment& segment : choice.missing) {
      missing.push_back({named_.id,
                         queue_.directory + "/" + segment_file_name(segment.name(), ".data"),
                         segment.first, segment.last, segment.valid});
    }
    check_names(choice, unnamed);
  }

 private:
  SegmentChoice choose() {
    auto copies = find_copies(context_, named_.id, queue_.directory, names_, named_.segments);
    if (!copies.is_ok()) report_.problem(queue_.directory, copies.status());
    std::vector<NamedSegment> checkpointed;
    for (const CheckpointSegment& segment : named_.segments) {
      checkpointed.push_back(
          {segment, std::binary_search(names_.begin(), names_.end(),
                                       segment_file_name(segment.name(), ".data"))});
    }
    if (copies.is_ok()) {
      const auto hiding =
          find_hiding_files(context_, named_.id, queue_.directory, checkpointed, *copies);
      if (!hiding.is_ok()) report_.problem(queue_.directory, hiding.status());
      for (const std::string& path : hiding.is_ok() ? *hiding : std::vector<std::string>()) {
        report_.problem(path, hides_a_copy(path));
        std::find_if(checkpointed.begin(), checkpointed.end(), [&](const NamedSegment& one) {
          return path.ends_with(segment_file_name(one.segment.name(), ".data"));
        })->there = false;
      }
    }
    return choose_segments(std::move(checkpointed),
                           copies.is_ok() ? std::move(*copies) : std::vector<FoundCopy>());
  }

  void check_names(const SegmentChoice& choice, std::vector<UnnamedFiles>& unnamed) {
    std::set<std::string> known{"queue_stat"};
    for (const CheckpointSegment& segment : choice.segments) {
      known.insert(segment_file_name(segment.name(), ".data"));
      known.insert(segment_file_name(segment.name(), ".index"));
    }
    std::uint64_t left = 0;
    std::string first;
    for (const std::string& name : names_) {
      if (known.contains(name)) continue;
      if (!is_segment_file(name)) {
        report_.problem(queue_.directory + "/" + name,
                        "is no file of Segue: the next start removes it");
      } else if (++left == 1) {
        first = name;
      }
    }
    if (left == 0) return;
    CheckFinding finding;
    finding.kind = CheckFinding::Kind::kNote;
    finding.file = queue_.directory;
    finding.queue = queue_.name;
    finding.what = std::to_string(left) + (left == 1 ? " file" : " files") +
                   " of segments that the checkpoint does not name (" + first +
                   "): stored since, or left by a removal";
    Sequence above;
    for (const CheckpointSegment& segment : named_.segments) {
      above = std::max(above, segment.last);
    }
    unnamed.push_back({std::move(finding), named_.id, queue_.directory, above});
  }

  SegmentContext& context_;
  CheckReport& report_;
  DamagedMessages& damaged_;
  const CheckpointQueue& named_;
  const SegmentCheck::Queue queue_;
  std::vector<std::string> names_;
};

}  // namespace

void check_queue(SegmentContext& context, CheckReport& report, const std::string& queues_directory,
                 const CheckpointQueue& named, std::vector<MissingSegment>& missing,
                 std::vector<UnnamedFiles>& unnamed, DamagedMessages& damaged) {
  QueueCheck(context, report, queues_directory, named, damaged).run(missing, unnamed);
}

}  // namespace segue::storage
