#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "common/random.h"
#include "storage/thread_signal.h"
#include "storage/wal_format.h"
#include "storage/wal_recovery.h"
#include "storage/wal_writer.h"
#include "tests/fakes/faulty_file_system.h"

namespace segue::storage {

/// A WAL on a file system that can break, and what was read back from it.
class WalHarness {
 public:
  static constexpr std::uint64_t kNode = 77;

  WalHarness() {
    options.directory = "/wal";
    options.node_hash = kNode;
    options.file_bytes = 8 * kWalBlock;
    options.reserve_bytes = 0;
    options.random = &salts_;
    options.wakeup = [this] { signal_.notify(); };
    options.fatal = [this](const Status& status) {
      std::lock_guard lock(mutex_);
      fatals_.push_back(status);
      signal_.notify();
    };
  }

  Result<RecoveredWal> recover() {
    replayed.clear();
    return recover_wal(files, {"/wal", kNode, applied}, [this](const ReplayedRecord& record) {
      EXPECT_GT(record.index, applied.contains(record.shard) ? applied[record.shard] : LogIndex{0});
      replayed[record.shard].push_back(record);
      return Status::ok();
    });
  }
  Status open() {
    wal.reset();
    auto recovered = recover();
    if (!recovered) return recovered.status();
    auto writer = WalWriter::open(files, options, *recovered);
    if (!writer) return writer.status();
    wal = std::move(*writer);
    for (const auto& [shard, index] : applied) wal->release(shard, index);
    return Status::ok();
  }

  static LogRecord record(std::uint16_t shard, std::uint64_t index, std::string body = "body",
                          bool sync = true) {
    LogRecord made;
    made.shard = ShardId(shard);
    made.index = LogIndex(index);
    made.command = "command " + std::to_string(shard) + "/" + std::to_string(index);
    made.bodies.push_back(SharedBytes::from(std::move(body)));
    made.sync = sync;
    return made;
  }
  static std::string text(const LogRecord& record) {
    std::string all = record.command;
    for (const SharedBytes& body : record.bodies) all += body.view();
    return all;
  }
  static std::string text(const ReplayedRecord& record) {
    return std::string(record.command.view()) + std::string(record.bodies.view());
  }

  /// Appends one record as a group of its own and waits for it.
  Status write(LogRecord record) {
    const Committed wanted{record.shard, record.index};
    SEGUE_RETURN_IF_ERROR(wal->append(std::move(record)));
    wal->flush();
    return wait_for(wanted) ? Status::ok() : Status(Code::kIoError, "not committed");
  }
  /// Polls until this is committed, or nothing can come any more.
  bool wait_for(const Committed& wanted) {
    while (true) {
      for (const Committed& done : wal->poll()) committed[done.shard] = done.up_to;
      if (committed[wanted.shard] >= wanted.up_to) return true;
      if (!fatals().empty() || files.halted()) return false;
      signal_.wait(std::chrono::milliseconds(20));
    }
  }
  std::vector<Status> fatals() const {
    std::lock_guard lock(mutex_);
    return fatals_;
  }
  /// The process is killed; what it had written stays.
  void kill() {
    files.kill_process();
    forget();
  }
  /// The power fails.
  void crash(Random& random) {
    files.halt_at(1);
    forget();
    files.crash(random);
  }
  std::vector<std::string> wal_files() const {
    std::vector<std::string> paths;
    for (const std::string& path : files.paths()) {
      if (path.ends_with(".wal")) paths.push_back(path);
    }
    return paths;
  }
  /// Offsets of the blocks in the file at which a group starts.
  std::vector<std::uint64_t> groups_of(const std::string& path) const {
    const std::string content = files.content(path);
    const auto header = WalFileHeader::decode(content.data(), path);
    std::vector<std::uint64_t> offsets;
    for (std::uint64_t at = kWalBlock; at < content.size(); at += kWalBlock) {
      if (WalGroupHeader::decode(content.data() + at, header->seed())) offsets.push_back(at);
    }
    return offsets;
  }

  FaultyFileSystem files;
  WalOptions options;
  std::map<ShardId, LogIndex> applied;
  std::map<ShardId, LogIndex> committed;
  std::map<ShardId, std::vector<ReplayedRecord>> replayed;
  std::unique_ptr<WalWriter> wal;

 private:
  void forget() {
    wal.reset();
    std::lock_guard lock(mutex_);
    fatals_.clear();
  }

  SeededRandom salts_{1};
  ThreadSignal signal_;
  mutable std::mutex mutex_;  // the fatal handler runs on the WAL thread
  std::vector<Status> fatals_;
};

}  // namespace segue::storage
