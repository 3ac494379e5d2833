#include "node/queue.h"

#include <algorithm>
#include <utility>

#include "common/check.h"

namespace segue::node {

namespace {

/// Marks are reserved so many messages ahead of the cursor, and renewed when half is used.
constexpr std::uint64_t kMarkStep = 10'000;

}  // namespace

Queue::~Queue() {
  totals_.ready -= ready_;
  totals_.unacked -= unacked_;
}

void Queue::set_ready(std::uint64_t ready) {
  totals_.ready += ready - ready_;
  ready_ = ready;
}

void Queue::end_unacked(std::uint64_t count) {
  SEGUE_CHECK(unacked_ >= count);
  unacked_ -= count;
  totals_.unacked -= count;
}

std::string Queue::display_name() const {
  return defined_ ? "'" + name_ + "'" : "number " + std::to_string(id_.value);
}

void Queue::define(const std::string& name, QueueDurability durability, bool auto_delete) {
  name_ = name;
  durability_ = durability;
  auto_delete_ = auto_delete;
  defined_ = true;
}

Queue::Active& Queue::active() {
  if (!active_) active_ = std::make_unique<Active>();
  return *active_;
}

const DeliveryCounts& Queue::active_counts() const {
  static const DeliveryCounts none;
  return active_ ? active_->counts : none;
}

// ---- the state machine

void Queue::apply_enqueue(Sequence first, const MessageBatchPtr& batch,
                          std::span<const std::uint32_t> places, std::int64_t arrived_ms) {
  QueueMessages& messages = active().messages;
  const auto count = places.empty() ? batch->count() : static_cast<std::uint32_t>(places.size());
  // Replayed over what was stored after the checkpoint: those are on disk.
  const std::uint64_t known =
      applied_next_ > first ? std::min<std::uint64_t>(count, applied_next_.value - first.value) : 0;
  std::uint32_t at = static_cast<std::uint32_t>(known);
  while (at < count) {
    const std::uint32_t place = places.empty() ? at : places[at];
    std::uint32_t length = places.empty() ? count - at : 1;
    while (at + length < count && places[at + length] == place + length) ++length;
    MessageRun run{first.next(at), batch, place, length, arrived_ms};
    unstored_bytes_ += run.body_bytes();
    add_ready_bytes(run.body_bytes());
    messages.append(std::move(run));
    at += length;
  }
  own_expirations_ = own_expirations_ || batch->can_expire();
  at_once_ = at_once_ || expiry_.ttl_ms == 0 || batch->least_expiration() == 0;
  const std::uint64_t added = count - known;
  set_ready(ready_ + added);
  enqueued_total_ += added;
  applied_next_ = std::max(applied_next_, first.next(count));
  next_ = std::max(next_, applied_next_);
}

void Queue::apply_settle(NumberRange range, storage::DiskDataCenter& disk) {
  if (active_) {
    unstored_bytes_ -= active_->messages.settle(range, stored_through_).body_bytes;
    active_->counts.erase(range);
    active_->released.remove(range);
    if (!active_->leaving.empty()) active_->leaving.remove(range);
    if (!active_->dead.empty()) active_->dead.remove(range);
  }
  if (range.first <= stored_through_.value) {
    disk.settle(id_, Sequence{range.first}, Sequence{std::min(range.last, stored_through_.value)});
  }
}

void Queue::apply_requeue(NumberRange range) {
  active().counts.increment(range);
}

void Queue::apply_mark(Sequence mark) {
  mark_ = std::max(mark_, mark);
  proposed_mark_ = std::max(proposed_mark_, mark);
}

bool Queue::save(v1::QueueState& state) const {
  if (applied_next_ == Sequence{1}) return false;
  state.set_queue_id(id_.value);
  state.set_next_sequence(applied_next_.value);
  state.set_delivery_mark(mark_.value);
  for (const auto& [first, span] : active_counts().spans()) {
    v1::CountedRange& range = *state.add_delivery_counts();
    range.set_first(first);
    range.set_last(span.last);
    range.set_count(span.count);
  }
  save_dead(state);
  return true;
}

// ---- start

void Queue::restore(const v1::QueueState& state) {
  applied_next_ = std::max(applied_next_, Sequence{state.next_sequence()});
  next_ = applied_next_;
  apply_mark(Sequence{state.delivery_mark()});
  for (const v1::CountedRange& range : state.delivery_counts()) {
    active().counts.set({range.first(), range.last()}, range.count());
  }
  restore_dead(state);
}

void Queue::restore_stored(const storage::StoredQueue& stored) {
  stored_through_ = written_through_ = stored.last_stored;
  applied_next_ = std::max(applied_next_, stored.last_stored.next());
  next_ = applied_next_;
}

void Queue::finish_replay(const storage::StoredQueue& stored) {
  recovered_mark_ = mark_;
  const std::uint64_t there = stored.messages + (active_ ? active_->messages.count_messages() : 0);
  set_ready(there - std::min(there, dead().count()));
  enqueued_total_ = ready_;  // all totals begin now, with what is there
  cursor_ = Sequence{1};
  if (stored.messages > 0) {
    cursor_ = gap_begin_ = stored.first_valid;
    gap_end_ = stored_through_.next();
  }
  next_ = applied_next_;
  own_expirations_ = ready_ > 0;  // until somebody looks
  end_at_once();
}

void Queue::start_empty() {
  active_.reset();
  stored_through_ = written_through_ = Sequence{0};
  cursor_ = applied_next_ = next_;
  close_gap();
  set_ready(0);
  unstored_bytes_ = window_bytes_ = ready_bytes_ = 0;
  own_expirations_ = false;
}

// ---- delivering

std::optional<Sequence> Queue::wanted_mark() const {
  const Sequence last{next_.value - 1};
  if (!durable() || proposed_mark_ >= last) return std::nullopt;
  if (cursor_.value + kMarkStep / 2 <= proposed_mark_.value) return std::nullopt;
  return std::min(last, cursor_.next(kMarkStep));
}

Queue::Next Queue::next(std::uint32_t max_count, std::int64_t now_ms) {
  if (!active_ && !has_gap()) {
    cursor_ = applied_next_;
    lose(ready_);
    return {};
  }
  const bool returned = !by_number_ && !active().returned.empty();
  Next next = returned ? next_returned(max_count) : next_fresh(max_count);
  if (next.wait == Wait::kNothing) set_apart_expired(next, now_ms);
  return next;
}

Queue::Next Queue::next_returned(std::uint32_t max_count) {
  const NumberRange range = active_->returned.front();
  auto run = active_->messages.first_run(Sequence{range.first}, Sequence{range.last});
  if (!run || run->first.value != range.first) return {Wait::kDisk, {}};
  run->count = std::min(run->count, max_count);
  return {Wait::kNothing, *std::move(run)};
}

Queue::Next Queue::next_at(Sequence sequence, std::uint32_t max_count, std::int64_t now_ms) {
  NumberRange range;
  const bool there = active_ && active_->returned.find_from(sequence.value, &range) &&
                     range.first <= sequence.value;
  if (!there || max_count == 0) return {};
  auto run = active_->messages.first_run(sequence, Sequence{range.last});
  if (!run || run->first != sequence) {
    wanted_ = sequence;
    return {Wait::kDisk, {}};
  }
  run->count = std::min(run->count, max_count);
  Next next{Wait::kNothing, *std::move(run)};
  set_apart_expired(next, now_ms);
  return next;
}

Queue::Next Queue::next_fresh(std::uint32_t max_count) {
  skip_dead_gap();
  if (has_gap() && cursor_ >= gap_begin_) {
    window_bytes_ = 0;  // whatever left from the middle
    return {Wait::kDisk, {}};
  }
  const Sequence through = has_gap() ? Sequence{gap_begin_.value - 1} : applied_through();
  auto run = first_fresh(through);
  if (!run) {
    cursor_ = std::max(cursor_, through.next());
    window_bytes_ = 0;
    if (has_gap()) return {Wait::kDisk, {}};
    lose(ready_ - std::min(active_->returned.count(), ready_));
    return {};
  }
  // Over settled ones: the mark is reserved from here on, however far it was before them.
  cursor_ = run->first;
  run->count = std::min(run->count, max_count);
  if (durable() && run->last() > mark_) {
    if (run->first > mark_) return {Wait::kMark, {}};
    run->count = static_cast<std::uint32_t>(mark_.value - run->first.value + 1);
  }
  return {Wait::kNothing, *std::move(run)};
}

void Queue::leave_head(const MessageRun& run) {
  end_ready_bytes(run.body_bytes());
  if (run.first < cursor_) {
    active_->returned.remove({run.first.value, run.last().value});
  } else {
    pass(run);
  }
}

void Queue::pass(const MessageRun& run) {
  if (has_gap()) window_bytes_ -= std::min(window_bytes_, run.body_bytes());
  cursor_ = run.last().next();
}

void Queue::set_aside(const MessageRun& run) {
  pass(run);
  active_->returned.add({run.first.value, run.last().value});
}

void Queue::take(const MessageRun& run) {
  leave_head(run);
  // Fewer than are here when dead ones were missing on the disk at the start.
  set_ready(ready_ - std::min<std::uint64_t>(run.count, ready_));
  unacked_ += run.count;
  totals_.unacked += run.count;
  delivered_total_ += run.count;
}

bool Queue::any_redelivered(const MessageRun& run) const {
  if (run.first <= recovered_mark_) return true;
  const NumberRange range{run.first.value, run.last().value};
  if (!active_) return false;
  NumberRange released;
  return active_->counts.any_in(range) || active_->proposed_counts.any_in(range) ||
         (active_->released.find_from(range.first, &released) && released.first <= range.last);
}

bool Queue::redelivered(Sequence sequence) const {
  return sequence <= recovered_mark_ || delivery_count(sequence) > 0 ||
         (active_ && active_->released.contains(sequence.value));
}

std::uint32_t Queue::delivery_count(Sequence sequence) const {
  if (!active_) return 0;
  return active_->counts.of(sequence.value) + active_->proposed_counts.of(sequence.value);
}

void Queue::make_ready(NumberRange range, bool counted) {
  active().returned.add(range);
  if (!counted) active().proposed_counts.increment(range);
  set_ready(ready_ + range.count());
  if (sizes_ != nullptr) add_ready_bytes(bytes_of(range, *sizes_));
  came_back(range);
}

void Queue::rest(NumberRange range, bool counted, TimePoint end) {
  active().resting[end].add(range);
  active().resting_count += range.count();
  if (!counted) active().proposed_counts.increment(range);
}

std::vector<NumberRange> Queue::end_rest(TimePoint now) {
  std::vector<NumberRange> ended;
  if (!active_) return ended;
  auto& resting = active_->resting;
  while (!resting.empty() && resting.begin()->first <= now) {
    for (const auto& [first, last] : resting.begin()->second.ranges()) {
      ended.push_back({first, last});
    }
    resting.erase(resting.begin());
  }
  for (const NumberRange& range : ended) {
    active_->resting_count -= range.count();
    make_ready(range, true);
  }
  return ended;
}

void Queue::make_released_ready(NumberRange range) {
  active().released.add(range);
  make_ready(range, true);
}

void Queue::forget_proposed_count(NumberRange range) {
  active().proposed_counts.decrement(range);
}

Queue::ReadyRanges Queue::take_all_ready() {
  ReadyRanges taken;
  taken.count = ready_;
  if (active_) {
    for (const auto& [first, last] : active_->returned.ranges()) {
      taken.ranges.push_back({first, last});
    }
    active_->returned.clear();
  }
  if (ready_ > 0 && cursor_ < applied_next_) {
    RangeSet fresh;
    fresh.add({cursor_.value, applied_next_.value - 1});
    NumberRange away;
    for (std::uint64_t at = cursor_.value; find_away(at, &away); at = away.last + 1) {
      fresh.remove(away);
    }
    for (const auto& [first, last] : fresh.ranges()) taken.ranges.push_back({first, last});
  }
  cursor_ = applied_next_;
  close_gap();
  set_ready(0);
  window_bytes_ = ready_bytes_ = 0;
  return taken;
}

}  // namespace segue::node
