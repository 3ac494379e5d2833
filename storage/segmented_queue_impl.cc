#include "storage/segmented_queue_impl.h"

#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "storage/data_directory.h"
#include "storage/file_disk_data_center.h"

namespace segue::storage {

namespace {

constexpr auto kLongestTick = std::chrono::milliseconds(100);
/// Calls that may leave their records to be written by the next one.
constexpr std::uint32_t kMostPassedOn = 32;

/// Hands lines to the program's own log.
class LineSink final : public LogSink {
 public:
  explicit LineSink(std::function<void(const std::string&)> to) : to_(std::move(to)) {}
  void write(const LogEvent& event) override { to_(format_text(event)); }

 private:
  std::function<void(const std::string&)> to_;
};

std::unique_ptr<LogSink> sink_of(const SegmentedQueueOptions& options) {
  if (options.log) return std::make_unique<LineSink>(options.log);
  return null_log_sink();
}

std::chrono::milliseconds half_interval(const SegmentedQueueOptions& options) {
  return std::max(options.interval / 2, std::chrono::milliseconds(1));
}

std::chrono::milliseconds tick_of(const SegmentedQueueOptions& options) {
  if (options.durability != Durability::kInterval) return kLongestTick;
  return std::min(half_interval(options), kLongestTick);
}

EmbeddedQueue::Options queue_options(const SegmentedQueueOptions& options, QueueSignal& signal,
                                     bool manual) {
  EmbeddedQueue::Options to;
  to.durability = options.durability;
  to.memory_bytes = options.memory_bytes;
  to.log_bytes = options.log_bytes;
  to.max_unacked = options.max_unacked;
  if (!manual) {
    // While the log is read, before the queue's own thread.
    to.wait = [&signal] { signal.driver().wait(std::chrono::milliseconds(10)); };
  }
  return to;
}

}  // namespace

SegmentedQueue::Impl::Impl(SegmentedQueueOptions options, SegmentedQueueOpener::Parts parts)
    : options_(std::move(options)),
      parts_(std::move(parts)),
      clock_(parts_.clock == nullptr ? system_clock_ : *parts_.clock),
      log_(sink_of(options_), clock_, {LogLevel::kInfo, 10}),
      queue_(queue_options(options_, signal_, parts_.manual), log_) {}

SegmentedQueue::Impl::~Impl() {
  stop_thread();
}

DiskOptions SegmentedQueue::Impl::disk_options() {
  DiskOptions disk;
  disk.directory = options_.directory;
  const Identity identity = Identity::of_embedded_queue();
  disk.cluster = identity.cluster;
  disk.node_id = identity.node_id;
  disk.shard_count = identity.shard_count;
  disk.settles_in_state = true;
  disk.wal_file_bytes = parts_.wal_file_bytes;
  disk.wal_reserve_bytes = parts_.wal_reserve_bytes;
  disk.segment_bytes = options_.segment_bytes;
  if (options_.durability == Durability::kInterval) {
    disk.sync_interval_ms = static_cast<std::uint32_t>(half_interval(options_).count());
  }
  disk.direct_io = parts_.direct_io;
  disk.segments_past_page_cache =
      !options_.page_cache.value_or(options_.durability != Durability::kEveryCall);
  disk.gc = parts_.gc;
  disk.queue_name = [](QueueId) { return std::string("queue"); };
  disk.wakeup = [this] { signal_.notify(); };
  disk.fatal = [this](const Status& status) { signal_.fail(status); };
  disk.logger = &log_;
  disk.clock = &clock_;
  return disk;
}

Status SegmentedQueue::Impl::open() {
  FileSystem& files = parts_.files == nullptr ? posix_ : *parts_.files;
  auto executor = std::move(parts_.executor);
  if (executor == nullptr) {
    executor = std::make_unique<BackgroundThread>([this] { signal_.notify(); });
  }
  auto opened = FileDiskDataCenter::open(
      files, disk_options(), std::move(executor),
      [this](DiskDataCenter& disk, const std::vector<RecoveredShard>& shards) {
        return queue_.restore(disk, shards);
      },
      [this](const ReplayedRecord& record) { return queue_.replay(record); });
  if (!opened.is_ok()) return opened.status();
  if (signal_.failed()) return signal_.failure();
  queue_.start(std::move(*opened));
  closed_ = false;
  if (!parts_.manual) thread_ = std::thread([this] { run(); });
  return {};
}

void SegmentedQueue::Impl::run() {
  ::pthread_setname_np(::pthread_self(), "segue-queue");
  const auto every = tick_of(options_);
  TimePoint next = now() + every;
  while (!ending_.load()) {
    signal_.driver().wait(std::max<Duration>(next - now(), Duration::zero()));
    const bool due = now() >= next;
    if (due) next = now() + every;
    {
      const std::lock_guard lock(mutex_);
      if (closed_ || signal_.failed()) continue;
      if (due) queue_.tick();
      pump();
    }
    // What nobody tells of, as that there is space again, is looked at now and then.
    if (due) signal_.notify_callers();
  }
}

void SegmentedQueue::Impl::stop_thread() {
  if (!thread_.joinable()) return;
  ending_.store(true);
  signal_.driver().notify();
  thread_.join();
}

void SegmentedQueue::Impl::pump() {
  if (signal_.failed()) return;
  const LogIndex before = queue_.committed();
  queue_.pump(now());
  // A call that wrote for others has nobody but itself to tell them.
  if (queue_.committed() != before && syncs_every_call()) signal_.notify_callers();
}

void SegmentedQueue::Impl::tick() {
  const std::lock_guard lock(mutex_);
  if (closed_ || signal_.failed()) return;
  queue_.tick();
  pump();
}

Status SegmentedQueue::Impl::close() {
  Status status;
  {
    Call call(*this);
    if (call.status().code() == Code::kPreconditionFailed) return {};  // closed before
    status = call.status();
    if (status.is_ok()) status = sync(call);
    // So that the next opening has no log to read; what is durable does not depend on it.
    if (status.is_ok() && !queue_.is_checkpointed()) (void)call.checkpoint();
    if (signal_.failed()) status = signal_.failure();
    closed_ = true;
  }
  stop_thread();
  const std::lock_guard lock(mutex_);
  if (!signal_.failed()) queue_.stop();
  if (status.is_ok() && signal_.failed()) status = signal_.failure();
  return status;
}

void SegmentedQueue::Impl::abandon() {
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
  }
  stop_thread();
}

Status SegmentedQueue::Impl::sync(Call& call) {
  if (options_.durability != Durability::kNone) {
    queue_.tick();
    if (queue_.log_settles() && queue_.log_mark()) {
      const LogIndex index = queue_.logged();
      return call.until([&] { return queue_.is_committed(index); });
    }
  }
  return call.checkpoint();
}

std::uint64_t SegmentedQueue::Impl::size() const {
  const std::lock_guard lock(mutex_);
  return queue_.size();
}

SegmentedQueueStats SegmentedQueue::Impl::stats() const {
  const std::lock_guard lock(mutex_);
  return queue_.stats();
}

DiskStats SegmentedQueue::Impl::disk_stats() const {
  const std::lock_guard lock(mutex_);
  return queue_.disk_stats();
}

// ---- a call

SegmentedQueue::Impl::Call::Call(Impl& impl) : impl_(impl), lock_(impl.mutex_, std::defer_lock) {
  if (impl_.syncs_every_call()) {
    impl_.coming_.fetch_add(1);
    lock_.lock();
    impl_.coming_.fetch_sub(1);
  } else {
    lock_.lock();
  }
  if (impl_.closed_) {
    status_ = Status(Code::kPreconditionFailed, "the queue was closed");
  } else if (impl_.signal_.failed()) {
    status_ = impl_.signal_.failure();
  }
}

SegmentedQueue::Impl::Call::~Call() {
  if (impl_.closed_ || impl_.signal_.failed()) return;
  if (impl_.syncs_every_call()) flush();
  if (impl_.queue_.needs_pump()) impl_.pump();
}

/// Writes what is logged, unless another call is about to, which then does it for both.
void SegmentedQueue::Impl::Call::flush() {
  if (impl_.syncs_every_call() && impl_.coming_.load() > 0 && ++impl_.passed_on_ < kMostPassedOn) {
    return;
  }
  impl_.passed_on_ = 0;
  impl_.queue_.flush();
}

Status SegmentedQueue::Impl::Call::committed() {
  const LogIndex index = queue().logged();
  return until([&] { return queue().is_committed(index); });
}

Status SegmentedQueue::Impl::Call::commit_offers(std::uint64_t& undone) {
  bool will_sync = false;
  undone = queue().log_offers_or_undo(will_sync);
  return will_sync ? committed() : checkpoint();
}

Status SegmentedQueue::Impl::Call::commit_settles() {
  if (!impl_.syncs_every_call()) return {};
  if (queue().log_settles()) return committed();
  // Not even the log's reserve has space. A checkpoint may have it, and makes some.
  return checkpoint();
}

Status SegmentedQueue::Impl::Call::checkpoint() {
  const std::uint64_t wanted = queue().want_checkpoint();
  std::optional<Status> result;
  SEGUE_RETURN_IF_ERROR(until([&] {
    result = queue().checkpoint_result(wanted);
    return result.has_value();
  }));
  return *result;
}

/// Waits until it is known whether there is a message.
EmbeddedQueue::Ready SegmentedQueue::Impl::ready(Call& call, Status& status) {
  EmbeddedQueue::Ready ready = queue_.ready();
  if (ready == EmbeddedQueue::Ready::kWait) {
    status = call.until([&] { return (ready = queue_.ready()) != EmbeddedQueue::Ready::kWait; },
                        /*writes=*/syncs_every_call());
    if (!status.is_ok()) return EmbeddedQueue::Ready::kTrouble;
  }
  if (ready == EmbeddedQueue::Ready::kTrouble) status = queue_.take_trouble();
  return ready;
}

}  // namespace segue::storage
