#include "storage/wal_writer.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <utility>

#include "storage/wal_format.h"

namespace segue::storage {

namespace {

/// Groups that may be in flight; more are gathered into one.
constexpr std::size_t kMaxInFlight = 64;
/// Room kept for padding and the mark of a clean stop, whatever a record may use.
constexpr std::uint64_t kMargin = 16 * kWalBlock;
/// What release() counts by.
constexpr std::uint64_t kStretchBytes = 1 << 20;
constexpr std::uint64_t kSmallestFile = 4 * kWalBlock;
constexpr int kFatalExitCode = 71;

std::string parent_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

WalOptions adjusted(WalOptions options) {
  options.file_bytes = std::max(wal_round_up(options.file_bytes), kSmallestFile);
  options.sync_interval = std::max(options.sync_interval, std::chrono::milliseconds{1});
  return options;
}

/// Makes what a killed process wrote, and recovery read, as durable as it is going to be believed.
Status sync_last(FileSystem& files, const std::string& directory, const RecoveredWal& recovered) {
  if (recovered.files.empty()) return Status::ok();
  auto file = files.open(directory + "/" + wal_file_name(recovered.files.back().number),
                         OpenMode::kReadWrite);
  return file ? (*file)->sync() : file.status();
}

}  // namespace

Result<std::unique_ptr<WalWriter>> WalWriter::open(FileSystem& files, WalOptions options,
                                                   const RecoveredWal& recovered) {
  SEGUE_RETURN_IF_ERROR(files.make_directories(options.directory));
  SEGUE_RETURN_IF_ERROR(files.sync_directory(parent_of(options.directory)));
  SEGUE_RETURN_IF_ERROR(sync_last(files, options.directory, recovered));
  std::unique_ptr<WalWriter> writer(new WalWriter(files, adjusted(std::move(options)), recovered));
  if (Status started = writer->start(recovered); !started) {
    writer->stopped_ = true;
    return started;
  }
  return writer;
}

WalWriter::WalWriter(FileSystem& files, WalOptions options, const RecoveredWal& recovered)
    : options_(std::move(options)),
      clock_(options_.clock != nullptr ? *options_.clock : system_clock_),
      files_(files, options_),
      used_(recovered.files.begin(), recovered.files.end()),
      handovers_(kMaxInFlight),
      reports_(kMaxInFlight),
      appender_(files_, recovered.last_group, stopping_) {
  // Each life begins a file of its own. What earlier ones left empty in theirs is taken from the
  // disk all the same: it counts, so that a node that is killed again and again makes checkpoints.
  for (const WalFileUse& file : used_) {
    const bool last = &file == &used_.back();
    stretches_.push_back({(last ? file.used_bytes : file.file_bytes) - kWalBlock, file.highest});
    written_bytes_ += stretches_.back().bytes;
  }
}

Status WalWriter::start(const RecoveredWal& recovered) {
  SEGUE_RETURN_IF_ERROR(files_.open(recovered));
  SEGUE_RETURN_IF_ERROR(appender_.start());
  if (appender_.has_file()) {
    begin_file(appender_.file_number());
    used_.back().file_bytes = options_.file_bytes;
    used_.back().used_bytes = appender_.position();
  }
  thread_ = std::thread([this] { run(); });
  return Status::ok();
}

WalWriter::~WalWriter() {
  if (!stopped_) static_cast<void>(stop());
}

void WalWriter::begin_file(std::uint64_t number) {
  used_.push_back({number, 0, 0, {}});
  writing_ = true;
}

Status WalWriter::append(LogRecord record) {
  if (failed_.load(std::memory_order_relaxed)) {
    return Status(Code::kIoError, "the write-ahead log failed before and takes nothing more");
  }
  const std::uint64_t bytes = wal_record_bytes(record);
  if (bytes > kWalMaxPayload) {
    return Status(Code::kContentTooLarge, "a log record of " + std::to_string(bytes) +
                                              " bytes is over the limit of " +
                                              std::to_string(kWalMaxPayload));
  }
  if (files_.is_short()) SEGUE_RETURN_IF_ERROR(check_space(bytes, record.uses_reserve));
  queued_bytes_ += bytes;
  queued_.push_back(std::move(record));
  return Status::ok();
}

std::uint64_t WalWriter::room() const {
  const std::uint64_t total = appender_.room() + files_.prepared_bytes();
  const std::uint64_t taken = queued_bytes_ + flight_bytes_ + kMargin;
  return total > taken ? total - taken : 0;
}

Status WalWriter::check_space(std::uint64_t bytes, bool uses_reserve) const {
  const std::uint64_t kept = uses_reserve ? 0 : options_.reserve_bytes;
  if (room() >= kept + bytes) return Status::ok();
  return Status(Code::kNoSpace, "the write-ahead log cannot grow, and of the " +
                                    std::to_string(room()) + " bytes left " + std::to_string(kept) +
                                    " are kept for draining (" + files_.problem() + ")");
}

void WalWriter::flush() {
  if (queued_.empty()) return;
  if (!write_inline()) hand_over();
}

bool WalWriter::write_inline() {
  if (queued_bytes_ > options_.inline_bytes) return false;
  drain_reports();
  if (in_flight_ > 0 || failed_.load(std::memory_order_relaxed) || !try_own()) return false;
  if (!appender_.fits(queued_bytes_)) {
    disown();
    return false;
  }
  Report report;
  Status status = appender_.write_small(queued_, report.progress);
  if (status.code() == Code::kNoSpace) {
    disown();
    return false;
  }
  const bool sync = std::any_of(queued_.begin(), queued_.end(),
                                [](const LogRecord& record) { return record.sync; });
  if (status && sync) status = sync_log();
  if (status && !sync && !unsynced_since_) {
    note_unsynced();
    signal_.notify();  // it sleeps without a limit
  }
  disown();
  queued_.clear();
  queued_bytes_ = 0;
  if (status) {
    take_report(report);
  } else {
    fail(status);
  }
  return true;
}

void WalWriter::hand_over() {
  flush_wanted_ = in_flight_ >= kMaxInFlight;
  if (flush_wanted_) return;
  Handover handover{std::move(queued_), queued_bytes_ + kWalBlock};
  flight_bytes_ += handover.bytes;
  ++in_flight_;
  queued_ = {};
  queued_bytes_ = 0;
  SEGUE_CHECK(handovers_.push(handover));
  signal_.notify();
}

std::vector<Committed> WalWriter::poll() {
  drain_reports();
  if (flush_wanted_) hand_over();
  std::vector<Committed> all = std::exchange(committed_, {});
  std::sort(all.begin(), all.end(), [](const Committed& a, const Committed& b) {
    return a.shard != b.shard ? a.shard < b.shard : a.up_to > b.up_to;
  });
  const auto same = [](const Committed& a, const Committed& b) { return a.shard == b.shard; };
  all.erase(std::unique(all.begin(), all.end(), same), all.end());
  return all;
}

void WalWriter::drain_reports() {
  report_waits_.exchange(false);
  Report report;
  while (reports_.pop(report)) {
    in_flight_ -= report.handovers;
    flight_bytes_ -= report.bytes;
    take_report(report);
  }
}

void WalWriter::take_report(Report& report) {
  for (WalFileProgress& file : report.progress) {
    if (!writing_ || used_.back().number != file.number) begin_file(file.number);
    WalFileUse& use = used_.back();
    note_written(file.used_bytes - std::max<std::uint64_t>(use.used_bytes, kWalBlock),
                 file.highest);
    use.file_bytes = file.file_bytes;
    use.used_bytes = file.used_bytes;
    for (const Committed& highest : file.highest) {
      LogIndex& index = use.highest[highest.shard];
      index = std::max(index, highest.up_to);
    }
    committed_.insert(committed_.end(), file.highest.begin(), file.highest.end());
  }
}

void WalWriter::release(ShardId shard, LogIndex applied) {
  LogIndex& index = released_[shard];
  index = std::max(index, applied);
  let_go();
  while (!stretches_.empty() && is_released(stretches_.front().highest)) {
    written_bytes_ -= stretches_.front().bytes;
    stretches_.pop_front();
  }
}

void WalWriter::let_go() {
  const std::size_t kept = writing_ ? 1 : 0;
  while (!held_ && used_.size() > kept && is_released(used_.front().highest)) {
    files_.release(used_.front().number, used_.front().file_bytes);
    used_.pop_front();
  }
}

void WalWriter::hold(bool holds) {
  held_ = holds;
  let_go();
}

void WalWriter::note_written(std::uint64_t bytes, const std::vector<Committed>& highest) {
  if (stretches_.empty() || stretches_.back().bytes >= kStretchBytes) stretches_.emplace_back();
  Stretch& stretch = stretches_.back();
  stretch.bytes += bytes;
  written_bytes_ += bytes;
  for (const Committed& one : highest) {
    LogIndex& index = stretch.highest[one.shard];
    index = std::max(index, one.up_to);
  }
}

LogIndex WalWriter::released(ShardId shard) const {
  const auto found = released_.find(shard);
  return found == released_.end() ? LogIndex{0} : found->second;
}

bool WalWriter::is_released(const std::map<ShardId, LogIndex>& highest) const {
  return std::all_of(highest.begin(), highest.end(),
                     [this](const auto& entry) { return entry.second <= released(entry.first); });
}

std::vector<ShardId> WalWriter::pinning() const {
  std::vector<ShardId> shards;
  if (used_.size() < (writing_ ? 2u : 1u)) return shards;
  for (const auto& [shard, index] : used_.front().highest) {
    if (index > released(shard)) shards.push_back(shard);
  }
  return shards;
}

std::map<ShardId, LogIndex> WalWriter::durable_ends() const {
  std::map<ShardId, LogIndex> ends = released_;
  const bool all = stopped_ && !failed_.load();
  const std::size_t synced = used_.size() - (all || !writing_ ? 0 : 1);
  for (std::size_t i = 0; i < synced; ++i) {
    for (const auto& [shard, index] : used_[i].highest) {
      LogIndex& end = ends[shard];
      end = std::max(end, index);
    }
  }
  return ends;
}

bool WalWriter::all_released() const {
  return std::all_of(used_.begin(), used_.end(),
                     [this](const WalFileUse& file) { return is_released(file.highest); });
}

WalUsage WalWriter::usage() const {
  WalUsage usage;
  for (const WalFileUse& file : used_) usage.file_bytes += file.file_bytes;
  usage.written_bytes = written_bytes_;
  if (files_.is_short()) {
    usage.space_low = room() <= options_.reserve_bytes;
    usage.space_problem = files_.problem();
  }
  return usage;
}

void WalWriter::fail(const Status& status) {
  failed_.store(true);
  if (options_.fatal) {
    options_.fatal(status);
    return;
  }
  std::fprintf(
      stderr,
      "fatal: the write-ahead log's end is unknown after a failure, so the process stops: %s\n",
      status.message().c_str());
  std::fflush(stderr);
  ::_exit(kFatalExitCode);
}

Status WalWriter::stop() {
  if (stopped_) return stop_status_;
  stopped_ = true;
  stopping_.store(true);
  files_.wake();
  signal_.notify();
  if (thread_.joinable()) thread_.join();
  drain_reports();
  if (failed_.load()) {
    stop_status_ = Status(Code::kIoError, "the write-ahead log failed before it was closed");
  } else {
    finish_log();
  }
  return stop_status_;
}

/// The thread has ended: what append() still kept, and the mark, are written here.
void WalWriter::finish_log() {
  Report report;
  Status status = stop_status_;  // NO_SPACE: the thread gave up on something
  for (const LogRecord& record : queued_) {
    if (status) status = appender_.add(record, report.progress);
  }
  if (status) status = appender_.finish(report.progress);
  if (!status && status.code() != Code::kNoSpace) return fail_stop(status);
  stop_status_ = status;
  if (status = appender_.sync(); !status) return fail_stop(status);
  take_report(report);
  // Everything is safe without the mark, so a disk that is full only now does not matter.
  status = appender_.write_mark();
  if (status) status = appender_.sync();
  if (!status && status.code() != Code::kNoSpace) fail_stop(status);
}

void WalWriter::fail_stop(const Status& status) {
  stop_status_ = status;
  fail(status);
}

}  // namespace segue::storage
