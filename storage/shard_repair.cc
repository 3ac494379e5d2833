#include "storage/shard_repair.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <tuple>
#include <utility>

#include "common/counted.h"
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

std::string no_files_text(const CatalogQueues* catalog, ShardId shard) {
  constexpr std::size_t kQueuesTold = 20;
  std::string text;
  if (catalog != nullptr) {
    const std::vector<std::string> names = catalog->durable_of(shard);
    if (names.empty()) return {};
    for (std::size_t i = 0; i < std::min(names.size(), kQueuesTold); ++i) {
      text += (i == 0 ? " (the shard's queues: " : ", ") + names[i];
    }
    if (names.size() > kQueuesTold) text += ", and more";
    text += ")";
  }
  return "There is no file of a queue: the messages that stood in files, and not in the log, are "
         "lost, if there were any; how many nothing tells" +
         text + ". ";
}

}  // namespace

Result<std::vector<std::string>> ShardRepair::queue_directories() {
  auto names = list(work_.files(), directory_ + "/queues");
  if (!names.is_ok()) return names.status();
  std::erase_if(*names, [](const std::string& name) { return !queue_of_directory_name(name); });
  return names;
}

/// The next start would remove them.
Status ShardRepair::move_odd_names_aside() {
  auto names = list(work_.files(), directory_ + "/queues");
  if (!names.is_ok()) return names.status();
  for (const std::string& name : *names) {
    if (queue_of_directory_name(name)) continue;
    const std::string path = directory_ + "/queues/" + name;
    work_.done(path, "is no queue's, and the next start would remove it: it is moved to " +
                         work_.folder());
    SEGUE_RETURN_IF_ERROR(work_.move_aside(path));
  }
  return {};
}

// ---- a new checkpoint

Status ShardRepair::make_checkpoint(LogIndex applied, const Reason& reason,
                                    const MakeState& state) {
  const std::string path = directory_ + "/checkpoint";
  auto names = queue_directories();
  if (!names.is_ok()) return names.status();
  Checkpoint checkpoint{shard_, applied, {}, {}};
  std::vector<RepairedQueue> queues;
  RepairLoss loss;
  std::uint64_t messages = 0;
  for (const std::string& name : *names) {
    const QueueId id = *queue_of_directory_name(name);
    auto queue = QueueSalvage(work_, id, directory_ + "/queues/" + name, log_.find(id)).run();
    if (!queue.is_ok()) return queue.status();
    if (catalog_ == nullptr || !catalog_->is_gone(id)) {
      loss += queue->loss;
      messages += queue->messages;
    }
    if (queue->segments.empty()) continue;
    queues.push_back({id, queue->last});
    checkpoint.queues.push_back({id, name, std::move(queue->segments)});
  }
  loss += losses_of(reason, applied, checkpoint.queues);
  std::string untraced;
  if (checkpoint.queues.empty() && reason.before == nullptr) {
    untraced = no_files_text(catalog_, shard_);
  }
  if (!reason.missing.empty()) {
    const auto [count, text] = find_untraced(queues);
    loss.untraced += count;
    untraced += text;
  }
  checkpoint.state =
      state ? state(reason.before == nullptr ? nullptr : &reason.before->state, queues) : "";
  work_.done(path,
             reason.what + ". It is made anew of what the queues' files hold: " +
                 counted(checkpoint.queues.size(), "queue") + ", " + counted(messages, "message") +
                 "; the log behind record " + std::to_string(applied.value) +
                 " is replayed over that. " + untraced + loss_text(reason, loss),
             {}, loss);
  SEGUE_RETURN_IF_ERROR(move_odd_names_aside());
  SEGUE_RETURN_IF_ERROR(work_.move_aside(path));
  // A shard that never had a checkpoint has none. Its name is synced by the caller.
  SEGUE_RETURN_IF_ERROR(work_.files().make_directories(directory_));
  SEGUE_RETURN_IF_ERROR(
      write_checkpoint(work_.files(), directory_, checkpoint, work_.context().fatal));
  return work_.failure();
}

/// Messages of queues' files above what the checkpoint names: in whole systems the log has them.
Result<std::uint64_t> ShardRepair::count_unlogged(const Checkpoint* checkpoint) {
  auto names = queue_directories();
  if (!names.is_ok()) return names.status();
  std::uint64_t count = 0;
  for (const std::string& name : *names) {
    const QueueId id = *queue_of_directory_name(name);
    const LogContent::Queue* const in_log = log_.find(id);
    if (in_log != nullptr && in_log->deleted) continue;
    if (catalog_ != nullptr && catalog_->is_gone(id)) continue;
    Sequence above{0};
    if (checkpoint != nullptr) {
      const auto named =
          std::find_if(checkpoint->queues.begin(), checkpoint->queues.end(),
                       [&](const CheckpointQueue& queue) { return queue.directory == name; });
      if (named != checkpoint->queues.end()) {
        for (const CheckpointSegment& segment : named->segments) {
          above = std::max(above, segment.last);
        }
      }
    }
    const auto unlogged =
        storage::count_unlogged(work_.files(), id, directory_ + "/queues/" + name, above, in_log);
    if (!unlogged.is_ok()) return unlogged.status();
    count += *unlogged;
  }
  return count;
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
  return write_salvaged(work_.files(), id, directory, segment);
}

Status ShardRepair::move_segment_aside(const std::string& directory, SegmentName name) {
  SEGUE_RETURN_IF_ERROR(work_.move_aside(data_path(directory, name)));
  return work_.move_aside(index_path(directory, name));
}

// ---- with a checkpoint

Status ShardRepair::repair_segments(Checkpoint checkpoint) {
  SEGUE_RETURN_IF_ERROR(move_odd_names_aside());
  bool changed = false;
  for (CheckpointQueue& queue : checkpoint.queues) {
    SEGUE_RETURN_IF_ERROR(repair_queue(queue, changed));
  }
  if (!changed) return {};
  SEGUE_RETURN_IF_ERROR(work_.keep_copy(directory_ + "/checkpoint"));
  SEGUE_RETURN_IF_ERROR(
      write_checkpoint(work_.files(), directory_, checkpoint, work_.context().fatal));
  return work_.failure();
}

Status ShardRepair::repair_queue(CheckpointQueue& queue, bool& changed) {
  const std::string directory = directory_ + "/queues/" + queue.directory;
  SEGUE_RETURN_IF_ERROR(move_strays_aside(queue, directory));
  SEGUE_RETURN_IF_ERROR(repair_copies(queue, directory, changed));
  for (CheckpointSegment& named : queue.segments) {
    if (!work_.files().exists(data_path(directory, named.name()))) continue;
    SEGUE_RETURN_IF_ERROR(repair_index(queue, directory, named, changed));
  }
  return {};
}

/// The node has a file of this segment, or a copy of it, in the place where it belongs.
bool ShardRepair::has_file(QueueId queue, Sequence first) {
  const std::string shards = work_.path_of("shards");
  const auto numbers = list(work_.files(), shards);
  if (!numbers.is_ok()) return false;
  for (const std::string& number : *numbers) {
    const std::string queues = shards + "/" + number + "/queues";
    const auto names = work_.files().list(queues);
    if (!names.is_ok()) continue;
    for (const std::string& name : *names) {
      if (queue_of_directory_name(name) != queue) continue;
      const auto segments = work_.files().list(queues + "/" + name);
      if (!segments.is_ok()) continue;
      for (const std::string& file : *segments) {
        const auto segment = segment_of_file_name(file, ".data");
        if (segment && segment->first == first) return true;
      }
    }
  }
  return false;
}

/// Files under names of the queue's segments that say they are other segments': they could not be
/// moved where they belong, and hide a copy of the segment, if there is one, and that it is gone.
Status ShardRepair::move_strays_aside(const CheckpointQueue& queue, const std::string& directory) {
  for (const CheckpointSegment& named : queue.segments) {
    const std::string path = data_path(directory, named.name());
    if (!work_.files().exists(path)) continue;
    const auto stray = names_another_segment(work_.files(), path, queue.id, named.name());
    if (!stray.is_ok()) return stray.status();
    if (!stray->has_value()) continue;
    RepairLoss loss;
    loss.more = !has_file((*stray)->queue, (*stray)->first);
    work_.done(path,
               std::string("is another segment's, as its header says") +
                   (loss.more ? ", whose place nothing tells: messages in it may be lost. It"
                              : ", which has a file in its own place: it") +
                   " is moved to " + work_.folder(),
               queue_name(directory), loss);
    SEGUE_RETURN_IF_ERROR(move_segment_aside(directory, named.name()));
  }
  return {};
}

Status ShardRepair::repair_copies(CheckpointQueue& queue, const std::string& directory,
                                  bool& changed) {
  auto names = list(work_.files(), directory);
  if (!names.is_ok()) return names.status();
  for (const std::string& file : *names) {
    if (!work_.files().exists(directory + "/" + file)) continue;  // moved by a step before
    const auto found = find_copies(work_.context(), queue.id, directory, {file}, queue.segments);
    if (found.is_ok()) continue;
    if (found.status().code() != Code::kCorruption) return found.status();
    const auto name = *segment_of_file_name(file, ".data");
    const bool missing = lacks_source(queue, directory, name);
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

/// Whether a segment that the copy may stand for is gone.
bool ShardRepair::lacks_source(const CheckpointQueue& queue, const std::string& directory,
                               SegmentName name) {
  auto copy = salvage_segment(work_.files(), queue.id, directory, name, true);
  // Of a copy of which nothing can be read any segment may be a source.
  const bool readable = copy.is_ok() && copy->has_value();
  const Sequence last = readable ? std::max((*copy)->named.last, (*copy)->replaced_last)
                                 : Sequence{std::numeric_limits<std::uint64_t>::max()};
  return std::any_of(queue.segments.begin(), queue.segments.end(),
                     [&](const CheckpointSegment& segment) {
                       return segment.last >= name.first && segment.first <= last &&
                              !work_.files().exists(data_path(directory, segment.name()));
                     });
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
  RepairLoss loss;
  loss.returned = back;
  work_.done(path,
             "is damaged or missing: it is made anew. Of " + counted(segment.uncertain, "message") +
                 " nothing tells whether they were settled; they count as not settled, so that " +
                 std::to_string(back) + " settled ones come back",
             queue_name(directory), loss);
  SEGUE_RETURN_IF_ERROR(work_.keep_copy(path));
  named.messages = segment.named.messages;
  named.valid = segment.valid();
  changed = true;
  return write_salvaged(work_.files(), queue.id, directory, segment);
}

}  // namespace segue::storage
