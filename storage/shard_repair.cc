#include "storage/shard_repair.h"

#include <algorithm>
#include <memory>
#include <set>
#include <utility>

#include "storage/recovery_copies.h"
#include "storage/segment_index.h"

namespace segue::storage {

namespace {

/// Names in a directory; none if it is missing.
Result<std::vector<std::string>> list(FileSystem& files, const std::string& path) {
  auto names = files.list(path);
  if (!names.is_ok() && names.status().code() == Code::kNotFound) return std::vector<std::string>();
  return names;
}

std::string data_path(const std::string& directory, SegmentName name) {
  return directory + "/" + segment_file_name(name, ".data");
}
std::string index_path(const std::string& directory, SegmentName name) {
  return directory + "/" + segment_file_name(name, ".index");
}

std::string queue_name(const std::string& directory) {
  return queue_name_of_directory(directory.substr(directory.rfind('/') + 1));
}

std::string counted(std::uint64_t count, const std::string& what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

/// Whether these segments have every message of the copy.
bool have_all(const std::vector<const SalvagedSegment*>& sources, const SalvagedSegment& copy) {
  std::set<Sequence> sequences;
  for (const SalvagedSegment* const source : sources) {
    for (std::size_t i = 0; i < source->entries.size(); ++i) sequences.insert(source->sequence(i));
  }
  for (std::size_t i = 0; i < copy.entries.size(); ++i) {
    if (!sequences.contains(copy.sequence(i))) return false;
  }
  return true;
}

}  // namespace

// ---- without a checkpoint

Status ShardRepair::make_checkpoint(LogIndex applied, const std::string& reason,
                                    const MakeState& state) {
  const std::string path = directory_ + "/checkpoint";
  auto names = list(work_.files(), directory_ + "/queues");
  if (!names.is_ok()) return names.status();
  Checkpoint checkpoint{shard_, applied, {}, {}};
  std::vector<RepairedQueue> queues;
  std::uint64_t valid = 0;
  for (const std::string& name : *names) {
    const auto id = queue_of_directory_name(name);
    if (!id) continue;  // the next start removes it; told by the check
    CheckpointQueue queue{*id, name, {}};
    SEGUE_RETURN_IF_ERROR(salvage_queue(*id, directory_ + "/queues/" + name, queue));
    if (queue.segments.empty()) continue;
    for (const CheckpointSegment& segment : queue.segments) valid += segment.valid;
    queues.push_back({*id, queue.segments.back().last});
    checkpoint.queues.push_back(std::move(queue));
  }
  checkpoint.state = state ? state(queues) : std::string();
  work_.done(path, reason + ". It is made anew of what the queues' files hold: " +
                       counted(checkpoint.queues.size(), "queue") + ", " +
                       counted(valid, "message") + "; the log behind record " +
                       std::to_string(applied.value) +
                       " is replayed over that. Lost with it: how often messages were delivered "
                       "(all count as redelivered), and what publishers had sent (a publish that "
                       "is sent again is taken again)");
  if (work_.rehearsal()) return {};
  SEGUE_RETURN_IF_ERROR(work_.move_aside(path));
  SEGUE_RETURN_IF_ERROR(
      write_checkpoint(work_.files(), directory_, checkpoint, work_.context().fatal));
  return work_.failure();
}

Status ShardRepair::salvage_queue(QueueId id, const std::string& directory, CheckpointQueue& to) {
  auto segments = read_segments(id, directory);
  if (!segments.is_ok()) return segments.status();
  SEGUE_RETURN_IF_ERROR(settle_copies(directory, *segments));
  SEGUE_RETURN_IF_ERROR(cut_what_is_logged(id, directory, *segments));
  for (const SalvagedSegment& segment : *segments) {
    SEGUE_RETURN_IF_ERROR(write(id, directory, segment));
    to.segments.push_back(segment.named);
  }
  return {};
}

Result<ShardRepair::Segments> ShardRepair::read_segments(QueueId id, const std::string& directory) {
  auto names = list(work_.files(), directory);
  if (!names.is_ok()) return names.status();
  Segments segments;
  for (const std::string& file : *names) {
    const auto name = segment_of_file_name(file, ".data");
    if (!name) continue;
    auto segment = salvage_segment(work_.files(), id, directory, *name, name->generation > 0);
    if (!segment.is_ok()) return segment.status();
    if (segment->has_value()) {
      segments.push_back(std::move(**segment));
      continue;
    }
    work_.done(directory + "/" + file, "has no message: it is moved to " + work_.folder(),
               queue_name(directory));
    SEGUE_RETURN_IF_ERROR(move_segment_aside(directory, *name));
  }
  std::sort(segments.begin(), segments.end(),
            [](const SalvagedSegment& one, const SalvagedSegment& other) {
              return one.named.name() < other.named.name();
            });
  return segments;
}

/// As choose_segments() does, but without knowing which sources a copy had: it is needed if those
/// that are there lack one of its messages. What any of them says is settled is settled.
Status ShardRepair::settle_copies(const std::string& directory, Segments& segments) {
  Segments chosen;
  Segments copies;
  for (SalvagedSegment& segment : segments) {
    (segment.named.generation == 0 ? chosen : copies).push_back(std::move(segment));
  }
  std::stable_sort(copies.begin(), copies.end(),
                   [](const SalvagedSegment& one, const SalvagedSegment& other) {
                     return one.named.generation < other.named.generation;
                   });
  for (SalvagedSegment& copy : copies) {
    const Sequence first = copy.named.first;
    const Sequence last = std::max(copy.named.last, copy.replaced_last);
    std::vector<const SalvagedSegment*> sources;
    for (const SalvagedSegment& segment : chosen) {
      if (segment.named.first <= last && segment.named.last >= first) sources.push_back(&segment);
    }
    if (have_all(sources, copy)) {
      for (SalvagedSegment& segment : chosen) segment.settle_as(copy);
      SEGUE_RETURN_IF_ERROR(move_segment_aside(directory, copy.named.name()));
      continue;
    }
    for (const SalvagedSegment* const source : sources) {
      copy.settle_as(*source);
      SEGUE_RETURN_IF_ERROR(move_segment_aside(directory, source->named.name()));
    }
    std::erase_if(chosen, [&](const SalvagedSegment& segment) {
      return segment.named.first <= last && segment.named.last >= first;
    });
    chosen.push_back(std::move(copy));
  }
  std::sort(chosen.begin(), chosen.end(),
            [](const SalvagedSegment& one, const SalvagedSegment& other) {
              return one.named.first < other.named.first;
            });
  segments = std::move(chosen);
  return {};
}

/// What the log has is stored again from it: a loss of power may have taken any part of a segment
/// that no checkpoint named yet, whole ones between others included, and their footers prove
/// nothing, since the checkpoint that wrote them may not have come to its end. Replay leaves out
/// what is at or below the last message that a queue has stored, so nothing may stand behind such a
/// gap. Segments that are sealed were synced if the log does not have all of them.
Status ShardRepair::cut_what_is_logged(QueueId id, const std::string& directory,
                                       Segments& segments) {
  std::size_t complete = segments.size();
  while (complete > 0 && !segments[complete - 1].named.sealed) --complete;
  const auto in_log = in_log_.find(id);
  for (std::size_t i = 0; i < segments.size(); ++i) {
    SalvagedSegment& segment = segments[i];
    const bool logged = in_log != in_log_.end() && segment.sequence(0) >= in_log->second;
    if (i < complete && !logged) {
      if (segment.named.sealed) continue;
      auto whole = salvage_segment(work_.files(), id, directory, segment.named.name(), true);
      if (!whole.is_ok()) return whole.status();
      if (whole->has_value()) segment = std::move(**whole);
      continue;
    }
    const std::uint32_t cut = in_log == in_log_.end() ? 0 : segment.cut_from(in_log->second);
    if (cut == 0) continue;
    const std::string path = data_path(directory, segment.named.name());
    const bool all = segment.entries.empty();
    work_.done(path,
               "its " + std::string(all ? "" : "last ") + counted(cut, "message") +
                   (all ? " are moved to " : " are cut off, and copied to ") + work_.folder() +
                   ": the log has them",
               queue_name(directory));
    SEGUE_RETURN_IF_ERROR(all ? move_segment_aside(directory, segment.named.name())
                              : work_.keep_copy(path, segment.named.data_bytes));
  }
  std::erase_if(segments, [](const SalvagedSegment& segment) { return segment.entries.empty(); });
  return {};
}

Status ShardRepair::write(QueueId id, const std::string& directory,
                          const SalvagedSegment& segment) {
  const SegmentName name = segment.named.name();
  if (segment.write_index) {
    std::string what = "does not fit the .data file: it is made anew";
    if (segment.uncertain > 0) {
      what += "; of " + counted(segment.uncertain, "message") +
              " nothing tells whether they were settled: they count as not settled";
    }
    work_.done(index_path(directory, name), std::move(what), queue_name(directory));
    SEGUE_RETURN_IF_ERROR(work_.keep_copy(index_path(directory, name)));
  }
  if (segment.named.sealed && !segment.has_footer) {
    work_.done(data_path(directory, name), "its footer is damaged: it is written anew",
               queue_name(directory));
    SEGUE_RETURN_IF_ERROR(work_.keep_copy(data_path(directory, name),
                                          segment.named.data_bytes - SegmentFooter::kSize));
  }
  if (work_.rehearsal()) return {};
  return write_salvaged(work_.files(), id, directory, segment);
}

Status ShardRepair::move_segment_aside(const std::string& directory, SegmentName name) {
  SEGUE_RETURN_IF_ERROR(work_.move_aside(data_path(directory, name)));
  return work_.move_aside(index_path(directory, name));
}

// ---- with a checkpoint

Status ShardRepair::repair_segments(Checkpoint checkpoint) {
  bool changed = false;
  for (CheckpointQueue& queue : checkpoint.queues) {
    SEGUE_RETURN_IF_ERROR(repair_queue(queue, changed));
  }
  if (!changed || work_.rehearsal()) return {};
  SEGUE_RETURN_IF_ERROR(work_.keep_copy(directory_ + "/checkpoint"));
  SEGUE_RETURN_IF_ERROR(
      write_checkpoint(work_.files(), directory_, checkpoint, work_.context().fatal));
  return work_.failure();
}

Status ShardRepair::repair_queue(CheckpointQueue& queue, bool& changed) {
  const std::string directory = directory_ + "/queues/" + queue.directory;
  SEGUE_RETURN_IF_ERROR(repair_copies(queue, directory, changed));
  for (CheckpointSegment& named : queue.segments) {
    if (!work_.files().exists(data_path(directory, named.name()))) continue;
    SEGUE_RETURN_IF_ERROR(repair_index(queue, directory, named, changed));
  }
  return {};
}

Status ShardRepair::repair_copies(CheckpointQueue& queue, const std::string& directory,
                                  bool& changed) {
  auto names = list(work_.files(), directory);
  if (!names.is_ok()) return names.status();
  for (const std::string& file : *names) {
    const auto found = find_copies(work_.context(), queue.id, directory, {file}, queue.segments);
    if (found.is_ok()) continue;
    if (found.status().code() != Code::kCorruption) return found.status();
    const auto name = *segment_of_file_name(file, ".data");
    const bool missing = std::any_of(
        queue.segments.begin(), queue.segments.end(), [&](const CheckpointSegment& segment) {
          return !work_.files().exists(data_path(directory, segment.name()));
        });
    if (missing) {
      SEGUE_RETURN_IF_ERROR(replace_by_copy(queue, directory, name));
      changed = true;
      continue;
    }
    work_.done(directory + "/" + file,
               "is a damaged copy of segments that are all there: it is moved to " + work_.folder(),
               queue_name(directory));
    SEGUE_RETURN_IF_ERROR(move_segment_aside(directory, name));
  }
  return {};
}

/// The checkpoint names the copy from now on: then its header and footer are not needed to find it.
Status ShardRepair::replace_by_copy(CheckpointQueue& queue, const std::string& directory,
                                    SegmentName name) {
  auto copy = salvage_segment(work_.files(), queue.id, directory, name, true);
  if (!copy.is_ok()) return copy.status();
  const std::string path = data_path(directory, name);
  if (!copy->has_value()) {
    work_.done(path,
               "is a damaged copy of segments that are gone, and no message is left in it: it is "
               "moved to " +
                   work_.folder(),
               queue_name(directory));
    return move_segment_aside(directory, name);
  }
  const Sequence last = std::max((*copy)->named.last, (*copy)->replaced_last);
  work_.done(path,
             "is a damaged copy of segments that are gone: the queue goes on with the " +
                 counted((*copy)->named.messages, "message") + " that are found in it",
             queue_name(directory));
  for (const CheckpointSegment& segment : queue.segments) {
    if (segment.first > last || segment.last < name.first) continue;
    SEGUE_RETURN_IF_ERROR(move_segment_aside(directory, segment.name()));
  }
  std::erase_if(queue.segments, [&](const CheckpointSegment& segment) {
    return segment.first <= last && segment.last >= name.first;
  });
  queue.segments.push_back((*copy)->named);
  std::sort(queue.segments.begin(), queue.segments.end(),
            [](const CheckpointSegment& one, const CheckpointSegment& other) {
              return one.first < other.first;
            });
  return write(queue.id, directory, **copy);
}

Status ShardRepair::repair_index(const CheckpointQueue& queue, const std::string& directory,
                                 CheckpointSegment& named, bool& changed) {
  const std::string path = index_path(directory, named.name());
  const std::uint64_t records_end = named.data_bytes - (named.sealed ? SegmentFooter::kSize : 0);
  std::unique_ptr<File> index;
  if (work_.files().exists(path)) {
    auto opened = work_.files().open(path, OpenMode::kRead);
    if (!opened.is_ok()) return opened.status();
    index = std::move(*opened);
    const Status scanned = scan_index(*index, queue.id, named.first, named.messages, records_end,
                                      [](const IndexEntry&) {});
    if (scanned.code() != Code::kCorruption) return scanned;
  }
  auto data = work_.files().open(data_path(directory, named.name()), OpenMode::kRead);
  if (!data.is_ok()) return data.status();
  auto rebuilt = rebuild_index(**data, index.get(), queue.id, named.first, records_end);
  if (!rebuilt.is_ok()) return rebuilt.status();
  if (rebuilt->decide(named.valid)) return {};  // the next start does it
  SalvagedSegment segment;
  segment.named = named;
  segment.entries = std::move(rebuilt->entries);
  segment.has_footer = true;  // not to be written
  segment.write_index = true;
  segment.uncertain = static_cast<std::uint32_t>(rebuilt->uncertain.size());
  segment.named.messages = static_cast<std::uint32_t>(segment.entries.size());
  const std::uint32_t back = segment.valid() - named.valid;
  work_.done(path,
             "is damaged or missing: it is made anew. Of " + counted(segment.uncertain, "message") +
                 " nothing tells whether they were settled; they count as not settled, so that " +
                 std::to_string(back) + " settled ones come back",
             queue_name(directory));
  SEGUE_RETURN_IF_ERROR(work_.keep_copy(path));
  named.messages = segment.named.messages;
  named.valid = segment.valid();
  changed = true;
  return work_.rehearsal() ? Status() : write_salvaged(work_.files(), queue.id, directory, segment);
}

}  // namespace segue::storage
