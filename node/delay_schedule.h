#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <set>
#include <vector>

#include "storage/disk_data_center.h"

namespace segue::node {

/// When the messages of a delay lane are due, as far as memory should hold it: all that are due
/// before the horizon. Those from the horizon on are only in the lane; a scan of the lane finds the
/// next ones when these run low. Knows nothing of disks, clocks, or which messages are still there:
/// who asks it checks that. Reactor's thread.
class DelaySchedule {
 public:
  using Due = storage::DueMessage;
  static constexpr std::size_t kMost = 100'000;
  static constexpr Due kEnd{std::numeric_limits<std::int64_t>::max(),
                            Sequence{std::numeric_limits<std::uint64_t>::max()}};

  /// Keeps about `most` of them.
  explicit DelaySchedule(std::size_t most = kMost) : most_(most) {}

  /// The lane has no messages.
  void clear();
  /// The lane has messages that were not add()ed.
  void forget();
  /// A message came into the lane, or stays there.
  void add(Due due);
  /// It is not there any more.
  void remove(Due due) { near_.erase(due); }

  /// The first message; null if none is known before the horizon.
  const Due* first() const { return near_.empty() ? nullptr : &*near_.begin(); }
  /// The first message behind `due`.
  const Due* after(Due due) const {
    const auto at = near_.upper_bound(due);
    return at == near_.end() ? nullptr : &*at;
  }

  /// Whether a scan would be good now.
  bool wants_scan() const { return !scanning_ && horizon_ < kEnd && near_.size() <= most_ / 4; }
  /// A scan begins: every message of the lane from horizon() to below() that is in it now is to be
  /// offered, and those that are added meanwhile are taken care of.
  void begin_scan();
  bool scanning() const { return scanning_; }
  Due horizon() const { return horizon_; }
  Due below() const { return below_; }
  void offer(Due due);
  void end_scan();
  /// Nothing of it counts.
  void abandon_scan();

  std::size_t size() const { return near_.size(); }

 private:
  void keep_first();

  const std::size_t most_;
  std::set<Due> near_;
  Due horizon_ = kEnd;
  bool scanning_ = false;
  bool void_ = false;  // the horizon was lowered during the scan
  std::vector<Due> offered_;
  Due below_ = kEnd;
};

}  // namespace segue::node
