#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "storage/file_disk_data_center.h"
#include "tests/fakes/capture_logger.h"
#include "tests/fakes/faulty_file_system.h"
#include "tests/storage/segment_fixture.h"

namespace segue::storage {

/// What a queue must hold: unsettled messages by sequence.
using ModelQueue = std::map<std::uint64_t, std::string>;
using Model = std::map<std::uint64_t, ModelQueue>;

/// Goes on a little whenever it is looked at: waiting takes no time. Safe from any thread.
class RunningClock final : public Clock {
 public:
  TimePoint now() const override { return TimePoint(std::chrono::milliseconds(++milliseconds_)); }
  std::int64_t wall_ms() const override { return milliseconds_; }

 private:
  mutable std::atomic<std::int64_t> milliseconds_{1'000'000};
};

/// The smallest node that keeps the disk data center's rules: logs every command, applies it when
/// it is committed, stores what it does not want in memory, checkpoints, and comes back. Shows in
/// held() what its queues hold, in memory and on disk together. Any failure that a node does not
/// survive makes it dead().
class ModelNode {
 public:
  /// `steps`: of the background's work, in the next poll of the disk; left out: all there is.
  ModelNode(FaultyFileSystem& files, std::uint64_t segment_bytes = 4096,
            std::function<int()> steps = {}, const std::string& directory = "/data")
      : files_(files) {
    DiskOptions options;
    options.directory = directory;
    options.cluster = "c";
    options.node_id = "n";
    options.shard_count = kShards;
    options.wal_file_bytes = 16 << 10;
    options.wal_reserve_bytes = 8 << 10;
    options.segment_bytes = segment_bytes;
    options.gc = gc_options();
    options.logger = &logger_.logger();
    options.clock = &clock_;
    options.fatal = [this](const Status&) { dead_ = true; };
    auto opened = FileDiskDataCenter::open(
        files, options, std::make_unique<InlineExecutor>(std::move(steps)),
        [this](DiskDataCenter& disk, const std::vector<RecoveredShard>& shards) {
          disk_ = &disk;
          for (const RecoveredShard& shard : shards) restore(shard);
          return Status();
        },
        [this](const ReplayedRecord& record) {
          note_replayed(std::string(record.command.view()));
          apply(record.shard, std::string(record.command.view()));
          return Status();
        });
    opened_ = opened.is_ok() ? Status() : opened.status();
    if (!opened.is_ok()) {
      dead_ = true;
      return;
    }
    for (const Committed& end : opened->log_ends) index_[end.shard] = end.up_to;
    own_ = std::move(opened->disk);
    recovered_.clear();  // what is stored from now on is known
  }

  /// Collects the least of garbage, at once.
  static GcOptions gc_options() {
    GcOptions gc;
    gc.thresholds.min_bytes = 500;
    gc.thresholds.min_messages = 5;
    gc.thresholds.slack_bytes = 200;
    gc.bytes_per_second = 1ull << 40;
    return gc;
  }

  const Status& opened() const { return opened_; }
  bool dead() const { return dead_; }
  DiskDataCenter& disk() { return *own_; }
  const CaptureLogger& log() const { return logger_; }
  /// What files that were removed had, and the log does not know to be settled.
  std::vector<MissingMessages::Loss> losses() const { return missing_.losses(); }

  /// Logs a command ("E queue first last", "S queue first last", "D queue"), and applies it once it
  /// is committed. False: it may or may not be in the log.
  bool run(std::uint64_t queue, const std::string& command) {
    const ShardId shard = shard_of(queue);
    LogRecord record;
    record.shard = shard;
    record.index = index_[shard].next();
    record.command = command;
    record.uses_reserve = command[0] != 'E';
    if (const Status appended = own_->append(std::move(record)); !appended.is_ok()) {
      if (appended.code() != Code::kNoSpace) dead_ = true;
      return false;
    }
    index_[shard] = index_[shard].next();
    own_->flush();
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    // Without power nothing is committed any more; a log that waits for a file would wait for ever.
    while (!dead_ && !files_.halted() && std::chrono::steady_clock::now() < deadline) {
      for (const Committed& committed : own_->poll()) {
        if (committed.shard == shard && committed.up_to == index_[shard]) {
          apply(shard, command);
          return true;
        }
      }
      std::this_thread::yield();  // to the WAL's thread
    }
    dead_ = true;
    return false;
  }

  /// Has the disk store the first `count` messages that the queue has in memory.
  void store(std::uint64_t queue, std::size_t count) {
    std::vector<MessageRun> runs;
    std::vector<std::uint64_t> sequences;
    for (const auto& [sequence, body] : memory_[queue]) {
      if (sequences.size() == count) break;
      if (storing_[queue].contains(sequence)) continue;
      sequences.push_back(sequence);
      runs.push_back({Sequence{sequence}, batch_of({body}), 0, 1});
    }
    if (runs.empty()) return;
    storing_[queue].insert(sequences.begin(), sequences.end());
    own_->store(shard_of(queue), QueueId{queue}, std::move(runs),
                [this, queue, sequences](const Status& status) {
                  for (const std::uint64_t sequence : sequences) {
                    storing_[queue].erase(sequence);
                    if (status.is_ok()) memory_[queue].erase(sequence);
                  }
                });
  }

  /// Checkpoints the shard; true if it was written.
  bool checkpoint(ShardId shard) {
    for (const auto& [queue, messages] : memory_) {
      if (shard_of(queue) == shard) store(queue, ~std::size_t{0});
    }
    std::ostringstream state;
    for (const auto& [queue, next] : next_) {
      if (shard_of(queue) == shard) state << queue << " " << next << "\n";
    }
    std::optional<Status> result;
    own_->checkpoint(shard, index_[shard], state.str(), [&](Status status) { result = status; });
    for (int i = 0; i < 1000 && !result && !dead_; ++i) own_->poll();
    return result && result->is_ok();
  }

  std::uint64_t next_sequence(std::uint64_t queue) const {
    const auto next = next_.find(queue);
    return next == next_.end() ? 1 : next->second;
  }

  /// Everything that the queues hold. Nothing if the disk cannot be read.
  std::optional<Model> held() {
    Model all;
    std::set<std::uint64_t> queues;
    for (const auto& [queue, messages] : memory_) queues.insert(queue);
    for (const auto& [queue, next] : next_) queues.insert(queue);
    for (const std::uint64_t queue : queues) {
      ModelQueue messages = memory_[queue];
      if (!read_stored(queue, messages)) return {};
      if (!messages.empty()) all[queue] = std::move(messages);
    }
    return all;
  }

  void poll() { own_->poll(); }
  void stop() { own_->stop(); }

  static constexpr std::uint32_t kShards = 2;
  static ShardId shard_of(std::uint64_t queue) {
    return ShardId{static_cast<std::uint16_t>(queue % kShards)};
  }
  static std::string body(std::uint64_t queue, std::uint64_t sequence) {
    return "q" + std::to_string(queue) + " " + body_of(sequence);
  }

 private:
  void restore(const RecoveredShard& shard) {
    std::istringstream state(shard.state);
    for (std::uint64_t queue = 0, next = 0; state >> queue >> next;) next_[queue] = next;
    for (const MissingSegment& segment : shard.missing) missing_.add(segment);
    for (const StoredQueue& stored : shard.queues) {
      recovered_[stored.id.value] = stored.last_stored.value;
    }
  }

  void note_replayed(const std::string& command) {
    std::istringstream in(command);
    char kind = 0;
    std::uint64_t queue = 0, first = 0, last = 0;
    in >> kind >> queue >> first >> last;
    if (kind == 'D') {
      missing_.forget(QueueId{queue});
    } else {
      missing_.found_in_log(QueueId{queue}, Sequence{first}, Sequence{last});
    }
  }

  void apply(ShardId, const std::string& command) {
    std::istringstream in(command);
    char kind = 0;
    std::uint64_t queue = 0, first = 0, last = 0;
    in >> kind >> queue >> first >> last;
    if (kind == 'E') {
      for (std::uint64_t s = first; s <= last; ++s) {
        // At or below what recovery found stored: there, or settled later in the log.
        if (s > recovered_[queue]) memory_[queue][s] = body(queue, s);
      }
      next_[queue] = std::max(next_sequence(queue), last + 1);
    } else if (kind == 'S') {
      auto& messages = memory_[queue];
      messages.erase(messages.lower_bound(first), messages.upper_bound(last));
      disk_->settle(QueueId{queue}, Sequence{first}, Sequence{last});
    } else {
      memory_.erase(queue);
      recovered_.erase(queue);
      next_.erase(queue);
      disk_->drop_queue(QueueId{queue});
    }
  }

  bool read_stored(std::uint64_t queue, ModelQueue& messages) {
    for (std::uint64_t from = 1; from <= next_sequence(queue);) {
      std::optional<Result<LoadedMessages>> loaded;
      own_->load(QueueId{queue}, Sequence{from}, Sequence{next_sequence(queue)}, 300,
                 [&](Result<LoadedMessages> result) { loaded = std::move(result); });
      for (int i = 0; i < 1000 && !loaded; ++i) own_->poll();
      if (!loaded || !loaded->is_ok() || !(*loaded)->corrupt.empty()) return false;
      for (const MessageRun& run : (*loaded)->runs) {
        for (std::uint32_t i = 0; i < run.count; ++i) {
          messages[run.first.value + i] = std::string(run.batch->body(run.begin + i));
        }
      }
      from = (*loaded)->scanned_through.value + 1;
    }
    return true;
  }

  FaultyFileSystem& files_;
  RunningClock clock_;
  CaptureLogger logger_;
  std::atomic<bool> dead_ = false;
  Status opened_;
  DiskDataCenter* disk_ = nullptr;
  MissingMessages missing_;
  std::map<ShardId, LogIndex> index_;
  std::map<std::uint64_t, std::uint64_t> next_;
  std::map<std::uint64_t, std::uint64_t> recovered_;
  std::map<std::uint64_t, ModelQueue> memory_;
  std::map<std::uint64_t, std::set<std::uint64_t>> storing_;
  std::unique_ptr<DiskDataCenter> own_;
};

}  // namespace segue::storage
