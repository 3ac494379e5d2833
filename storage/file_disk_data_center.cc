#include "storage/file_disk_data_center.h"

#include <algorithm>
#include <utility>

#include "storage/failed_sync.h"

namespace segue::storage {

namespace {

constexpr auto kFreeBytesEvery = std::chrono::seconds(1);

DiskOptions with_defaults(DiskOptions options) {
  if (!options.fatal) options.fatal = stop_after_failed_sync;
  return options;
}

std::unique_ptr<Logger> silent_logger(const Clock& clock) {
  return std::make_unique<Logger>(null_log_sink(), clock, Logger::Options{LogLevel::kOff, 0});
}

}  // namespace

Result<OpenedDisk> open_disk_data_center(
    FileSystem& files, DiskOptions options,
    const std::function<Status(DiskDataCenter&, const std::vector<RecoveredShard>&)>& shards_ready,
    const std::function<Status(const ReplayedRecord&)>& replay) {
  auto executor = std::make_unique<BackgroundThread>(options.wakeup);
  return FileDiskDataCenter::open(files, std::move(options), std::move(executor), shards_ready,
                                  replay);
}

Result<OpenedDisk> FileDiskDataCenter::open(FileSystem& files, DiskOptions options,
                                            std::unique_ptr<BackgroundExecutor> executor,
                                            const ShardsReady& shards_ready, const Replay& replay) {
  auto directory = DataDirectory::open(
      files, options.directory, Identity{options.cluster, options.node_id, options.shard_count},
      options.lock_patience);
  if (!directory.is_ok()) return directory.status();
  auto disk = std::unique_ptr<FileDiskDataCenter>(new FileDiskDataCenter(
      files, with_defaults(std::move(options)), std::move(executor), std::move(*directory)));
  FileDiskDataCenter& self = *disk;
  return self.recover(std::move(disk), shards_ready, replay);
}

FileDiskDataCenter::FileDiskDataCenter(FileSystem& files, DiskOptions options,
                                       std::unique_ptr<BackgroundExecutor> executor,
                                       std::unique_ptr<DataDirectory> directory)
    : files_(files),
      options_(std::move(options)),
      directory_(std::move(directory)),
      own_logger_(options_.logger == nullptr ? silent_logger(clock_) : nullptr),
      context_{files_,
               options_.logger == nullptr ? *own_logger_ : *options_.logger,
               directory_->path(),
               options_.segment_bytes,
               options_.fatal,
               options_.segments_past_page_cache},
      executor_(std::move(executor)),
      segments_(context_, *executor_, options_.queue_name),
      log_ends_(files_, directory_->path()) {
  backup_ = std::make_unique<OnlineBackup>(OnlineBackup::Parts{
      files_, *executor_, context_.log, options_.clock == nullptr ? clock_ : *options_.clock,
      directory_->path(), Identity{options_.cluster, options_.node_id, options_.shard_count},
      [this](bool holds) { hold_for_backup(holds); },
      [this] { return wal_ == nullptr ? std::vector<WalFileUse>() : wal_->extent(); }});
}

FileDiskDataCenter::~FileDiskDataCenter() {
  // Ends the thread before what it works on goes; nothing new is started, no callbacks are run.
  executor_->abandon();
}

// ---- how far the log is durable

void FileDiskDataCenter::note_log_ends() {
  if (writing_log_ends_ || wal_->current_file() == noted_at_file_) return;
  noted_at_file_ = wal_->current_file();
  if (!log_ends_.note({noted_at_file_, wal_->durable_ends()})) return;
  writing_log_ends_ = true;
  begin_log_ends();
  auto written = std::make_shared<LogEndsWritten>();
  executor_->post({[this, written, noted = log_ends_.noted()] {
                     *written = put_log_ends(noted);
                     return true;
                   },
                   [this, written] {
                     writing_log_ends_ = false;
                     end_log_ends(*written);
                   }});
}

void FileDiskDataCenter::write_log_ends() {
  begin_log_ends();
  end_log_ends(put_log_ends(log_ends_.noted()));
}

FileDiskDataCenter::LogEndsWritten FileDiskDataCenter::put_log_ends(const LogNote& note) const {
  LogEndsWritten written{log_ends_.write(note)};
  // The old note would keep the log from letting go of the file that it names, on a disk that may
  // be full.
  if (!written.status) written.is_gone = log_ends_.remove().is_ok();
  return written;
}

namespace {

constexpr std::uint64_t kNoFile = ~std::uint64_t{0};

/// What WalWriter::keep_files_from() takes, for a note that names this file, or 0.
std::uint64_t kept_from(std::uint64_t noted_file) {
  return noted_file == 0 ? kNoFile : noted_file;
}

}  // namespace

void FileDiskDataCenter::begin_log_ends() {
  wal_->keep_files_from(std::min(kept_from(durable_note_), kept_from(log_ends_.noted().last_file)));
}

void FileDiskDataCenter::end_log_ends(const LogEndsWritten& written) {
  if (!written.status) {
    const char* const effect =
        written.is_gone ? "it is removed: until the log goes on in another file, a start does not "
                          "notice lost files"
                        : "the log keeps its files from the one on that is noted there";
    context_.log.warn("log_ends_not_written", {{"reason", written.status}, {"effect", effect}});
    if (!written.is_gone) return;
  }
  durable_note_ = written.is_gone ? 0 : log_ends_.noted().last_file;
  wal_->keep_files_from(kept_from(durable_note_));
}

// ---- the log

Status FileDiskDataCenter::append(LogRecord record) {
  return wal_->append(std::move(record));
}

void FileDiskDataCenter::flush() {
  wal_->flush();
}

std::vector<Committed> FileDiskDataCenter::poll() {
  executor_->poll();
  if (wal_ == nullptr) return {};  // the log is being replayed
  auto committed = wal_->poll();
  if (collector_) collector_->poll(now());
  if (scrubber_) scrubber_->poll(now());
  backup_->poll(now());
  prepare_wal_files();
  note_log_ends();
  refresh_free_bytes();
  return committed;
}

TimePoint FileDiskDataCenter::now() const {
  return options_.clock == nullptr ? clock_.now() : options_.clock->now();
}

void FileDiskDataCenter::prepare_wal_files() {
  if (preparing_wal_files_ || !wal_->wants_files()) return;
  preparing_wal_files_ = true;
  // Ahead of bulk work: without a file to go on with, nothing can be published.
  executor_->post_urgent({[this] {
                            wal_->prepare_files();
                            return true;
                          },
                          [this] { preparing_wal_files_ = false; }});
}

void FileDiskDataCenter::refresh_free_bytes() {
  const TimePoint now = this->now();
  if (refreshing_free_bytes_) return;
  if (free_bytes_refreshed_ && now - *free_bytes_refreshed_ < kFreeBytesEvery) return;
  free_bytes_refreshed_ = now;
  refreshing_free_bytes_ = true;
  auto free = std::make_shared<std::optional<std::uint64_t>>();
  executor_->post_urgent({[this, free] {
                            const auto bytes = files_.free_bytes(directory_->path());
                            if (bytes.is_ok()) *free = *bytes;
                            return true;
                          },
                          [this, free] {
                            refreshing_free_bytes_ = false;
                            if (*free) free_bytes_ = **free;
                          }});
}

// ---- messages of queues

void FileDiskDataCenter::store(ShardId shard, QueueId queue, std::vector<MessageRun> runs,
                               std::function<void(Status)> done) {
  segments_.store(shard, queue, std::move(runs), std::move(done));
}

void FileDiskDataCenter::load(QueueId queue, Sequence from, Sequence through, std::size_t max_bytes,
                              std::function<void(Result<LoadedMessages>)> done) {
  segments_.load(queue, from, through, max_bytes, std::move(done));
}

void FileDiskDataCenter::settle(QueueId queue, Sequence first, Sequence last) {
  segments_.settle(queue, first, last);
}

bool FileDiskDataCenter::has_expired(QueueId queue, const ExpiryScan& scan) const {
  const SegmentTable* const table = segments_.table(queue);
  return table != nullptr && table->any_expired(scan);
}

void FileDiskDataCenter::find_expired(QueueId queue, const ExpiryScan& scan,
                                      std::function<void(Result<ExpiredMessages>)> done) {
  segments_.find_expired(queue, scan, std::move(done));
}

void FileDiskDataCenter::find_due(QueueId queue, const DueScan& scan,
                                  std::function<void(FoundDue)> done) {
  segments_.find_due(queue, scan, std::move(done));
}

void FileDiskDataCenter::drop_queue(QueueId queue) {
  segments_.drop_queue(queue);
  if (collector_) collector_->forget(queue);
}

std::optional<NumberRange> FileDiskDataCenter::valid_run(QueueId queue, Sequence from,
                                                         Sequence through) const {
  const SegmentTable* const table = segments_.table(queue);
  return table == nullptr ? std::nullopt : table->valid_run(from, through);
}

std::uint64_t FileDiskDataCenter::body_bytes(QueueId queue, Sequence first, Sequence last) const {
  const SegmentTable* const table = segments_.table(queue);
  return table == nullptr ? 0 : table->body_bytes(first, last);
}

StoredQueue FileDiskDataCenter::stored(QueueId queue) const {
  return segments_.stored(queue);
}

// ---- checkpoints

void FileDiskDataCenter::checkpoint(ShardId shard, LogIndex applied, std::string state,
                                    std::function<void(Status)> done) {
  CheckpointCall call{applied, std::move(state), std::move(done)};
  if (checkpoints_held_) {
    held_checkpoints_.emplace_back(shard, std::move(call));
    return;
  }
  const auto running = checkpoints_.find(shard);
  if (running != checkpoints_.end()) {
    running->second.push_back(std::move(call));
  } else {
    begin_checkpoint(shard, std::move(call));
  }
}

void FileDiskDataCenter::begin_checkpoint(ShardId shard, CheckpointCall call) {
  checkpoints_[shard];
  auto job = std::make_shared<CheckpointJob>(
      context_, segments_.worker(), segments_.snapshot(shard), call.applied, std::move(call.state));
  auto shared_call = std::make_shared<CheckpointCall>(std::move(call));
  executor_->post({[job] { return job->step(); },
                   [this, shard, job, shared_call] { end_checkpoint(shard, *job, *shared_call); }});
}

void FileDiskDataCenter::end_checkpoint(ShardId shard, const CheckpointJob& job,
                                        CheckpointCall& call) {
  if (job.status().is_ok()) {
    segments_.checkpointed(job.snapshot());
    if (wal_ != nullptr) wal_->release(shard, call.applied);
  } else {
    segments_.put_back(job.snapshot());
  }
  for (const auto& [queue, segment] : job.indexes_made_anew()) {
    segments_.index_made_anew(queue, segment);
  }
  auto waiting = std::move(checkpoints_[shard]);
  checkpoints_.erase(shard);
  for (CheckpointCall& next : waiting)
    checkpoint(shard, next.applied, std::move(next.state), std::move(next.done));
  call.done(job.status());
}

void FileDiskDataCenter::release_log(ShardId shard, LogIndex applied) {
  if (wal_ != nullptr) wal_->release(shard, applied);
}

std::vector<ShardId> FileDiskDataCenter::pinning_log() const {
  return wal_ == nullptr ? std::vector<ShardId>() : wal_->pinning();
}

std::vector<ShardId> FileDiskDataCenter::take_wanted_checkpoints() {
  return collector_ ? collector_->take_wanted_checkpoints() : std::vector<ShardId>();
}

namespace {

StoredSegment::State state_of(const SegmentFigures& segment) {
  if (segment.work == SegmentWork::kCompacting) return StoredSegment::State::kCompacting;
  if (segment.work == SegmentWork::kMerging) return StoredSegment::State::kMerging;
  switch (segment.state) {
    case SegmentState::kActive:
      return StoredSegment::State::kActive;
    case SegmentState::kFull:
      return StoredSegment::State::kFull;
    case SegmentState::kSealed:
      break;
  }
  return StoredSegment::State::kSealed;
}

}  // namespace

std::vector<StoredSegment> FileDiskDataCenter::segments(QueueId queue, Sequence after,
                                                        std::size_t limit) const {
  const SegmentTable* const table = segments_.table(queue);
  std::vector<StoredSegment> found;
  if (table == nullptr) return found;
  const auto& all = table->segments();
  auto at = std::upper_bound(all.begin(), all.end(), after,
                             [](Sequence s, const auto& segment) { return s < segment->first; });
  for (; at != all.end() && found.size() < limit; ++at) {
    const SegmentFigures figures = figures_of(**at);
    found.push_back({figures.first, figures.last, (*at)->generation, state_of(figures),
                     figures.bytes, figures.valid_bytes, figures.messages, figures.valid});
  }
  return found;
}

Status FileDiskDataCenter::collect(GcCommand command, std::optional<QueueId> queue) {
  if (!collector_) return Status(Code::kNotAllowed, "this store collects no garbage");
  return collector_->command(command, queue);
}

QueueGc FileDiskDataCenter::collecting(QueueId queue) const {
  return collector_ ? collector_->queue(queue) : QueueGc();
}

void FileDiskDataCenter::set_gc(QueueId queue, const GcOverrides& overrides) {
  if (collector_) collector_->set_overrides(queue, overrides);
}

// ---- backup

Status FileDiskDataCenter::begin_backup(BackupOptions options) {
  return backup_->begin(std::move(options));
}

void FileDiskDataCenter::hold_for_backup(bool holds) {
  checkpoints_held_ = holds;
  wal_->hold(holds);
  if (holds) return;
  for (auto& [shard, call] : std::exchange(held_checkpoints_, {})) {
    checkpoint(shard, call.applied, std::move(call.state), std::move(call.done));
  }
}

// ---- other work

void FileDiskDataCenter::run_in_background(std::function<void()> work, std::function<void()> done) {
  executor_->post({[work = std::move(work)] {
                     work();
                     return true;
                   },
                   std::move(done)});
}

DiskStats FileDiskDataCenter::stats() const {
  DiskStats stats;
  stats.free_bytes = free_bytes_;
  stats.quarantined = segments_.worker().quarantine.count();
  if (wal_ == nullptr) return stats;
  if (collector_) stats.gc = collector_->stats();
  if (scrubber_) stats.scrub = scrubber_->stats(now());
  const WalUsage usage = wal_->usage();
  stats.wal_bytes = usage.file_bytes;
  stats.wal_bytes_since_checkpoint = usage.written_bytes;
  stats.wal_space_low = usage.space_low;
  stats.wal_out_of_space = usage.space_low && !usage.space_problem.empty();
  return stats;
}

void FileDiskDataCenter::stop() {
  if (collector_) collector_->stop();
  if (scrubber_) scrubber_->stop();
  backup_->cancel();
  executor_->stop();  // it may be making WAL files
  segments_.worker().files.close_all();
  if (wal_ == nullptr) return;
  if (const Status stopped = wal_->stop(); !stopped.is_ok()) {
    context_.log.error("wal_not_closed", {{"reason", stopped}});
    return;
  }
  // A log that nobody needs may go: then checkpoints and catalog.db have all.
  const std::uint64_t last_file = wal_->all_released() ? 0 : wal_->current_file();
  if (log_ends_.note({last_file, wal_->durable_ends()})) write_log_ends();
}

}  // namespace segue::storage
