#pragma once

#include <string>

#include "common/clock.h"
#include "node/memory_budget.h"
#include "storage/disk_data_center.h"

namespace segue::node {

/// Decides whether publishes are taken: not while memory or disk is short. What was refused can be
/// sent again when the reason is gone; consuming and settling never stop, so it goes away.
/// Reactor's thread.
class PublishGate {
 public:
  /// `wal_limit`: bytes of log that the checkpoints may be behind.
  PublishGate(const MemoryBudget& memory, std::uint64_t free_disk_limit, std::uint64_t wal_limit)
      : memory_(memory), free_disk_limit_(free_disk_limit), wal_limit_(wal_limit) {}

  /// Why publishes are refused; empty while they are taken.
  const std::string& reason() const {
    return memory_reason_.empty() ? disk_reason_ : memory_reason_;
  }
  bool closed() const { return !reason().empty(); }
  /// Space is missing on the disk, which can last: publishes should not wait for it.
  bool out_of_space() const { return out_of_space_; }

  /// Cheap: before each publish.
  void check_memory();
  /// With each tick, and in every turn while closed.
  void check_disk(const storage::DiskStats& stats, TimePoint now);
  /// A write found no space. Tried again after a second.
  void no_space(const std::string& what, TimePoint now);
  /// The log took no record for now: until the next tick looks again.
  void log_is_short();

 private:
  const MemoryBudget& memory_;
  const std::uint64_t free_disk_limit_;
  const std::uint64_t wal_limit_;
  std::string memory_reason_;
  std::string disk_reason_;
  bool out_of_space_ = false;
  TimePoint no_space_until_{};
};

}  // namespace segue::node
