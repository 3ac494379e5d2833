// What of a queue is in memory: reading ahead, storing, evicting (class Queue).
#include <algorithm>
#include <utility>

#include "common/check.h"
#include "node/queue.h"

namespace segue::node {

namespace {

/// A load of returned messages goes on over holes up to so many messages.
constexpr std::uint64_t kSmallHole = 64;

}  // namespace

// ---- reading ahead

std::optional<Queue::LoadPlan> Queue::plan_load(std::uint64_t window) const {
  if (loading_) return std::nullopt;
  if (active_ && !active_->returned.empty()) {
    NumberRange first = active_->returned.front();
    if (by_number_) {
      // The one that is wanted, if it is still ready.
      if (!active_->returned.find_from(wanted_.value, &first) || first.first > wanted_.value) {
        return plan_gap_load(window);
      }
      first.first = wanted_.value;
    }
    const auto run = active_->messages.first_run(Sequence{first.first}, Sequence{first.last});
    if (!run || run->first.value != first.first) return plan_returned(first);
  }
  return plan_gap_load(window);
}

std::optional<Queue::LoadPlan> Queue::plan_gap_load(std::uint64_t window) const {
  if (!has_gap() || window_bytes_ >= window) return std::nullopt;
  return LoadPlan{gap_begin_, Sequence{gap_end_.value - 1}, false};
}

Queue::LoadPlan Queue::plan_returned(NumberRange first) const {
  std::uint64_t through = first.last;
  const RangeSet::Map& ranges = active_->returned.ranges();
  for (auto next = ranges.upper_bound(first.first); next != ranges.end(); ++next) {
    if (next->first > through + kSmallHole) break;
    through = next->second;
  }
  return {Sequence{first.first}, Sequence{through}, true};
}

std::vector<NumberRange> Queue::finish_load(const LoadPlan& plan,
                                            const storage::LoadedMessages& loaded) {
  loading_ = false;
  if (plan.returned) return finish_returned_load(plan, loaded);
  if (has_gap() && plan.from == gap_begin_) return finish_gap_load(plan, loaded);
  return {};
}

std::vector<NumberRange> Queue::finish_returned_load(const LoadPlan& plan,
                                                     const storage::LoadedMessages& loaded) {
  std::vector<NumberRange> given_up;
  if (!active_) return given_up;
  RangeSet& returned = active_->returned;
  for (const MessageRun& run : loaded.runs) {
    // Of what was loaded, only what is still ready; the rest is unacked and may stay on disk.
    NumberRange wanted;
    std::uint64_t at = run.first.value;
    while (at <= run.last().value && returned.find_from(at, &wanted) &&
           wanted.first <= run.last().value) {
      const std::uint64_t low = std::max(wanted.first, at);
      const std::uint64_t high = std::min(wanted.last, run.last().value);
      active_->messages.insert(run.part(static_cast<std::uint32_t>(low - run.first.value),
                                        static_cast<std::uint32_t>(high - low + 1)));
      at = high + 1;
    }
  }
  const Sequence scanned = std::clamp(loaded.scanned_through, plan.from, plan.through);
  std::uint64_t at = plan.from.value;
  NumberRange wanted;
  while (at <= scanned.value && returned.find_from(at, &wanted) && wanted.first <= scanned.value) {
    const Sequence low{std::max(wanted.first, at)};
    const Sequence high{std::min(wanted.last, scanned.value)};
    const auto run = active_->messages.first_run(low, high);
    const std::uint64_t missing_end = run ? run->first.value : high.value + 1;
    if (missing_end > low.value) {
      given_up.push_back({low.value, missing_end - 1});
      lose(returned.remove(given_up.back()));
    }
    at = run ? run->last().value + 1 : high.value + 1;
  }
  return given_up;
}

std::vector<NumberRange> Queue::finish_gap_load(const LoadPlan& plan,
                                                const storage::LoadedMessages& loaded) {
  for (const MessageRun& run : loaded.runs) {
    active().messages.insert(run);
    window_bytes_ += run.body_bytes();
  }
  std::vector<NumberRange> given_up;
  for (const Sequence sequence : loaded.corrupt) {
    NumberRange away;
    const bool leaves = find_away(sequence.value, &away) && away.first <= sequence.value;
    if (sequence >= plan.from && sequence < gap_end_ && !leaves) {
      given_up.push_back({sequence.value, sequence.value});
    }
  }
  lose(given_up.size());
  const Sequence scanned = std::max(loaded.scanned_through, plan.from);
  gap_begin_ = scanned.next();
  if (gap_begin_ >= gap_end_) {
    close_gap();
    window_bytes_ = 0;
  }
  return given_up;
}

void Queue::lose(std::uint64_t count) {
  set_ready(ready_ - std::min(count, ready_));
  if (count > 0 && sizes_ != nullptr) count_ready_bytes(sizes_);
}

// ---- storing and evicting

std::vector<MessageRun> Queue::begin_store(std::uint64_t max_bytes) {
  SEGUE_CHECK(!storing_);
  std::vector<MessageRun> runs;
  if (!active_) return runs;
  stored_through_ = active_->messages.collect(stored_through_, applied_through(), max_bytes, runs);
  for (MessageRun& run : runs) {
    unstored_bytes_ -= run.body_bytes();
    run.delayed = delays_;
    // What cannot expire is stored without its arrival.
    if (!delays_ && expiry_.ttl_ms < 0 && !run.batch->can_expire()) run.arrived_ms = 0;
  }
  storing_ = !runs.empty();
  if (runs.empty()) written_through_ = stored_through_;
  return runs;
}

void Queue::finish_store(bool written) {
  storing_ = false;
  if (written) {
    written_through_ = stored_through_;
    return;
  }
  stored_through_ = written_through_;
  unstored_bytes_ = active_ ? active_->messages.body_bytes(stored_through_, applied_through()) : 0;
}

Sequence Queue::collect(Sequence after, std::uint64_t max_bytes,
                        std::vector<MessageRun>& runs) const {
  if (!active_) return applied_through();
  const Sequence through = active_->messages.collect(after, applied_through(), max_bytes, runs);
  return runs.empty() ? applied_through() : through;
}

bool Queue::is_written(Sequence through) const {
  if (written_through_ >= through) return true;
  return !storing_ && (!active_ || !active_->messages.first_run(stored_through_.next(), through));
}

std::uint64_t Queue::evict_window(std::uint64_t keep) {
  if (!active_ || loading_) return 0;
  QueueMessages& messages = active_->messages;
  std::uint64_t freed = 0;
  if (has_gap() && written_through_ >= gap_end_) {
    freed += messages.evict({gap_end_.value, written_through_.value});
    gap_end_ = written_through_.next();
  }
  const Sequence begin = messages.block_after(cursor_, keep);
  const Sequence end = has_gap() ? gap_begin_ : written_through_.next();
  if (begin < end) {
    const std::uint64_t evicted = messages.evict({begin.value, end.value - 1});
    if (evicted > 0) {
      freed += evicted;
      gap_begin_ = begin;
      if (gap_end_ < end) gap_end_ = end;
      window_bytes_ = keep;
    }
  }
  return freed;
}

std::uint64_t Queue::evict_delivered() {
  if (!active_ || cursor_.value <= 1) return 0;
  const std::uint64_t last = std::min(cursor_.value - 1, written_through_.value);
  return active_->messages.evict({1, last});
}

void Queue::release_if_idle() {
  if (active_ && !loading_ && !storing_ && active_->messages.empty() && active_->returned.empty() &&
      active_->counts.empty() && active_->released.empty() && active_->dead.empty() &&
      active_->leaving.empty() && active_->resting.empty()) {
    active_.reset();
  }
}

}  // namespace segue::node
