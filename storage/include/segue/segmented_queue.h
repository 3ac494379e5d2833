#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "segue/polled_batch.h"
#include "segue/status.h"

namespace segue::storage {

/// When what a call changed is on the disk. Whatever is chosen: nothing is read back without its
/// checksum, sync() and close() make everything durable, and what was durable survives any end of
/// the process or the machine.
enum class Durability {
  /// At sync(), close() and the checkpoints that the queue makes by itself. After a crash the queue
  /// is as at one of these, less what was settled since; the fastest.
  kNone,
  /// Within SegmentedQueueOptions::interval. A crash may take what the last interval changed.
  kInterval,
  /// When the call returns: offered messages are there, polled or acked ones do not come back. A
  /// sync for each call (batches are what makes that fast), but calls of several threads share one.
  kEveryCall,
};

struct SegmentedQueueOptions {
  /// Of the queue alone; made if missing.
  std::string directory;
  Durability durability = Durability::kEveryCall;
  /// Of Durability::kInterval.
  std::chrono::milliseconds interval{1000};
  /// For messages in memory; the rest of the queue is on disk. At least 4 MiB. Beside it come some
  /// 30 MiB of buffers.
  std::size_t memory_bytes = 64u << 20;
  /// A file of messages is cut at this size; files go when all messages in them are settled.
  std::uint64_t segment_bytes = 64ull << 20;
  /// Of the log between two checkpoints: what an opening may have to read again.
  std::uint64_t log_bytes = 256ull << 20;
  /// True: files of messages are written and read through the system's page cache, so that what was
  /// stored not long ago is polled from memory. False: past it, which leaves the cache to others,
  /// and adds faster; for queues that are mostly larger than the machine's memory. Left out: true,
  /// but false with Durability::kEveryCall, whose syncs the cache's writes would delay.
  std::optional<bool> page_cache;
  /// Messages that may be polled and neither acked nor released. Each may keep 4 KiB of the disk.
  std::uint32_t max_unacked = 65536;
  /// Told, on any thread, what recovery changed and what is damaged, a line each. May be empty.
  std::function<void(const std::string& line)> log;
};

struct SegmentedQueueStats {
  std::uint64_t messages = 0;      // not settled: waiting and unacked ones
  std::uint64_t unacked = 0;       // polled, neither acked nor released
  std::uint64_t damaged = 0;       // found damaged since the opening, and left out
  std::uint64_t memory_bytes = 0;  // of messages in memory
  std::uint64_t disk_bytes = 0;    // of files of messages, and of the log
};

/// A queue of messages, first in first out, kept in a directory by the segments, log, checkpoints
/// and garbage collection of Segue's broker (docs/embedded.md).
///
/// One process at a time has a directory open. All calls are safe from any thread and see each
/// other's effects in some order; what one poll gives no other does. Lock: `mutex_` guards the
/// queue, once a call, so a batch pays it once; with Durability::kEveryCall it is held while a
/// small group is synced, since a hand-over to another thread costs more than the sync.
///
/// Numbers of messages: see PolledBatch::first(). Messages are any bytes, up to 256 MiB, empty ones
/// too.
///
/// Errors that every call may have: IO_ERROR, when a write or sync failed (what is on disk is
/// unknown, nothing works any more but closing; open again), and PRECONDITION_FAILED after close().
/// A full disk is NO_SPACE for offers, and for acks, clear() and sync() that it keeps from being
/// durable (they are done all the same); nothing is lost by it, and it heals. Polls go on.
class SegmentedQueue {
 public:
  /// Opens or makes the queue and recovers what is there. Messages that were polled and not acked
  /// come again, in their places. INVALID_CONFIG (options that cannot be, a directory that another
  /// process has open or that is another program's), CORRUPTION with file and offset, IO_ERROR.
  static Result<std::unique_ptr<SegmentedQueue>> open(SegmentedQueueOptions options);
  /// close(), if that was not called.
  ~SegmentedQueue();
  SegmentedQueue(const SegmentedQueue&) = delete;
  SegmentedQueue& operator=(const SegmentedQueue&) = delete;

  /// Adds a message; its bytes are copied. Waits while the memory is full of messages that are on
  /// their way to the disk. CONTENT_TOO_LARGE.
  Status offer(std::string_view message);
  /// Adds messages, in order, with one lock and, with kEveryCall, one sync. How many were added:
  /// fewer than given only when there is no space for more. After a crash within the call the first
  /// few may be there.
  Result<std::size_t> offer_batch(std::span<const std::string_view> messages);

  /// Takes the first message and settles it. False if there is none. May wait for the disk.
  /// CORRUPTION: messages at this place are damaged on the disk; they are left out, and the next
  /// call goes on behind them.
  Result<bool> poll(std::string& to);
  /// As poll(), up to `max` messages (at least one, if there is one; those that stand side by side
  /// in memory), without copying them.
  Result<PolledBatch> poll_batch(std::size_t max);
  /// As poll(), but leaves the message.
  Result<bool> peek(std::string& to);

  /// As poll_batch(), but the messages stay until they are acked; released ones, and after the next
  /// opening all that are not acked, come again, before any later ones. RESOURCE_ERROR when there
  /// are max_unacked already.
  Result<PolledBatch> poll_unacked(std::size_t max = 1);
  /// Settles messages [first, first + count) of poll_unacked(), in any order. NOT_FOUND (and none
  /// is settled) if one of them is not out.
  Status ack(std::uint64_t first, std::uint64_t count = 1);
  Status ack(const PolledBatch& batch) { return ack(batch.first(), batch.size()); }
  /// Gives messages of poll_unacked() back, for the next poll. Errors as of ack().
  Status release(std::uint64_t first, std::uint64_t count = 1);

  /// Messages that are not settled: waiting and unacked ones.
  std::uint64_t size() const;
  bool empty() const { return size() == 0; }
  SegmentedQueueStats stats() const;
  /// Removes all messages, unacked ones too.
  Status clear();
  /// Returns when everything before it is durable.
  Status sync();
  /// Makes everything durable and gives the directory back. Unacked messages stay in the queue.
  /// Calls afterwards are errors; batches that were polled stay valid. Waits for no other calls:
  /// there must be none.
  Status close();

 private:
  friend class SegmentedQueueOpener;
  class Impl;
  explicit SegmentedQueue(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl_;
};

}  // namespace segue::storage
