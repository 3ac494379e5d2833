#include "storage/segment_store.h"

#include <algorithm>
#include <limits>

#include "common/check.h"

namespace segue::storage {

struct SegmentStore::StoreCall {
  std::shared_ptr<QueueFiles> files;
  std::uint64_t attempt = 0;
  SegmentPosition before;
  std::vector<SegmentWrite> writes;
  std::function<void(Status)> done;
  // On the background thread:
  std::size_t write = 0;
  WriteProgress progress;
  Status status;
};

struct SegmentStore::LoadCall {
  QueueId queue;
  std::shared_ptr<QueueFiles> files;
  std::string name;
  Sequence from;
  Sequence through;
  std::size_t max_bytes = 0;
  std::function<void(Result<LoadedMessages>)> done;
  SegmentLoad plan;
  std::optional<Result<ReadMessages>> read;
};

namespace {

Status not_found(QueueId id) {
  return Status(Code::kNotFound, "queue " + std::to_string(id.value) + " was deleted");
}

/// Of what was read, what is still there.
void keep_valid(const SegmentTable& table, const SegmentLoad& plan, ReadMessages& read,
                LoadedMessages& to) {
  to.not_set_aside = std::move(read.not_set_aside);
  if (table.all_valid(plan)) {  // as mostly
    to.runs = std::move(read.runs);
    to.corrupt = std::move(read.corrupt);
    return;
  }
  for (const MessageRun& run : read.runs) {
    table.for_valid(run.first, run.count, [&](Sequence first, std::uint32_t count) {
      to.runs.push_back(run.part(static_cast<std::uint32_t>(first.value - run.first.value), count));
    });
  }
  for (const Sequence sequence : read.corrupt) {
    table.for_valid(sequence, 1,
                    [&](Sequence first, std::uint32_t) { to.corrupt.push_back(first); });
  }
}

}  // namespace

SegmentStore::SegmentStore(SegmentContext& context, BackgroundExecutor& executor,
                           std::function<std::string(QueueId)> queue_name)
    : context_(context),
      executor_(executor),
      queue_name_(std::move(queue_name)),
      worker_(context) {}

SegmentStore::~SegmentStore() = default;

std::string SegmentStore::name_of(const QueueFiles& queue) const {
  std::string name = queue_name_ ? queue_name_(queue.id) : std::string();
  return name.empty() ? queue.name_in_directory() : name;
}

SegmentStore::Queue& SegmentStore::queue_for(ShardId shard, QueueId id) {
  std::unique_ptr<Queue>& queue = queues_[id];
  if (queue == nullptr) {
    const std::string name = queue_name_ ? queue_name_(id) : std::string();
    queue = std::make_unique<Queue>();
    queue->files =
        std::make_shared<QueueFiles>(id, shard,
                                     context_.root + "/shards/" + std::to_string(shard.value) +
                                         "/queues/" + queue_directory_name(name, id));
    by_shard_[shard].insert(id);
  }
  SEGUE_CHECK(queue->files->shard == shard);
  return *queue;
}

SegmentStore::Queue* SegmentStore::find(const std::shared_ptr<QueueFiles>& files) {
  const auto found = queues_.find(files->id);
  return found == queues_.end() || found->second->files != files ? nullptr : found->second.get();
}

const SegmentTable* SegmentStore::table(QueueId id) const {
  const auto found = queues_.find(id);
  return found == queues_.end() ? nullptr : &found->second->table;
}

// ---- store

void SegmentStore::store(ShardId shard, QueueId id, std::vector<MessageRun> runs,
                         std::function<void(Status)> done) {
  if (runs.empty()) return executor_.post_done([done = std::move(done)] { done(Status()); });
  Queue& queue = queue_for(shard, id);
  auto call = std::make_shared<StoreCall>();
  call->files = queue.files;
  call->attempt = queue.attempt;
  call->before = queue.table.end();
  SEGUE_CHECK(runs.front().first > call->before.last);
  call->writes = queue.table.append(runs, context_.segment_bytes);
  call->done = std::move(done);
  ++queue.pending_stores;
  executor_.post({[this, call] { return step_store(*call); }, [this, call] { end_store(*call); }});
}

bool SegmentStore::step_store(StoreCall& call) {
  QueueFiles& files = *call.files;
  if (files.failed_attempt == call.attempt) {
    call.status = files.failure;
    return true;
  }
  const SegmentWrite& write = call.writes[call.write];
  call.status = worker_.writer.write_some(files, write, call.progress);
  if (!call.status.is_ok()) {
    files.failed_attempt = call.attempt;
    files.failure = call.status;
    return true;
  }
  if (call.progress.messages == write.messages) {
    SEGUE_CHECK(write.data_offset + call.progress.bytes == write.records_end);
    call.progress = {};
    ++call.write;
  }
  return call.write == call.writes.size();
}

void SegmentStore::end_store(StoreCall& call) {
  if (call.files->dropped) return call.done(not_found(call.files->id));
  if (Queue* const queue = find(call.files)) {
    --queue->pending_stores;
    if (call.status.is_ok()) {
      for (const SegmentWrite& write : call.writes) {
        queue->table.set_written(write.segment, write.first_ordinal + write.messages,
                                 write.records_end);
      }
    } else if (call.attempt == queue->attempt) {
      // This call, and all that were made since, which fail by themselves.
      ++queue->attempt;
      remove_segments(*queue, queue->table.rollback(call.before));
    }
    forget_if_empty(*queue);
  }
  call.done(call.status);
}

// ---- load

void SegmentStore::load(QueueId id, Sequence from, Sequence through, std::size_t max_bytes,
                        std::function<void(Result<LoadedMessages>)> done) {
  auto call = std::make_shared<LoadCall>();
  call->queue = id;
  if (const auto found = queues_.find(id); found != queues_.end())
    call->files = found->second->files;
  call->from = from;
  call->through = through;
  call->max_bytes = max_bytes;
  call->done = std::move(done);
  begin_load(std::move(call));
}

void SegmentStore::begin_load(std::shared_ptr<LoadCall> call) {
  const Queue* const queue = call->files == nullptr ? nullptr : find(call->files);
  std::optional<SegmentLoad> plan;
  if (queue != nullptr) plan = queue->table.plan_load(call->from, call->through, call->max_bytes);
  if (!plan) {
    return executor_.post_done([this, call] { answer(call, {}); });
  }
  call->plan = std::move(*plan);
  if (call->name.empty()) call->name = name_of(*call->files);
  executor_.post_urgent({[this, call] {
                           call->read = worker_.reader.read(*call->files, call->name, call->plan);
                           return true;
                         },
                         [this, call] { end_load(call); }});
}

void SegmentStore::end_load(const std::shared_ptr<LoadCall>& call) {
  const Queue* const queue = find(call->files);
  LoadedMessages loaded;
  if (queue != nullptr && call->read->is_ok()) {
    if ((*call->read)->index_made_anew) index_made_anew(call->files, call->plan.segment);
    keep_valid(queue->table, call->plan, **call->read, loaded);
  } else if (queue != nullptr && queue->table.has(call->plan.segment)) {
    return call->done(call->read->status());
  } else if (queue != nullptr) {
    return begin_load(call);  // the segment has gone since: another stands for it, or none
  }
  call->from = call->plan.last.next();
  if (loaded.runs.empty() && loaded.corrupt.empty() && queue != nullptr &&
      call->from <= call->through) {
    return begin_load(call);  // all of it was settled meanwhile
  }
  answer(call, std::move(loaded));
}

void SegmentStore::answer(const std::shared_ptr<LoadCall>& call, LoadedMessages loaded) {
  if (call->files != nullptr && call->files->dropped) {
    return call->done(not_found(call->queue));
  }
  loaded.scanned_through = call->through;
  // What is valid beyond, or not written yet, was not looked at.
  const SegmentTable* const now = table(call->queue);
  const auto next = now == nullptr ? std::nullopt : now->next_valid(call->from);
  if (next && *next <= call->through) loaded.scanned_through = Sequence{next->value - 1};
  call->done(std::move(loaded));
}

void SegmentStore::index_made_anew(const std::shared_ptr<QueueFiles>& files, SegmentName segment) {
  Queue* const queue = find(files);
  if (queue != nullptr) {
    queue->table.mark_changed(segment, 0, std::numeric_limits<std::uint32_t>::max());
  }
}

// ---- settle and drop

void SegmentStore::settle(QueueId id, Sequence first, Sequence last) {
  const auto found = queues_.find(id);
  if (found == queues_.end()) return;
  Queue& queue = *found->second;
  remove_segments(queue, queue.table.settle(first, last));
  touch(queue);
  forget_if_empty(queue);
}

void SegmentStore::remove_segments(Queue& queue, std::vector<SegmentName> segments) {
  if (segments.empty()) return;
  dropped_bytes_ += queue.table.take_dropped_bytes();
  executor_.post({[this, files = queue.files, gone = std::move(segments)] {
                    worker_.files.remove(*files, gone);
                    return true;
                  },
                  {}});
}

void SegmentStore::forget_if_empty(Queue& queue) {
  if (!queue.table.empty() || queue.pending_stores > 0) return;
  touch(queue);  // it has no garbage any more
  const auto files = queue.files;
  by_shard_[files->shard].erase(files->id);
  queues_.erase(files->id);
  executor_.post({[this, files] {
                    worker_.files.remove_queue(*files);
                    return true;
                  },
                  {}});
}

void SegmentStore::drop_queue(QueueId id) {
  const auto found = queues_.find(id);
  if (found == queues_.end()) return;
  const auto files = found->second->files;
  by_shard_[files->shard].erase(id);
  queues_.erase(found);
  files->dropped = true;
  // Behind every store of the queue; loads that are under way end before it, too.
  executor_.post({[this, files] {
                    worker_.files.remove_queue(*files);
                    return true;
                  },
                  {}});
}

StoredQueue SegmentStore::stored(QueueId id) const {
  StoredQueue counts;
  counts.id = id;
  const SegmentTable* const segments = table(id);
  if (segments == nullptr) return counts;
  counts.messages = segments->messages();
  counts.body_bytes = segments->body_bytes();
  counts.disk_bytes = segments->disk_bytes();
  counts.first_valid = segments->next_valid(Sequence{0}).value_or(Sequence{0});
  counts.last_stored = segments->end().last;
  return counts;
}

// ---- collecting garbage

void SegmentStore::touch(Queue& queue) {
  if (queue.touched) return;
  queue.touched = true;
  touched_.push_back(queue.files->id);
}

std::vector<QueueId> SegmentStore::take_touched() {
  for (const QueueId id : touched_) {
    const auto found = queues_.find(id);
    if (found != queues_.end()) found->second->touched = false;
  }
  return std::exchange(touched_, {});
}

std::optional<SegmentStore::Position> SegmentStore::next_queue(Position after) const {
  for (auto shard = by_shard_.lower_bound(after.shard); shard != by_shard_.end(); ++shard) {
    const auto queue = shard->first == after.shard ? shard->second.upper_bound(after.queue)
                                                   : shard->second.begin();
    if (queue != shard->second.end()) return Position{shard->first, *queue};
  }
  return std::nullopt;
}

CopyPlan SegmentStore::begin_collecting(QueueId id, std::size_t first, std::size_t count) {
  Queue& queue = *queues_.at(id);
  CopyPlan plan{queue.files, queue.table.begin_collecting(first, count), name_of(*queue.files), {}};
  plan.to.first = plan.sources.front().name.first;
  for (const CopySource& source : plan.sources) {
    plan.to.generation = std::max(plan.to.generation, source.name.generation + 1);
  }
  return plan;
}

void SegmentStore::end_collecting(const CopyPlan& plan) {
  Queue* const queue = find(plan.queue);
  if (queue == nullptr) return;
  queue->table.end_collecting(plan.sources);
  touch(*queue);
  drop_consumed(plan.queue);
}

std::optional<std::vector<IndexFlags>> SegmentStore::install(
    const CopyPlan& plan, std::vector<std::unique_ptr<Segment>> copies) {
  Queue* const queue = find(plan.queue);
  if (queue == nullptr) return {};
  touch(*queue);
  return queue->table.install(std::move(copies), plan.sources);
}

std::optional<ScrubSegment> SegmentStore::next_sealed(QueueId id, Sequence after) const {
  const auto found = queues_.find(id);
  if (found == queues_.end()) return {};
  const Queue& queue = *found->second;
  const auto& all = queue.table.segments();
  auto at = std::upper_bound(all.begin(), all.end(), after,
                             [](Sequence s, const auto& segment) { return s < segment->first; });
  for (; at != all.end(); ++at) {
    const Segment& segment = **at;
    if (segment.state != SegmentState::kSealed || segment.validity.valid() == 0) continue;
    return ScrubSegment{queue.files,         name_of(*queue.files),
                        segment.name(),      segment.messages(),
                        segment.written_end, queue.table.all_flags(segment.name()).valid};
  }
  return {};
}

IndexFlags SegmentStore::flags(const std::shared_ptr<QueueFiles>& files, SegmentName segment) {
  Queue* const queue = find(files);
  return queue == nullptr ? IndexFlags() : queue->table.all_flags(segment);
}

void SegmentStore::drop_consumed(const std::shared_ptr<QueueFiles>& files) {
  Queue* const queue = find(files);
  if (queue == nullptr) return;
  remove_segments(*queue, queue->table.drop_consumed());
  forget_if_empty(*queue);
}

// ---- checkpoints

SegmentSnapshot SegmentStore::snapshot(Segment& segment) {
  SegmentSnapshot copy;
  copy.name = segment.name();
  copy.last = segment.last();
  copy.messages = segment.messages();
  copy.valid = segment.validity.valid();
  copy.body_bytes = segment.body_bytes;
  copy.seal = segment.state == SegmentState::kFull;
  copy.sealed = segment.state != SegmentState::kActive;
  copy.data_bytes = segment.data_bytes + (copy.seal ? SegmentFooter::kSize : 0);
  copy.changed = segment.changed;
  copy.flags = segment.dirty_flags();
  segment.changed = false;
  segment.dirty_first = segment.dirty_end = 0;
  return copy;
}

ShardSnapshot SegmentStore::snapshot(ShardId shard) {
  ShardSnapshot copy;
  copy.shard = shard;
  const std::set<QueueId> ids = by_shard_[shard];  // a copy: queues may be forgotten
  for (const QueueId id : ids) {
    Queue& queue = *queues_.at(id);
    remove_segments(queue, queue.table.drop_empty());
    if (queue.table.empty()) {
      forget_if_empty(queue);
      continue;
    }
    QueueSnapshot& to = copy.queues.emplace_back();
    to.files = queue.files;
    to.attempt = queue.attempt;
    to.total = queue.table.total_messages();
    to.valid = queue.table.messages();
    for (const auto& segment : queue.table.segments()) {
      to.segments.push_back(snapshot(*segment));
      to.changed = to.changed || to.segments.back().changed;
    }
  }
  return copy;
}

void SegmentStore::checkpointed(const ShardSnapshot& snapshot) {
  for (const QueueSnapshot& saved : snapshot.queues) {
    Queue* const queue = saved.changed ? find(saved.files) : nullptr;
    if (queue == nullptr) continue;
    for (const SegmentSnapshot& segment : saved.segments) {
      if (segment.seal) queue->table.set_sealed(segment.name);
    }
    touch(*queue);
  }
}

void SegmentStore::put_back(const ShardSnapshot& snapshot) {
  for (const QueueSnapshot& saved : snapshot.queues) {
    Queue* const queue = saved.changed ? find(saved.files) : nullptr;
    if (queue == nullptr) continue;
    for (const SegmentSnapshot& segment : saved.segments) {
      if (segment.changed) {
        queue->table.mark_changed(segment.name, segment.flags.first, segment.flags.end);
      }
    }
  }
}

void SegmentStore::add_recovered(std::shared_ptr<QueueFiles> files, SegmentTable table) {
  if (table.empty()) return;
  const QueueId id = files->id;
  by_shard_[files->shard].insert(id);
  auto queue = std::make_unique<Queue>();
  queue->files = std::move(files);
  queue->table = std::move(table);
  touch(*queue);
  queues_[id] = std::move(queue);
}

std::size_t SegmentStore::memory_bytes() const {
  std::size_t bytes = 0;
  for (const auto& [id, queue] : queues_) bytes += sizeof(Queue) + queue->table.memory_bytes();
  return bytes;
}

}  // namespace segue::storage
