// What limits of a queue's length need to know of it (class Queue).
#include <algorithm>

#include "common/check.h"
#include "node/queue.h"

namespace segue::node {

std::uint64_t Queue::bytes_of(NumberRange range, const storage::DiskDataCenter& disk) const {
  std::uint64_t bytes = 0;
  // What was given to store() is known there, whether it is written or not; the rest is in memory.
  if (range.first <= stored_through_.value) {
    bytes += disk.body_bytes(id_, Sequence{range.first},
                             Sequence{std::min(range.last, stored_through_.value)});
  }
  if (active_ && range.last > stored_through_.value) {
    const Sequence after{std::max(range.first - 1, stored_through_.value)};
    bytes += active_->messages.body_bytes(after, Sequence{range.last});
  }
  return bytes;
}

void Queue::count_ready_bytes(const storage::DiskDataCenter* disk) {
  sizes_ = disk;
  ready_bytes_ = 0;
  if (disk == nullptr) return;
  if (active_) {
    for (const auto& [first, last] : active_->returned.ranges()) {
      ready_bytes_ += bytes_of({first, last}, *disk);
    }
  }
  if (cursor_ >= applied_next_) return;
  ready_bytes_ += bytes_of({cursor_.value, applied_next_.value - 1}, *disk);
  NumberRange away;
  for (std::uint64_t at = cursor_.value; find_away(at, &away); at = away.last + 1) {
    ready_bytes_ -= bytes_of({std::max(away.first, at), away.last}, *disk);
  }
}

/// The first messages without a hole that were never delivered, and are ready.
std::optional<NumberRange> Queue::fresh_head(const storage::DiskDataCenter& disk) const {
  Sequence from = cursor_;
  while (from < applied_next_) {
    std::optional<NumberRange> run;
    if (has_gap() && from >= gap_begin_ && from < gap_end_) {
      const Sequence through{gap_end_.value - 1};
      run = disk.valid_run(id_, from, through);
      if (!run) from = gap_end_;
    }
    if (!run) {
      const bool before_gap = has_gap() && from < gap_begin_;
      const Sequence through = before_gap ? Sequence{gap_begin_.value - 1} : applied_through();
      const auto here = active_ ? active_->messages.first_run(from, through) : std::nullopt;
      if (here) {
        run = NumberRange{here->first.value, here->last().value};
      } else if (before_gap) {
        from = gap_begin_;
        continue;
      } else {
        return {};
      }
    }
    NumberRange away;
    if (!find_away(run->first, &away) || away.first > run->last) return run;
    if (away.first > run->first) return NumberRange{run->first, away.first - 1};
    from = Sequence{away.last + 1};
  }
  return {};
}

std::optional<NumberRange> Queue::take_head(std::uint64_t max_count, std::uint64_t enough_bytes,
                                            const storage::DiskDataCenter& disk) {
  if (ready_ == 0 || max_count == 0) return {};
  const bool returned = active_ && !active_->returned.empty();
  std::optional<NumberRange> head;
  if (returned) {
    head = active_->returned.front();
  } else {
    head = fresh_head(disk);
  }
  if (!head) return {};
  head->last = std::min(head->last, head->first + std::min(max_count, ready_) - 1);
  std::uint64_t bytes = bytes_of(*head, disk);
  if (bytes >= enough_bytes) {
    // As few as are enough.
    std::uint64_t low = head->first;
    while (low < head->last) {
      const std::uint64_t middle = low + (head->last - low) / 2;
      const std::uint64_t fewer = bytes_of({head->first, middle}, disk);
      if (fewer >= enough_bytes) {
        head->last = middle;
        bytes = fewer;
      } else {
        low = middle + 1;
      }
    }
  }
  if (returned) {
    active_->returned.remove(*head);
  } else {
    cursor_ = Sequence{head->last + 1};
    window_bytes_ -= std::min(window_bytes_, bytes);
    // What is on the way from the disk for an earlier place is not needed any more.
    if (has_gap() && cursor_ > gap_begin_) {
      window_bytes_ = 0;
      gap_begin_ = std::min(cursor_, gap_end_);
      if (!has_gap()) close_gap();
    }
  }
  end_ready_bytes(bytes);
  set_ready(ready_ - head->count());
  dropped_total_ += head->count();
  return head;
}

}  // namespace segue::node
