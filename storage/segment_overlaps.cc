#include "storage/segment_overlaps.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

#include "common/counted.h"
#include "storage/segment_format.h"
#include "storage/segment_remainder.h"

namespace segue::storage {

namespace {

using Segments = std::vector<SalvagedSegment>;

/// Messages, one after the other, that are taken from the same segment.
struct Run {
  std::size_t source;
  Sequence first;
  Sequence last;
  std::size_t messages;
};

class Overlap {
 public:
  Overlap(RepairWork& work, QueueId queue, const std::string& directory, Segments segments)
      : work_(work), queue_(queue), directory_(directory), segments_(std::move(segments)) {}

  Result<Segments> separate() {
    for (SalvagedSegment& segment : segments_) {
      for (const SalvagedSegment& other : segments_) segment.settle_as(other);
      generation_ = std::max(generation_, segment.named.generation);
    }
    auto runs = find_runs();
    if (!runs.is_ok()) return runs.status();
    std::vector<bool> kept(segments_.size(), false);
    Segments made;
    for (std::size_t i = 0; i < runs->size(); ++i) {
      const Run& run = (*runs)[i];
      const SalvagedSegment& source = segments_[run.source];
      const bool alone = run.messages == source.entries.size() &&
                         (i == 0 || (*runs)[i - 1].last < source.named.first) &&
                         (i + 1 == runs->size() || (*runs)[i + 1].first > source.named.last);
      if (alone) {
        kept[run.source] = true;
        made.push_back(source);
        continue;
      }
      auto written = make_remainder(work_.files(), queue_, directory_, source,
                                    {run.first, run.last, free_name(run.first)});
      if (!written.is_ok()) return written.status();
      made.push_back(std::move(*written));
    }
    for (std::size_t i = 0; i < segments_.size(); ++i) {
      if (!kept[i]) SEGUE_RETURN_IF_ERROR(put_away(segments_[i], i, *runs));
    }
    return made;
  }

 private:
  Result<std::vector<Run>> find_runs() {
    struct Holder {
      std::size_t source;
      bool intact;
    };
    std::map<Sequence, Holder> holders;
    for (std::size_t source = 0; source < segments_.size(); ++source) {
      const SalvagedSegment& segment = segments_[source];
      const auto intact = find_intact(work_.files(), queue_, directory_, segment);
      if (!intact.is_ok()) return intact.status();
      for (std::size_t i = 0; i < segment.entries.size(); ++i) {
        if (!segment.entries[i].valid()) continue;
        const Holder holder{source, (*intact)[i]};
        const auto [known, is_new] = holders.emplace(segment.sequence(i), holder);
        if (!is_new && holder.intact && !known->second.intact) known->second = holder;
      }
    }
    std::vector<Run> runs;
    for (const auto& [sequence, holder] : holders) {
      if (runs.empty() || runs.back().source != holder.source) {
        runs.push_back({holder.source, sequence, sequence, 0});
      }
      runs.back().last = sequence;
      ++runs.back().messages;
    }
    return runs;
  }

  SegmentName free_name(Sequence first) {
    SegmentName name{first, generation_ + 1};
    const auto is_taken = [&] {
      return work_.files().exists(directory_ + "/" + segment_file_name(name, ".data"));
    };
    while (is_taken()) ++name.generation;
    return name;
  }

  Status put_away(const SalvagedSegment& segment, std::size_t source,
                  const std::vector<Run>& runs) {
    std::size_t messages = 0;
    for (const Run& run : runs) messages += run.source == source ? run.messages : 0;
    const std::string path = segment.data_path(directory_);
    work_.done(path,
               "has messages of the same numbers as others of the queue's files: " +
                   (messages == 0 ? std::string("these have all of them")
                                  : counted(messages, "message") + " of it, that only it has, or "
                                                                   "first, are written to files "
                                                                   "of their own") +
                   "; it is moved to " + work_.folder(),
               queue_name_of_directory(directory_.substr(directory_.rfind('/') + 1)));
    SEGUE_RETURN_IF_ERROR(work_.move_aside(path));
    return work_.move_aside(directory_ + "/" + segment_file_name(segment.named.name(), ".index"));
  }

  RepairWork& work_;
  const QueueId queue_;
  const std::string& directory_;
  Segments segments_;
  std::uint32_t generation_ = 0;
};

}  // namespace

Status separate_overlaps(RepairWork& work, QueueId queue, const std::string& directory,
                         std::vector<SalvagedSegment>& segments) {
  Segments all;
  for (std::size_t begin = 0; begin < segments.size();) {
    Sequence last = segments[begin].named.last;
    std::size_t end = begin + 1;
    for (; end < segments.size() && segments[end].named.first <= last; ++end) {
      last = std::max(last, segments[end].named.last);
    }
    const auto from = segments.begin() + static_cast<std::ptrdiff_t>(begin);
    const auto to = segments.begin() + static_cast<std::ptrdiff_t>(end);
    begin = end;
    if (to - from == 1) {
      all.push_back(std::move(*from));
      continue;
    }
    auto made = Overlap(work, queue, directory, Segments(from, to)).separate();
    if (!made.is_ok()) return made.status();
    std::move(made->begin(), made->end(), std::back_inserter(all));
  }
  segments = std::move(all);
  return {};
}

}  // namespace segue::storage
