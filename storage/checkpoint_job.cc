#include "storage/checkpoint_job.h"

#include <algorithm>
#include <utility>

#include "storage/queue_stat.h"
#include "storage/segment_index.h"

namespace segue::storage {

namespace {
// From so many changed queues on, one sync of the file system is faster than one of each file.
constexpr std::ptrdiff_t kManyQueues = 64;
}  // namespace

CheckpointJob::CheckpointJob(SegmentContext& context, SegmentWorker& worker, ShardSnapshot snapshot,
                             LogIndex applied, std::string state)
    : context_(context),
      worker_(worker),
      snapshot_(std::move(snapshot)),
      applied_(applied),
      state_(std::move(state)) {
  const auto changed = [](const QueueSnapshot& queue) { return queue.changed; };
  sync_at_once_ =
      std::count_if(snapshot_.queues.begin(), snapshot_.queues.end(), changed) >= kManyQueues;
}

bool CheckpointJob::step() {
  // Queues that did not change are done with in one go.
  while (next_ < snapshot_.queues.size() && !snapshot_.queues[next_].changed) ++next_;
  if (next_ == snapshot_.queues.size()) {
    status_ = write_file();
    return true;
  }
  status_ = save_queue(snapshot_.queues[next_++]);
  return !status_.is_ok();
}

Status CheckpointJob::save_queue(const QueueSnapshot& queue) {
  if (queue.files->failed_attempt == queue.attempt) return queue.files->failure;
  for (const SegmentSnapshot& segment : queue.segments) {
    if (segment.changed) SEGUE_RETURN_IF_ERROR(save_segment(queue, segment));
  }
  const Status stat =
      write_queue_stat(context_.files, queue.files->directory, queue.total, queue.valid);
  if (!stat.is_ok()) context_.log.debug("queue_stat_not_written", {{"reason", stat}});
  return {};
}

Status CheckpointJob::save_segment(const QueueSnapshot& snapshot, const SegmentSnapshot& segment) {
  QueueFiles& queue = *snapshot.files;
  if (segment.flags.first < segment.flags.end) SEGUE_RETURN_IF_ERROR(save_flags(snapshot, segment));
  if (segment.seal) {
    const SegmentFooter footer{queue.id,           segment.messages,   segment.records_end(),
                               segment.body_bytes, segment.name.first, segment.last};
    SEGUE_RETURN_IF_ERROR(worker_.writer.seal(queue, segment.name, footer));
  }
  return sync_at_once_ ? Status() : worker_.files.sync(queue, segment.name);
}

Status CheckpointJob::save_flags(const QueueSnapshot& snapshot, const SegmentSnapshot& segment) {
  QueueFiles& queue = *snapshot.files;
  auto opened = worker_.files.open(queue, segment.name);
  if (!opened.is_ok()) return opened.status();
  OpenSegment& files = **opened;
  files.index_unsynced = true;
  Status status = write_index_flags(*files.index, segment.name.first, segment.flags);
  if (status.code() != Code::kCorruption) return status;
  context_.log.warn(
      "index_damaged",
      {{"queue", queue.name_in_directory()}, {"queue_id", queue.id}, {"reason", status}});
  auto rebuilt = rebuild_index(*files.data, files.index.get(), queue.id, segment.name.first,
                               segment.records_end());
  if (!rebuilt.is_ok()) return rebuilt.status();
  if (rebuilt->entries.size() != segment.messages) return status;
  made_anew_.emplace_back(snapshot.files, segment.name);
  SEGUE_RETURN_IF_ERROR(write_index(*files.index, queue.id, segment.name.first, rebuilt->entries));
  return write_index_flags(*files.index, segment.name.first, segment.flags);
}

Status CheckpointJob::write_file() {
  SEGUE_RETURN_IF_ERROR(sync_at_once_ ? worker_.files.sync_everything()
                                      : worker_.files.sync_names());
  const std::string shards = context_.root + "/shards";
  const std::string directory = shards + "/" + std::to_string(snapshot_.shard.value);
  if (!context_.files.exists(directory)) {
    SEGUE_RETURN_IF_ERROR(context_.files.make_directories(directory));
    for (const std::string& parent : {shards, context_.root}) {
      if (Status status = context_.files.sync_directory(parent); !status.is_ok()) {
        context_.fatal(status);
        return status;
      }
    }
  }
  Checkpoint checkpoint;
  checkpoint.shard = snapshot_.shard;
  checkpoint.applied = applied_;
  checkpoint.state = std::move(state_);
  checkpoint.queues.reserve(snapshot_.queues.size());
  for (const QueueSnapshot& queue : snapshot_.queues) {
    const std::string& path = queue.files->directory;
    CheckpointQueue& to = checkpoint.queues.emplace_back();
    to.id = queue.files->id;
    to.directory = path.substr(path.rfind('/') + 1);
    for (const SegmentSnapshot& segment : queue.segments) {
      to.segments.push_back({segment.name.first, segment.name.generation, segment.last,
                             segment.data_bytes, segment.messages, segment.valid, segment.sealed});
    }
  }
  return write_checkpoint(context_.files, directory, checkpoint, context_.fatal);
}

}  // namespace segue::storage
