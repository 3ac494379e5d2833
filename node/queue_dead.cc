// The dead messages of a queue (class Queue).
#include <algorithm>

#include "node/queue.h"

namespace segue::node {

const DeadLetters& Queue::dead() const {
  static const DeadLetters none;
  return active_ ? active_->dead : none;
}

std::vector<MessageRun> Queue::without_dead(const std::vector<MessageRun>& runs) const {
  if (dead().empty()) return runs;
  std::vector<MessageRun> left;
  for (const MessageRun& run : runs) {
    for (std::uint32_t at = 0; at < run.count;) {
      const std::uint64_t sequence = run.first.value + at;
      const std::uint64_t rest = run.count - at;
      NumberRange dead_range;
      const bool any = dead().find_from(sequence, &dead_range);
      const std::uint64_t alive =
          any ? std::min(rest, std::max(dead_range.first, sequence) - sequence) : rest;
      if (alive > 0) left.push_back(run.part(at, static_cast<std::uint32_t>(alive)));
      at += static_cast<std::uint32_t>(
          alive == rest ? rest : std::min(rest, dead_range.last + 1 - sequence));
    }
  }
  return left;
}

void Queue::apply_dead(const DeadLetters::Range& range) {
  active().dead.add(range);
  active().counts.erase(range.sequences);
  active().released.remove(range.sequences);
  if (!active().leaving.empty()) active().leaving.remove(range.sequences);
  next_dead_number_ = std::max(next_dead_number_, range.last_number() + 1);
}

void Queue::apply_enqueue_dead(Sequence first, const MessageBatchPtr& batch,
                               std::span<const std::uint32_t> places, std::int64_t time_ms,
                               std::uint64_t first_number) {
  const std::uint64_t ready = ready_;
  const std::uint64_t ready_bytes = ready_bytes_;
  const std::uint64_t enqueued = enqueued_total_;
  apply_enqueue(first, batch, places, time_ms);
  set_ready(ready);
  ready_bytes_ = ready_bytes;
  enqueued_total_ = enqueued;
  const std::uint64_t count = places.empty() ? batch->count() : places.size();
  apply_dead(
      {{first.value, first.value + count - 1}, first_number, v1::DEAD_REASON_MAXLEN, time_ms});
}

std::optional<MessageRun> Queue::find_in_memory(NumberRange range) const {
  if (!active_) return std::nullopt;
  auto run = active_->messages.first_run(Sequence{range.first}, Sequence{range.last});
  if (!run || run->first.value != range.first) return std::nullopt;
  return run;
}

std::optional<MessageRun> Queue::first_fresh(Sequence through) {
  while (true) {
    auto run = active_->messages.first_run(cursor_, through);
    NumberRange away;
    if (!run || !find_away(run->first.value, &away) || away.first > run->last().value) return run;
    if (away.first > run->first.value) {
      run->count = static_cast<std::uint32_t>(away.first - run->first.value);
      return run;
    }
    cursor_ = Sequence{away.last + 1};
    if (cursor_ > through) return std::nullopt;
  }
}

void Queue::skip_dead_gap() {
  if (!active_ || active_->dead.empty() || loading_) return;
  NumberRange dead_range;
  while (has_gap() && active_->dead.find_from(gap_begin_.value, &dead_range) &&
         dead_range.first <= gap_begin_.value) {
    // The next message that may be ready is beyond them.
    if (cursor_ == gap_begin_) cursor_ = Sequence{dead_range.last + 1};
    gap_begin_ = Sequence{dead_range.last + 1};
    if (gap_begin_ >= gap_end_) close_gap();
  }
}

void Queue::save_dead(v1::QueueState& state) const {
  if (next_dead_number_ > 1) state.set_next_dead_letter(next_dead_number_);
  for (auto range = dead().from_number(0); range;
       range = dead().from_number(range->last_number() + 1)) {
    v1::DeadRange& saved = *state.add_dead();
    saved.set_first_sequence(range->sequences.first);
    saved.set_last_sequence(range->sequences.last);
    saved.set_first_number(range->first_number);
    saved.set_reason(range->reason);
    saved.set_time_ms(range->time_ms);
  }
}

void Queue::restore_dead(const v1::QueueState& state) {
  next_dead_number_ = std::max<std::uint64_t>(state.next_dead_letter(), 1);
  for (const v1::DeadRange& saved : state.dead()) {
    apply_dead({{saved.first_sequence(), saved.last_sequence()},
                saved.first_number(),
                saved.reason(),
                saved.time_ms()});
  }
}

}  // namespace segue::node
