#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>

#include "common/bytes.h"
#include "common/message_batch.h"
#include "storage/disk_data_center.h"

namespace segue::node {

/// Counts the bytes of messages that are alive: each buffer once, from its arrival until the last
/// slice of it is gone, whoever holds it (queues, the log's writer, sockets). Says when messages
/// have to go to disk and when no more may come in. Reactor's thread; slices may die on any.
class MemoryBudget {
 public:
  explicit MemoryBudget(std::uint64_t limit)
      : limit_(limit), used_(std::make_shared<std::atomic<std::uint64_t>>(0)) {}

  /// The bytes, counted from now on together with `extra` for what is kept beside them. Small ones
  /// are copied, since a slice keeps the whole frame alive that it came in.
  SharedBytes track(SharedBytes bytes, std::size_t extra);
  /// What was read from disk, counted from now on: each batch once, however many runs are of it.
  storage::LoadedMessages tracked(const storage::LoadedMessages& loaded);

  /// What is kept beside messages, and no more.
  void add(std::uint64_t bytes) { used_->fetch_add(bytes, std::memory_order_relaxed); }
  void remove(std::uint64_t bytes) { used_->fetch_sub(bytes, std::memory_order_relaxed); }

  /// What the process may take.
  std::uint64_t limit() const { return limit_; }
  std::uint64_t used() const { return used_->load(std::memory_order_relaxed); }
  bool should_spill() const { return used() > for_messages() / 100 * 40; }
  /// How much to give back until should_spill() has been false for a while.
  std::uint64_t surplus() const {
    const std::uint64_t aim = for_messages() / 100 * 35;
    return used() > aim ? used() - aim : 0;
  }
  bool above_block_mark() const { return used() > for_messages() / 100 * 70; }
  /// What the deduplication windows of the node may take of it, together.
  std::uint64_t ids_limit() const { return for_messages() / 4; }
  bool below_unblock_mark() const { return used() < for_messages() / 100 * 66; }

 private:
  MessageBatchPtr track(MessageBatchPtr batch);

  using Counter = std::shared_ptr<std::atomic<std::uint64_t>>;
  template <typename Held>
  struct Holder;

  /// Buffers of the log, of segments and of sockets, and the program itself, do not shrink with the
  /// limit.
  static constexpr std::uint64_t kFixedBytes = 32 << 20;
  std::uint64_t for_messages() const { return limit_ - std::min(limit_ / 2, kFixedBytes); }

  const std::uint64_t limit_;
  Counter used_;
};

}  // namespace segue::node
