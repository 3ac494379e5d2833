#include "storage/segment_collector.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "storage/segment_index.h"

namespace segue::storage {

namespace {

constexpr Duration kBetweenLooks = std::chrono::milliseconds(20);
constexpr Duration kTryAgain = std::chrono::seconds(1);
/// Less is not worth a job, more would take long to break off.
constexpr double kLeastSlice = 1u << 20;
constexpr double kMostSlice = 16u << 20;
/// With so much garbage in a queue the copying goes twice as fast.
constexpr std::uint64_t kMuchGarbage = 256ull << 20;
constexpr int kLooksAtOnce = 16;
constexpr int kSweptAtOnce = 64;
constexpr Duration kMeasured = std::chrono::seconds(1);
/// A person who asks for it wants the space; yet a copy shall give back a tenth of what it reads.
constexpr std::uint32_t kForcedValidPercent = 90;

}  // namespace

/// A copy under way. The copier is the background thread's while a slice runs, else the reactor's.
struct SegmentCollector::Copy {
  Copy(SegmentContext& context, SegmentWorker& worker, CopyPlan plan)
      : copier(context, worker.files, worker.reader, std::move(plan)) {}

  SegmentCopier copier;
  std::uint64_t source_bytes = 0;  // of their files
  std::uint64_t slice_end = 0;     // bytes of the copy
  bool finished = false;
};

/// The sources of copies that are in their place.
struct SegmentCollector::Removal {
  std::shared_ptr<QueueFiles> queue;
  std::vector<SegmentName> copies;
  std::vector<IndexFlags> flags;  // of each copy, to be written before the sources may go
  std::vector<SegmentName> sources;
  Status status;
};

SegmentCollector::SegmentCollector(SegmentContext& context, BackgroundExecutor& executor,
                                   SegmentStore& store, GcOptions options, const Clock& clock)
    : context_(context), executor_(executor), store_(store), options_(options), clock_(clock) {}

SegmentCollector::~SegmentCollector() = default;

std::uint64_t SegmentCollector::rate() const {
  const double times = 1 + static_cast<double>(garbage_) / static_cast<double>(kMuchGarbage);
  return static_cast<std::uint64_t>(static_cast<double>(options_.bytes_per_second) * times);
}

void SegmentCollector::poll(TimePoint now) {
  if (now > allowed_at_) {
    const double seconds = std::chrono::duration<double>(now - allowed_at_).count();
    // What was not used is lost, but for a second's worth.
    const double most = std::clamp(static_cast<double>(rate()), kLeastSlice, kMostSlice);
    allowance_ = std::min(most, allowance_ + seconds * static_cast<double>(rate()));
    allowed_at_ = now;
  }
  now_ = now;
  measure(now);
  for (const QueueId queue : store_.take_touched()) enqueue(queue);
  if (!removals_.empty() && now >= next_removal_) {
    for (auto& removal : std::exchange(removals_, {})) remove_sources(std::move(removal));
  }
  if (copy_ == nullptr) {
    if (stopped_ || stats_.paused || now < next_look_) return;
    if (sweep_) sweep();
    if (!queues_.empty()) look(now);
  } else if (!slice_running_ && !stopped_ && allowance_ >= kLeastSlice) {
    begin_slice();
  }
}

void SegmentCollector::enqueue(QueueId queue) {
  if (in_queues_.insert(queue).second) queues_.push_back(queue);
}

void SegmentCollector::measure(TimePoint now) {
  if (now < measured_at_ + kMeasured) return;
  const double seconds = std::chrono::duration<double>(now - measured_at_).count();
  stats_.bytes_per_second =
      static_cast<std::uint64_t>(static_cast<double>(slice_bytes_ - measured_bytes_) / seconds);
  measured_at_ = now;
  measured_bytes_ = slice_bytes_;
}

GcStats SegmentCollector::stats() const {
  GcStats stats = stats_;
  stats.dropped_bytes = store_.dropped_bytes();
  stats.running = sweep_.has_value() || !forced_.empty();
  stats.paused_queues = paused_.size();
  stats.waiting_queues = queues_.size() + (copy_ != nullptr ? 1 : 0);
  return stats;
}

Status SegmentCollector::command(GcCommand command, std::optional<QueueId> queue) {
  switch (command) {
    case GcCommand::kRun:
      if (stats_.paused || (queue && paused_.contains(*queue))) {
        return Status(Code::kPreconditionFailed, "collecting is paused; resume it first");
      }
      if (!queue) {
        sweep_ = SegmentStore::Position{};
      } else if (store_.table(*queue) != nullptr) {
        forced_.insert(*queue);
        enqueue(*queue);
      }
      break;
    case GcCommand::kPause:
      if (queue) {
        paused_.insert(*queue);
        forced_.erase(*queue);
      } else {
        stats_.paused = true;
        sweep_.reset();
      }
      break;
    case GcCommand::kResume:
      if (queue) {
        paused_.erase(*queue);
        enqueue(*queue);
      } else {
        stats_.paused = false;
        for (const QueueId paused : std::exchange(paused_, {})) enqueue(paused);
      }
      break;
  }
  return Status::ok();
}

void SegmentCollector::set_overrides(QueueId queue, const GcOverrides& overrides) {
  if (overrides.empty()) {
    overrides_.erase(queue);
  } else {
    overrides_[queue] = overrides;
  }
  if (store_.table(queue) != nullptr) enqueue(queue);
}

void SegmentCollector::forget(QueueId queue) {
  overrides_.erase(queue);
  paused_.erase(queue);
  forced_.erase(queue);
  set_debt(queue, 0);
}

void SegmentCollector::set_debt(QueueId queue, std::uint64_t bytes) {
  const auto found = debts_.find(queue);
  if (found != debts_.end()) {
    stats_.debt_bytes -= found->second;
    debts_.erase(found);
  }
  if (bytes == 0) return;
  debts_[queue] = bytes;
  stats_.debt_bytes += bytes;
}

void SegmentCollector::sweep() {
  for (int i = 0; i < kSweptAtOnce; ++i) {
    sweep_ = store_.next_queue(*sweep_);
    if (!sweep_) return;
    if (paused_.contains(sweep_->queue)) continue;
    forced_.insert(sweep_->queue);
    enqueue(sweep_->queue);
  }
}

bool SegmentCollector::idle() const {
  return copy_ == nullptr && queues_.empty() && !sweep_ && removals_.empty() && removing_ == 0;
}

std::vector<ShardId> SegmentCollector::take_wanted_checkpoints() {
  std::vector<ShardId> shards(wanted_checkpoints_.begin(), wanted_checkpoints_.end());
  wanted_checkpoints_.clear();
  return shards;
}

void SegmentCollector::look(TimePoint now) {
  next_look_ = now + kBetweenLooks;
  for (int i = 0; i < kLooksAtOnce && !queues_.empty(); ++i) {
    const QueueId queue = queues_.front();
    queues_.pop_front();
    in_queues_.erase(queue);
    if (!begin_step(queue)) continue;
    // There may be more to do with it.
    if (in_queues_.insert(queue).second) queues_.push_back(queue);
    if (copy_ != nullptr) return;
  }
}

bool SegmentCollector::begin_step(QueueId queue) {
  const SegmentTable* const table = store_.table(queue);
  if (table == nullptr) {  // nothing stored any more
    forced_.erase(queue);
    set_debt(queue, 0);
    return false;
  }
  std::vector<SegmentFigures> figures;
  figures.reserve(table->segments().size());
  garbage_ = 0;
  for (const auto& segment : table->segments()) {
    figures.push_back(figures_of(*segment));
    garbage_ += figures.back().garbage();
  }
  // Before that, what consumers are just working through would be copied for nothing.
  const GcThresholds own = thresholds_of(queue);
  const bool beyond = beyond_bound(figures, own);
  set_debt(queue, beyond ? garbage_ : 0);
  const bool asked_for = forced_.contains(queue);
  const bool wanted = beyond || asked_for || has_oversized(figures, own);
  if (!wanted || paused_.contains(queue)) return false;
  const GcThresholds thresholds = asked_for ? forced(own) : own;
  const bool waits = waits_for_checkpoint(figures, thresholds);
  if (waits) wanted_checkpoints_.insert(store_.shard_of(queue));
  const std::uint64_t earned = 2 * stats_.reclaimed_bytes;
  const auto step = next_gc_step(figures, thresholds,
                                 earned > stats_.copied_bytes ? earned - stats_.copied_bytes : 0);
  if (!step) {
    if (!waits) forced_.erase(queue);
    return false;
  }
  if (step->kind == GcStep::Kind::kSeal) {
    store_.end_active(queue);
    wanted_checkpoints_.insert(store_.shard_of(queue));
    return true;
  }
  CopyPlan plan = store_.begin_collecting(queue, step->first, step->count);
  if (step->kind == GcStep::Kind::kCut) plan.piece_bytes = own.segment_bytes;
  copy_ = std::make_shared<Copy>(context_, store_.worker(), std::move(plan));
  for (std::size_t i = step->first; i < step->first + step->count; ++i) {
    copy_->source_bytes += figures[i].bytes;
  }
  if (allowance_ >= kLeastSlice) begin_slice();
  return true;
}

GcThresholds SegmentCollector::thresholds_of(QueueId queue) const {
  GcThresholds thresholds = options_.thresholds;
  const auto own = overrides_.find(queue);
  if (own == overrides_.end()) return thresholds;
  const GcOverrides& overrides = own->second;
  thresholds.slack_bytes = overrides.min_bytes.value_or(thresholds.slack_bytes);
  thresholds.min_bytes = overrides.min_bytes.value_or(thresholds.min_bytes);
  thresholds.slack_bytes /= std::max(1u, overrides.shared_by);
  thresholds.min_bytes /= std::max(1u, overrides.shared_by);
  thresholds.min_messages = overrides.min_messages.value_or(thresholds.min_messages);
  thresholds.valid_percent = overrides.valid_percent.value_or(thresholds.valid_percent);
  return thresholds;
}

GcThresholds SegmentCollector::forced(GcThresholds thresholds) {
  thresholds.min_bytes = 0;
  thresholds.min_messages = 0;
  thresholds.valid_percent = kForcedValidPercent;
  thresholds.slack_bytes = 0;
  return thresholds;
}

void SegmentCollector::begin_slice() {
  slice_running_ = true;
  copy_->slice_end = copy_->copier.progress_bytes() + static_cast<std::uint64_t>(allowance_);
  executor_.post_idle({[copy = copy_] {
                         copy->finished = copy->copier.step();
                         return copy->finished || copy->copier.progress_bytes() >= copy->slice_end;
                       },
                       [this, before = copy_->copier.progress_bytes()] {
                         slice_running_ = false;
                         const std::uint64_t copied = copy_->copier.progress_bytes() - before;
                         allowance_ -= static_cast<double>(copied);
                         slice_bytes_ += copied;
                         if (copy_->finished) end_copy();
                       }});
}

void SegmentCollector::end_copy() {
  const std::shared_ptr<Copy> copy = std::exchange(copy_, nullptr);
  SegmentCopier& copier = copy->copier;
  const CopyPlan& plan = copier.plan();
  if (!copier.status().is_ok()) {
    ++stats_.failed_copies;
    store_.end_collecting(plan);
    for (const SegmentName segment : copier.indexes_made_anew()) {
      store_.index_made_anew(plan.queue, segment);
    }
    next_look_ = now_ + kTryAgain;
    // A queue that was deleted meanwhile takes its files with it.
    if (copier.status().code() != Code::kNotFound) {
      context_.log.warn("segments_not_collected",
                        {{"queue", plan.queue->id}, {"reason", copier.status()}});
    }
    return;
  }
  next_look_ = now_;
  std::vector<std::unique_ptr<Segment>> segments = copier.take_segments();
  auto removal = std::make_shared<Removal>();
  std::uint64_t left = 0;
  for (const auto& segment : segments) {
    left += segment->disk_bytes();
    removal->copies.push_back(segment->name());
  }
  const TimePoint began = clock_.now();
  auto flags = store_.install(plan, std::move(segments));
  stats_.last_pause = clock_.now() - began;
  stats_.longest_pause = std::max(stats_.longest_pause, stats_.last_pause);
  if (!flags) return;  // the queue has gone
  ++stats_.copies;
  stats_.copied_bytes += left;
  stats_.reclaimed_bytes += copy->source_bytes > left ? copy->source_bytes - left : 0;
  removal->queue = plan.queue;
  removal->flags = std::move(*flags);
  for (const CopySource& source : plan.sources) removal->sources.push_back(source.name);
  remove_sources(std::move(removal));
  store_.drop_consumed(plan.queue);
}

// What was settled while the copies were made may be in the sources' indexes, as the last
// checkpoint wants it, and in no log any more: it has to be in the copies' indexes, durably, before
// a source goes.
void SegmentCollector::remove_sources(std::shared_ptr<Removal> removal) {
  ++removing_;
  executor_.post({[this, removal] {
                    SegmentFiles& files = store_.worker().files;
                    removal->status = write_flags(files, *removal);
                    if (removal->status.is_ok()) files.remove(*removal->queue, removal->sources);
                    return true;
                  },
                  [this, removal] {
                    --removing_;
                    if (removal->status.is_ok() || removal->status.code() == Code::kNotFound)
                      return;
                    context_.log.warn("segments_not_removed",
                                      {{"queue", removal->queue->id}, {"reason", removal->status}});
                    removal->status = Status();
                    // As they are then.
                    for (std::size_t i = 0; i < removal->copies.size(); ++i) {
                      removal->flags[i] = store_.flags(removal->queue, removal->copies[i]);
                    }
                    removals_.push_back(removal);
                    next_removal_ = now_ + kTryAgain;
                  }});
}

Status SegmentCollector::write_flags(SegmentFiles& files, const Removal& removal) {
  for (std::size_t i = 0; i < removal.copies.size(); ++i) {
    const IndexFlags& flags = removal.flags[i];
    if (flags.first >= flags.end) continue;
    const SegmentName copy = removal.copies[i];
    auto opened = files.open(*removal.queue, copy);
    // A piece that had its last message settled is gone, and needs no flags.
    if (opened.status().code() == Code::kNotFound && removal.copies.size() > 1) continue;
    if (!opened.is_ok()) return opened.status();
    (*opened)->index_unsynced = true;
    SEGUE_RETURN_IF_ERROR(write_index_flags(*(*opened)->index, copy.first, flags));
    SEGUE_RETURN_IF_ERROR(files.sync(*removal.queue, copy));
  }
  return {};
}

}  // namespace segue::storage
