#include "storage/recovery_segments.h"

#include <algorithm>
#include <charconv>
#include <memory>
#include <optional>
#include <utility>

#include "common/counted.h"
#include "storage/recovery_copies.h"
#include "storage/segment_place.h"

namespace segue::storage {

namespace {

std::optional<ShardId> shard_of_directory_name(std::string_view name) {
  std::uint16_t number = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  if (error != std::errc() || end != name.data() + name.size()) return {};
  return ShardId{number};
}

/// Names in a directory; none if it is missing.
Result<std::vector<std::string>> list(FileSystem& files, const std::string& path) {
  auto names = files.list(path);
  if (!names.is_ok() && names.status().code() == Code::kNotFound) return std::vector<std::string>();
  return names;
}

std::uint64_t records_end(const CheckpointSegment& named) {
  return named.data_bytes - (named.sealed ? SegmentFooter::kSize : 0);
}

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::binary_search(names.begin(), names.end(), name);
}

}  // namespace

Result<std::vector<RecoveredShard>> SegmentRecovery::run() {
  std::vector<RecoveredShard> shards;
  const std::string root = context_.root + "/shards";
  auto names = list(context_.files, root);
  if (!names.is_ok()) return names.status();
  for (const std::string& name : *names) {
    const auto shard = shard_of_directory_name(name);
    if (shard) SEGUE_RETURN_IF_ERROR(recover_shard(*shard, root + "/" + name, shards));
  }
  return shards;
}

Status SegmentRecovery::apply() {
  for (const auto& change : changes_) SEGUE_RETURN_IF_ERROR(change());
  changes_.clear();
  return {};
}

Status SegmentRecovery::recover_shard(ShardId shard, const std::string& directory,
                                      std::vector<RecoveredShard>& shards) {
  auto read = read_checkpoint(context_.files, directory);
  if (!read.is_ok()) return read.status();
  if (context_.files.exists(directory + "/checkpoint.new")) {
    changes_.emplace_back([this, path = directory + "/checkpoint.new"] {
      remove_file(path, "a checkpoint that was not finished");
      return Status();
    });
  }
  const Checkpoint checkpoint = read->value_or(Checkpoint{shard, {}, {}, {}});
  if (checkpoint.shard != shard) {
    return another_shards(directory + "/checkpoint", checkpoint.shard);
  }
  RecoveredShard recovered{shard, checkpoint.applied, checkpoint.state, {}};
  const std::string queues = directory + "/queues";
  auto names = list(context_.files, queues);
  if (!names.is_ok()) return names.status();
  std::set<std::string> named;
  for (const CheckpointQueue& queue : checkpoint.queues) {
    named.insert(queue.directory);
    SEGUE_RETURN_IF_ERROR(recover_queue(queues, queue, recovered));
    if (store_.table(queue.id) != nullptr) recovered.queues.push_back(store_.stored(queue.id));
  }
  for (const std::string& name : *names) {
    if (!named.contains(name)) unnamed_directories_.push_back(queues + "/" + name);
  }
  if (read->has_value()) shards.push_back(std::move(recovered));
  return {};
}

Status SegmentRecovery::recover_queue(const std::string& parent, const CheckpointQueue& named,
                                      RecoveredShard& recovered) {
  auto files =
      std::make_shared<QueueFiles>(named.id, recovered.shard, parent + "/" + named.directory);
  auto names = list(context_.files, files->directory);
  if (!names.is_ok()) return names.status();
  files->made = !names->empty();
  auto copies = find_copies(context_, named.id, files->directory, *names, named.segments);
  if (!copies.is_ok()) return copies.status();
  std::vector<NamedSegment> checkpointed;
  for (const CheckpointSegment& segment : named.segments) {
    const std::string data = segment_file_name(segment.name(), ".data");
    checkpointed.push_back({segment, contains(*names, data)});
    if (checkpointed.back().there) continue;
    // Its messages were all settled after the checkpoint, or a copy has them, or it was lost.
    context_.log.info("segment_was_removed",
                      {{"queue", named.id}, {"path", files->directory + "/" + data}});
  }
  auto hiding = find_hiding_files(context_, named.id, files->directory, checkpointed, *copies);
  if (!hiding.is_ok()) return hiding.status();
  if (!hiding->empty()) return hides_a_copy(hiding->front());
  const SegmentChoice choice = choose_segments(std::move(checkpointed), std::move(*copies));
  for (const CheckpointSegment& segment : choice.missing) {
    recovered.missing.push_back(
        {named.id, files->data_path(segment.name()), segment.first, segment.last, segment.valid});
  }
  finish_copies(files, choice);
  std::set<std::string> known{"queue_stat"};
  SegmentTable table;
  for (const CheckpointSegment& segment : choice.segments) {
    known.insert(segment_file_name(segment.name(), ".data"));
    known.insert(segment_file_name(segment.name(), ".index"));
    const bool newest = segment.name() == named.segments.back().name();
    SEGUE_RETURN_IF_ERROR(recover_segment(files, segment, newest, table));
  }
  for (const std::string& name : *names) {
    if (known.contains(name)) continue;
    auto segment = segment_of_file_name(name, ".data");
    if (!segment) segment = segment_of_file_name(name, ".index");
    unnamed_files_.push_back({named.id, files->directory + "/" + name, segment});
  }
  store_.add_recovered(std::move(files), std::move(table));
  return {};
}

void SegmentRecovery::finish_copies(const Queue& queue, const SegmentChoice& choice) {
  for (const SegmentName segment : choice.replaced) {
    context_.log.info("segment_was_copied",
                      {{"queue", queue->id}, {"path", queue->data_path(segment)}});
  }
  if (!choice.replaced.empty()) {
    changes_.emplace_back([this, queue, replaced = choice.replaced] {
      store_.worker().files.remove(*queue, replaced);
      return Status();
    });
  }
  if (choice.discarded.empty()) return;
  changes_.emplace_back([this, queue, discarded = choice.discarded] {
    for (const SegmentName segment : discarded) {
      remove_file(queue->data_path(segment), "a copy that was not needed any more");
      remove_file(queue->index_path(segment), "a copy that was not needed any more");
    }
    // One that came back when its sources are gone would be taken for the truth.
    return context_.files.sync_directory(queue->directory);
  });
}

Status SegmentRecovery::recover_segment(const Queue& queue, const CheckpointSegment& named,
                                        bool newest, SegmentTable& table) {
  auto segment = std::make_unique<Segment>();
  segment->first = named.first;
  segment->generation = named.generation;
  segment->data_bytes = named.data_bytes;
  segment->changed = false;
  segment->state = named.sealed ? SegmentState::kSealed
                   : newest     ? SegmentState::kActive
                                : SegmentState::kFull;
  const auto data_bytes = cut_data(*queue, named);
  if (!data_bytes.is_ok()) return data_bytes.status();
  SEGUE_RETURN_IF_ERROR(recover_index(queue, named, *segment));
  if (*data_bytes < named.data_bytes) report_short_data(*queue, named, *data_bytes);
  segment->written_end = records_end(named);
  if (segment->messages() > 0) table.add_recovered(std::move(segment));
  return {};
}

Result<std::uint64_t> SegmentRecovery::cut_data(QueueFiles& queue, const CheckpointSegment& named) {
  const std::string path = queue.data_path(named.name());
  auto data = context_.files.open(path, OpenMode::kRead);
  if (!data.is_ok()) return data.status();
  SEGUE_RETURN_IF_ERROR(check_place(queue, named, **data));
  auto size = (*data)->size();
  if (size.is_ok() && *size > named.data_bytes && !named.sealed) cut(path, named.data_bytes);
  return size;
}

void SegmentRecovery::cut(const std::string& path, std::uint64_t size) {
  changes_.emplace_back([this, path, size] {
    auto file = context_.files.open(path, OpenMode::kReadWrite);
    return file.is_ok() ? (*file)->truncate(size) : file.status();
  });
}

void SegmentRecovery::report_short_data(QueueFiles& queue, const CheckpointSegment& named,
                                        std::uint64_t bytes) {
  std::uint64_t lost = 0;
  auto index = context_.files.open(queue.index_path(named.name()), OpenMode::kRead);
  if (index.is_ok()) {
    const auto count = [&](const IndexEntry& entry) {
      const std::uint64_t end =
          std::uint64_t{entry.data_offset} + MessageRecord::kSize + entry.body_bytes;
      lost += entry.valid() && end > bytes;
    };
    (void)scan_index(**index, queue.id, named.first, named.messages, records_end(named), count);
  }
  context_.log.error("segment_too_short", {{"queue", queue.name_in_directory()},
                                           {"queue_id", queue.id},
                                           {"path", queue.data_path(named.name())},
                                           {"bytes", bytes},
                                           {"expected", named.data_bytes},
                                           {"messages_lost", lost}});
}

Status SegmentRecovery::recover_index(const Queue& queue, const CheckpointSegment& named,
                                      Segment& segment) {
  const std::string path = queue->index_path(named.name());
  if (!context_.files.exists(path)) {
    context_.log.warn("index_damaged", {{"queue", queue->name_in_directory()},
                                        {"queue_id", queue->id},
                                        {"reason", path + ": is missing"}});
    return rebuild(queue, named, nullptr, segment);
  }
  auto opened = context_.files.open(path, OpenMode::kRead);
  if (!opened.is_ok()) return opened.status();
  File& index = **opened;
  auto size = index.size();
  if (!size.is_ok()) return size.status();
  // With a damaged header the index is made again, and cut then.
  const auto timed = index_is_timed(index);
  segment.timed = timed.is_ok() && *timed;
  const std::uint64_t expected = IndexEntry::place(named.messages, segment.timed);
  if (timed.is_ok() && *size > expected) cut(path, expected);
  const Status scanned =
      scan_index(index, queue->id, named.first, named.messages, records_end(named),
                 [&](const IndexEntry& entry) {
                   segment.append_recovered(named.first.next(entry.sequence_offset), entry);
                 });
  if (scanned.is_ok() && segment.validity.valid() > named.valid) {
    context_.log.error("settled_messages_come_back",
                       {{"queue", queue->name_in_directory()},
                        {"queue_id", queue->id},
                        {"path", index.path()},
                        {"messages", segment.validity.valid() - named.valid},
                        {"reason",
                         "the index does not have the flags of the last checkpoint: it was "
                         "replaced by an older copy, or was damaged and made anew just before the "
                         "node ended"}});
  }
  if (scanned.code() != Code::kCorruption) return scanned;
  context_.log.warn(
      "index_damaged",
      {{"queue", queue->name_in_directory()}, {"queue_id", queue->id}, {"reason", scanned}});
  segment.forget_messages();
  return rebuild(queue, named, &index, segment);
}

Status SegmentRecovery::rebuild(const Queue& queue, const CheckpointSegment& named, File* index,
                                Segment& segment) {
  auto data = context_.files.open(queue->data_path(named.name()), OpenMode::kRead);
  if (!data.is_ok()) return data.status();
  auto rebuilt = rebuild_index(**data, index, queue->id, named.first, records_end(named));
  if (!rebuilt.is_ok()) return rebuilt.status();
  if (!rebuilt->decide(named.valid) && !settles_in_state_) {
    return Status(
        Code::kCorruption,
        queue->index_path(named.name()) + ": is damaged or missing: of " +
            counted(rebuilt->uncertain.size(), "message") + " of queue '" +
            queue->name_in_directory() +
            "' it does not tell which of them "
            "are among the " +
            std::to_string(rebuilt->valid() - named.valid) +
            " that were settled before the last checkpoint, and nothing else does: these would "
            "come back. Restore the file; or segue check --repair makes it anew, and takes them as "
            "not settled");
  }
  segment.timed = any_timed(rebuilt->entries);
  for (const IndexEntry& entry : rebuilt->entries) {
    segment.append_recovered(named.first.next(entry.sequence_offset), entry);
  }
  changes_.emplace_back([this, queue, named, made = std::move(*rebuilt)] {
    return write_rebuilt(*queue, named, made);
  });
  return {};
}

Status SegmentRecovery::write_rebuilt(QueueFiles& queue, const CheckpointSegment& named,
                                      const RebuiltIndex& rebuilt) {
  auto index = context_.files.open(queue.index_path(named.name()), OpenMode::kReadWrite);
  if (!index.is_ok()) return index.status();
  SEGUE_RETURN_IF_ERROR(write_index(**index, queue.id, named.first, rebuilt.entries));
  const auto found = static_cast<std::uint32_t>(rebuilt.entries.size());
  SEGUE_RETURN_IF_ERROR((*index)->truncate(IndexEntry::place(found, any_timed(rebuilt.entries))));
  if (Status synced = (*index)->sync(); !synced.is_ok()) {
    context_.fatal(synced);
    return synced;
  }
  context_.log.log(found == named.messages ? LogLevel::kWarn : LogLevel::kError, "index_rebuilt",
                   {{"queue", queue.name_in_directory()},
                    {"queue_id", queue.id},
                    {"path", (*index)->path()},
                    {"messages", found},
                    {"expected", named.messages},
                    {"damaged_records", rebuilt.damaged_records}});
  return {};
}

void SegmentRecovery::finish() {
  for (const UnnamedFile& file : unnamed_files_) {
    const SegmentTable* const table = store_.table(file.queue);
    if (file.segment && table != nullptr && table->has(*file.segment)) continue;
    remove_file(file.path, "not named by the checkpoint");
  }
  for (const std::string& path : unnamed_directories_) {
    const auto queue = queue_of_directory_name(path.substr(path.rfind('/') + 1));
    if (!queue || store_.table(*queue) == nullptr) remove_directory(path);
  }
}

void SegmentRecovery::remove_file(const std::string& path, const char* why) {
  const Status status = context_.files.remove(path);
  context_.log.info("file_removed", {{"path", path}, {"why", why}, {"status", status}});
}

void SegmentRecovery::remove_directory(const std::string& path) {
  const auto names = list(context_.files, path);
  if (names.is_ok()) {
    for (const std::string& name : *names) (void)context_.files.remove(path + "/" + name);
  }
  const Status status = context_.files.remove_directory(path);
  context_.log.info("directory_removed",
                    {{"path", path}, {"why", "not named by the checkpoint"}, {"status", status}});
}

}  // namespace segue::storage
