#pragma once

#include <algorithm>
#include <deque>
#include <functional>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "common/check.h"
#include "storage/disk_data_center.h"

namespace segue::storage {

/// A DiskDataCenter in memory, for tests of what is built on it. By itself it does everything at
/// the next chance (flush() commits, poll() finishes); tests can hold work back, make it fail, look
/// at what was logged, and crash it: restart() goes back to what a real disk would still have. One
/// thread.
class FakeDiskDataCenter final : public DiskDataCenter {
 public:
  // ---- what a test may set

  /// flush() commits at once. Otherwise commit() does, for as many records as it is told.
  bool commit_on_flush = true;
  /// poll() finishes all stores, loads, checkpoints and background work that were started before
  /// it. Otherwise finish() does, for as many as it is told.
  bool finish_on_poll = true;
  /// append() refuses records that do not use the reserve.
  bool wal_full = false;
  /// store() and checkpoint() end with this unless it is OK.
  Status store_result;
  Status checkpoint_result;
  /// load() ends with this unless it is OK.
  Status load_result;
  /// What backup() tells, and what begin_backup() was given last.
  BackupState backup_state;
  BackupOptions backup_options;
  /// Messages whose records load() reports as corrupt.
  std::set<std::pair<QueueId, Sequence>> corrupt;
  /// Those of them that load() cannot set aside.
  std::set<std::pair<QueueId, Sequence>> not_set_aside;
  std::uint64_t free_bytes = 1ull << 40;

  /// Commits the oldest records that were flushed and are not committed.
  void commit(std::size_t records = std::numeric_limits<std::size_t>::max()) {
    while (records-- > 0 && !written_.empty()) {
      ReplayedRecord record = std::move(written_.front());
      written_.pop_front();
      committed_[record.shard] = record.index;
      log_.push_back(std::move(record));
    }
  }
  /// Lets the oldest started work end; its callback runs in the next poll().
  void finish(std::size_t works = std::numeric_limits<std::size_t>::max()) {
    while (works-- > 0 && !started_.empty()) {
      finished_.push_back(std::move(started_.front()));
      started_.pop_front();
    }
  }

  /// Ends this life without warning and opens the next: what was not committed or checkpointed is
  /// gone, callbacks that have not run never do. The rest as open_disk_data_center().
  Status restart(const std::function<Status(DiskDataCenter&, const std::vector<RecoveredShard>&)>&
                     shards_ready,
                 const std::function<Status(const ReplayedRecord&)>& replay,
                 std::vector<Committed>* log_ends = nullptr) {
    queued_.clear();
    written_.clear();
    started_.clear();
    finished_.clear();
    committed_.clear();
    queues_.clear();
    last_index_.clear();
    std::vector<RecoveredShard> shards;
    for (const auto& [shard, saved] : checkpoints_) {
      RecoveredShard recovered{shard, saved.applied, saved.state, {}};
      for (const auto& [id, queue] : saved.queues) {
        queues_[id] = queue;
        recovered.queues.push_back(stored(id));
      }
      last_index_[shard] = saved.applied;
      shards.push_back(std::move(recovered));
    }
    SEGUE_RETURN_IF_ERROR(shards_ready(*this, shards));
    for (const ReplayedRecord& record : log_) {
      const LogIndex applied = checkpoints_.contains(record.shard)
                                   ? checkpoints_[record.shard].applied
                                   : released_[record.shard];
      if (record.index <= applied) continue;
      SEGUE_RETURN_IF_ERROR(replay(record));
      last_index_[record.shard] = record.index;
    }
    if (log_ends != nullptr) {
      log_ends->clear();
      for (const auto& [shard, index] : last_index_) log_ends->push_back({shard, index});
    }
    return {};
  }

  // ---- what a test may look at

  /// Committed records that no checkpoint or release_log() has made unnecessary, in log order.
  const std::vector<ReplayedRecord>& log() const { return log_; }
  /// Records queued by append() and not yet flushed.
  std::size_t unflushed() const { return queued_.size(); }
  /// Stores, loads, checkpoints and background works that have not ended.
  std::size_t unfinished() const { return started_.size() + finished_.size(); }
  /// The valid messages that a queue has stored.
  std::vector<Sequence> stored_sequences(QueueId id) const {
    std::vector<Sequence> sequences;
    if (const auto queue = queues_.find(id); queue != queues_.end()) {
      for (const auto& [sequence, place] : queue->second.messages) sequences.push_back(sequence);
    }
    return sequences;
  }
  /// The applied index of the shard's last checkpoint; 0: none.
  LogIndex checkpointed(ShardId shard) const {
    const auto saved = checkpoints_.find(shard);
    return saved == checkpoints_.end() ? LogIndex{0} : saved->second.applied;
  }
  std::uint64_t flushes() const { return flushes_; }
  std::uint64_t loads() const { return loads_; }
  bool stopped() const { return stopped_; }

  // ---- DiskDataCenter

  Status append(LogRecord record) override {
    if (wal_full && !record.uses_reserve) {
      return Status(Code::kNoSpace, "the log cannot grow: no space left");
    }
    const auto last = last_index_.find(record.shard);
    SEGUE_CHECK(last == last_index_.end() || record.index == last->second.next());
    last_index_[record.shard] = record.index;
    std::string bodies;
    for (const SharedBytes& body : record.bodies) bodies.append(body.view());
    queued_.push_back({record.shard, record.epoch, record.index,
                       SharedBytes::from(std::move(record.command)),
                       SharedBytes::from(std::move(bodies))});
    return {};
  }

  void flush() override {
    ++flushes_;
    std::move(queued_.begin(), queued_.end(), std::back_inserter(written_));
    queued_.clear();
    if (commit_on_flush) commit();
  }

  std::vector<Committed> poll() override {
    if (finish_on_poll) finish();
    std::deque<std::function<void()>> run;
    run.swap(finished_);
    for (auto& work : run) work();
    std::vector<Committed> committed;
    for (const auto& [shard, index] : committed_) committed.push_back({shard, index});
    committed_.clear();
    return committed;
  }

  void store(ShardId shard, QueueId id, std::vector<MessageRun> runs,
             std::function<void(Status)> done) override {
    if (!store_result.is_ok()) {
      start([done = std::move(done), result = store_result] { done(result); });
      return;
    }
    Queue& queue = queues_[id];
    queue.shard = shard;
    MessageBatchPtr original;
    MessageBatchPtr copied;
    for (const MessageRun& run : runs) {
      SEGUE_CHECK(run.count > 0 && run.first > queue.last_stored);
      if (run.batch != original) {
        original = run.batch;
        copied = copy_of(*original);
      }
      for (std::uint32_t i = 0; i < run.count; ++i) {
        queue.messages.emplace(run.first.next(i), Place{copied, run.begin + i, run.arrived_ms});
      }
      queue.last_stored = run.last();
    }
    start([this, id, life = queue.life, done = std::move(done)] {
      const auto now = queues_.find(id);
      const bool there = now != queues_.end() && now->second.life == life;
      done(there ? Status::ok() : dropped(id));
    });
  }

  void load(QueueId id, Sequence from, Sequence through, std::size_t max_bytes,
            std::function<void(Result<LoadedMessages>)> done) override {
    ++loads_;
    start(
        [this, id, from, through, max_bytes, there = queues_.contains(id), done = std::move(done)] {
          if (!load_result.is_ok()) return done(load_result);
          const auto queue = queues_.find(id);
          if (queue == queues_.end()) {
            if (there) return done(dropped(id));
            LoadedMessages nothing;
            nothing.scanned_through = through;
            return done(nothing);
          }
          done(read(id, queue->second, from, through, max_bytes));
        });
  }

  void settle(QueueId id, Sequence first, Sequence last) override {
    const auto queue = queues_.find(id);
    if (queue == queues_.end()) return;
    auto& messages = queue->second.messages;
    messages.erase(messages.lower_bound(first), messages.upper_bound(last));
  }

  bool has_expired(QueueId id, const ExpiryScan& scan) const override {
    return !expired(id, scan).ranges.empty();
  }
  void find_expired(QueueId id, const ExpiryScan& scan,
                    std::function<void(Result<ExpiredMessages>)> done) override {
    start([this, id, scan, done = std::move(done)] { done(expired(id, scan)); });
  }

  /// In pieces of a few messages, as if those were a segment each.
  void find_due(QueueId id, const DueScan& scan, std::function<void(FoundDue)> done) override {
    start([this, id, scan, done = std::move(done)] {
      FoundDue found;
      const auto queue = queues_.find(id);
      if (queue == queues_.end()) return done(found);
      const auto& messages = queue->second.messages;
      auto at = messages.lower_bound(scan.first);
      for (int i = 0; i < 7 && at != messages.end(); ++i, ++at) {
        const auto& [sequence, place] = *at;
        found.scanned_through = sequence;
        const DueMessage due{place.batch->due(place.message, place.arrived_ms), sequence};
        if (due >= scan.from && due < scan.below) found.messages.push_back(due);
      }
      found.more = at != messages.end();
      done(std::move(found));
    });
  }

  void drop_queue(QueueId id) override { queues_.erase(id); }

  std::optional<NumberRange> valid_run(QueueId id, Sequence from, Sequence through) const override {
    const auto queue = queues_.find(id);
    if (queue == queues_.end()) return {};
    const auto& messages = queue->second.messages;
    auto at = messages.lower_bound(from);
    if (at == messages.end() || at->first > through) return {};
    NumberRange run{at->first.value, at->first.value};
    while (++at != messages.end() && at->first.value == run.last + 1 && at->first <= through) {
      ++run.last;
    }
    return run;
  }
  std::uint64_t body_bytes(QueueId id, Sequence first, Sequence last) const override {
    std::uint64_t bytes = 0;
    const auto queue = queues_.find(id);
    if (queue == queues_.end()) return 0;
    const auto& messages = queue->second.messages;
    for (auto at = messages.lower_bound(first); at != messages.end() && at->first <= last; ++at) {
      bytes += at->second.batch->body_size(at->second.message);
    }
    return bytes;
  }
  StoredQueue stored(QueueId id) const override {
    StoredQueue counts;
    counts.id = id;
    const auto found = queues_.find(id);
    if (found == queues_.end()) return counts;
    const Queue& queue = found->second;
    counts.messages = queue.messages.size();
    for (const auto& [sequence, place] : queue.messages) {
      counts.body_bytes += place.batch->body_size(place.message);
    }
    counts.disk_bytes = counts.body_bytes;
    if (!queue.messages.empty()) counts.first_valid = queue.messages.begin()->first;
    counts.last_stored = queue.last_stored;
    return counts;
  }

  void checkpoint(ShardId shard, LogIndex applied, std::string state,
                  std::function<void(Status)> done) override {
    Checkpoint saved{applied, std::move(state), {}};
    for (const auto& [id, queue] : queues_) {
      if (queue.shard == shard && !queue.messages.empty()) saved.queues.emplace(id, queue);
    }
    start([this, shard, saved = std::move(saved), result = checkpoint_result,
           done = std::move(done)]() mutable {
      if (result.is_ok()) {
        forget_log(shard, saved.applied);
        checkpoints_[shard] = std::move(saved);
      }
      done(result);
    });
  }

  void release_log(ShardId shard, LogIndex applied) override {
    released_[shard] = std::max(released_[shard], applied);
    forget_log(shard, applied);
  }

  /// What a test wants to be there.
  std::map<QueueId, std::vector<StoredSegment>> segments_of;
  std::vector<std::pair<GcCommand, std::optional<QueueId>>> gc_commands;
  GcStats gc_stats;
  ScrubStats scrub_stats;

  std::vector<StoredSegment> segments(QueueId id, Sequence after,
                                      std::size_t limit) const override {
    std::vector<StoredSegment> found;
    const auto at = segments_of.find(id);
    if (at == segments_of.end()) return found;
    for (const StoredSegment& segment : at->second) {
      if (segment.first > after && found.size() < limit) found.push_back(segment);
    }
    return found;
  }
  Status collect(GcCommand command, std::optional<QueueId> id) override {
    if (command == GcCommand::kRun && gc_stats.paused) {
      return Status(Code::kPreconditionFailed, "collecting is paused; resume it first");
    }
    gc_commands.emplace_back(command, id);
    if (!id) gc_stats.paused = command == GcCommand::kPause;
    return Status::ok();
  }
  QueueGc collecting(QueueId) const override { return {}; }
  void set_gc(QueueId id, const GcOverrides& overrides) override { gc_overrides[id] = overrides; }
  std::map<QueueId, GcOverrides> gc_overrides;

  std::vector<ShardId> take_wanted_checkpoints() override {
    return std::exchange(wanted_checkpoints, {});
  }
  std::vector<ShardId> wanted_checkpoints;

  std::vector<ShardId> pinning_log() const override {
    return log_.empty() ? std::vector<ShardId>() : std::vector<ShardId>{log_.front().shard};
  }

  Status begin_backup(BackupOptions options) override {
    if (backup_state.stage == BackupState::Stage::kRunning) {
      return Status(Code::kPreconditionFailed, "a backup is being made");
    }
    backup_options = options;
    backup_state = {BackupState::Stage::kRunning, options.target, {}, 0, 0, 0};
    return {};
  }
  void cancel_backup() override {
    if (backup_state.stage != BackupState::Stage::kRunning) return;
    backup_state.stage = BackupState::Stage::kFailed;
    backup_state.failure = Status(Code::kConnectionForced, "it was cancelled");
  }
  BackupState backup() const override { return backup_state; }

  void run_in_background(std::function<void()> work, std::function<void()> done) override {
    start([work = std::move(work), done = std::move(done)] {
      work();
      if (done) done();
    });
  }

  DiskStats stats() const override {
    DiskStats stats;
    for (const ReplayedRecord& record : log_) {
      stats.wal_bytes += record.command.size() + record.bodies.size();
    }
    stats.wal_bytes_since_checkpoint = stats.wal_bytes;
    stats.free_bytes = free_bytes;
    stats.wal_space_low = wal_full;
    stats.gc = gc_stats;
    stats.scrub = scrub_stats;
    stats.wal_out_of_space = wal_full;
    return stats;
  }

  void stop() override {
    flush();
    stopped_ = true;
  }

 private:
  struct Place {
    MessageBatchPtr batch;
    std::uint32_t message = 0;
    std::int64_t arrived_ms = 0;
  };
  struct Queue {
    ShardId shard;
    std::uint64_t life = next_life();  // tells a dropped queue from one stored again under its id
    std::map<Sequence, Place> messages;
    Sequence last_stored;
  };
  struct Checkpoint {
    LogIndex applied;
    std::string state;
    std::map<QueueId, Queue> queues;
  };

  /// As a disk has it: what the caller's buffers do does not matter to it.
  static MessageBatchPtr copy_of(const MessageBatch& batch) {
    auto copy = MessageBatch::parse(SharedBytes::from(std::string(batch.serialized().view())),
                                    SharedBytes::from(std::string(batch.bodies().view())));
    return *copy;
  }
  static std::uint64_t next_life() {
    static std::uint64_t life = 0;
    return ++life;
  }
  static Status dropped(QueueId id) {
    return Status(Code::kNotFound, "queue " + std::to_string(id.value) + " has nothing stored");
  }

  void start(std::function<void()> work) { started_.push_back(std::move(work)); }

  void forget_log(ShardId shard, LogIndex applied) {
    std::erase_if(log_, [&](const ReplayedRecord& record) {
      return record.shard == shard && record.index <= applied;
    });
  }

  ExpiredMessages expired(QueueId id, const ExpiryScan& scan) const {
    ExpiredMessages found;
    found.scanned_through = scan.from;
    const auto queue = queues_.find(id);
    if (queue == queues_.end()) return found;
    const auto& messages = queue->second.messages;
    for (auto at = messages.lower_bound(scan.from); at != messages.end(); ++at) {
      const auto& [sequence, place] = *at;
      ++found.looked_at;
      found.scanned_through = sequence;
      // As on a disk: of what was stored without its arrival, nothing more is known.
      const std::int64_t own =
          place.arrived_ms == 0 ? kNoExpiration : place.batch->expiration(place.message);
      if (scan.rule.due(place.arrived_ms, own) > scan.now_ms) continue;
      if (found.ranges.size() == scan.max_ranges) {
        found.scanned_through = Sequence{sequence.value - 1};
        found.more = true;
        break;
      }
      found.ranges.push_back({sequence.value, sequence.value});
    }
    return found;
  }

  LoadedMessages read(QueueId id, const Queue& queue, Sequence from, Sequence through,
                      std::size_t max_bytes) const {
    LoadedMessages loaded;
    loaded.scanned_through = through;
    std::size_t bytes = 0;
    const auto end = queue.messages.upper_bound(through);
    for (auto at = queue.messages.lower_bound(from); at != end; ++at) {
      const auto& [sequence, place] = *at;
      if (bytes >= max_bytes && bytes > 0) {
        loaded.scanned_through = Sequence{sequence.value - 1};
        break;
      }
      bytes += std::max<std::size_t>(1, place.batch->body_size(place.message));
      if (corrupt.contains({id, sequence})) {
        loaded.corrupt.push_back(sequence);
        if (not_set_aside.contains({id, sequence})) loaded.not_set_aside.push_back(sequence);
      } else if (extends(loaded.runs, sequence, place)) {
        ++loaded.runs.back().count;
      } else {
        loaded.runs.push_back({sequence, place.batch, place.message, 1, place.arrived_ms});
      }
    }
    return loaded;
  }
  static bool extends(const std::vector<MessageRun>& runs, Sequence sequence, const Place& place) {
    return !runs.empty() && runs.back().last().next() == sequence &&
           runs.back().batch == place.batch && runs.back().arrived_ms == place.arrived_ms &&
           runs.back().begin + runs.back().count == place.message;
  }

  std::deque<ReplayedRecord> queued_;   // appended
  std::deque<ReplayedRecord> written_;  // flushed
  std::vector<ReplayedRecord> log_;     // committed
  std::map<ShardId, LogIndex> committed_;
  std::map<ShardId, LogIndex> last_index_;
  std::map<ShardId, LogIndex> released_;
  std::map<ShardId, Checkpoint> checkpoints_;
  std::map<QueueId, Queue> queues_;
  std::deque<std::function<void()>> started_;
  std::deque<std::function<void()>> finished_;
  std::uint64_t flushes_ = 0;
  std::uint64_t loads_ = 0;
  bool stopped_ = false;
};

}  // namespace segue::storage
