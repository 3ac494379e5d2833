// What of a queue's messages has expired (classes QueueMessages and Queue).
#include <algorithm>
#include <utility>

#include "node/queue.h"

namespace segue::node {

namespace {

/// One call looks at so many messages, about: a few milliseconds.
constexpr std::uint64_t kMaxLooks = 1u << 17;

}  // namespace

// ---- in memory

void QueueMessages::look_into(Block& block, Sequence from, const ExpiryLook& look,
                              Expired& expired) {
  const bool alike = !block.batch->can_expire();
  block.own_due = kNever;
  const auto skip = from > block.first ? static_cast<std::uint32_t>(from.value - block.first.value)
                                       : std::uint32_t{0};
  // What is not looked at is looked at the next time.
  if (skip > 0 && !alike) block.own_due = 0;
  std::uint32_t at = skip;
  while (at < block.count) {
    if (block.is_settled(at)) {
      ++at;
      continue;
    }
    ++expired.looked_at;
    const Sequence sequence = block.first.next(at);
    const std::int64_t own = block.batch->expiration(block.begin + at);
    std::uint32_t end = at + 1;
    // Without expirations of their own all of a block expire together.
    if (alike && !block.settled) end = block.count;
    if (look.expired(sequence, block.arrived_ms, own)) {
      const std::uint64_t last = sequence.value + (end - at) - 1;
      if (!expired.ranges.empty() && expired.ranges.back().last + 1 == sequence.value) {
        expired.ranges.back().last = last;
      } else {
        expired.ranges.push_back({sequence.value, last});
      }
    } else if (own >= 0) {
      const ExpiryRule by_itself{kNoExpiration, look.rule.unknown_arrival_ms};
      block.own_due = std::min(block.own_due, by_itself.due(block.arrived_ms, own));
    }
    at = end;
  }
}

QueueMessages::Expired QueueMessages::find_expired(Sequence from, const ExpiryLook& look,
                                                   std::size_t max_ranges) {
  Expired expired;
  expired.scanned_through = highest();
  for (std::size_t i = find(from); i < blocks_.size(); ++i) {
    Block& block = blocks_[i];
    if (expired.ranges.size() >= max_ranges || expired.looked_at >= kMaxLooks) {
      expired.scanned_through = Sequence{block.first.value - 1};
      expired.more = true;
      return expired;
    }
    ++expired.looked_at;
    if (!block.batch) continue;
    const std::int64_t due =
        std::min(look.rule.due(block.arrived_ms, kNoExpiration), block.own_due);
    if (due <= look.now_ms) look_into(block, from, look, expired);
  }
  return expired;
}

void QueueMessages::look_again(NumberRange range) {
  for (std::size_t i = find(Sequence{range.first}); i < blocks_.size(); ++i) {
    if (blocks_[i].first.value > range.last) return;
    blocks_[i].own_due = 0;
  }
}

bool QueueMessages::any_expires() const {
  return std::any_of(blocks_.begin(), blocks_.end(),
                     [](const Block& block) { return block.batch && block.batch->can_expire(); });
}

// ---- the queue

void Queue::set_ttl(std::int64_t ttl_ms, std::int64_t now_ms) {
  if (expiry_.unknown_arrival_ms == 0 || (expiry_.ttl_ms < 0 && ttl_ms >= 0)) {
    expiry_.unknown_arrival_ms = std::max<std::int64_t>(now_ms, 1);
  }
  // What is there has had its moment in which a consumer could take it.
  if (ttl_ms == 0 && expiry_.ttl_ms != 0) end_at_once();
  expiry_.ttl_ms = ttl_ms;
}

bool Queue::has_expired(const MessageRun& run, std::uint32_t at, std::int64_t now_ms) const {
  return look(now_ms).expired(run.first.next(at), run.arrived_ms,
                              run.batch->expiration(run.begin + at));
}

void Queue::set_apart_expired(Next& next, std::int64_t now_ms) const {
  MessageRun& run = next.run;
  if (expiry_.ttl_ms < 0 && !run.batch->can_expire()) return;
  const bool expired = has_expired(run, 0, now_ms);
  if (run.batch->can_expire() || expiry_.ttl_ms == 0) {
    std::uint32_t alike = 1;
    while (alike < run.count && has_expired(run, alike, now_ms) == expired) ++alike;
    run.count = alike;
  }
  if (expired) next.wait = Wait::kExpired;
}

void Queue::take_expired(const MessageRun& run) {
  leave_head(run);
  set_ready(ready_ - std::min<std::uint64_t>(run.count, ready_));
  expired_total_ += run.count;
}

std::vector<NumberRange> Queue::take_expired(const std::vector<NumberRange>& found) {
  std::vector<NumberRange> taken;
  if (found.empty()) return taken;
  std::uint64_t count = 0;
  Active& here = active();
  const auto take = [&](std::uint64_t first, std::uint64_t last) {
    taken.push_back({first, last});
    count += last - first + 1;
  };
  for (const NumberRange& range : found) {
    // What was delivered is ready if it came back.
    NumberRange ready;
    std::uint64_t at = range.first;
    const std::uint64_t returned_last = std::min(range.last, cursor_.value - 1);
    while (at <= returned_last && here.returned.find_from(at, &ready) &&
           ready.first <= returned_last) {
      const NumberRange part{std::max(at, ready.first), std::min(ready.last, returned_last)};
      here.returned.remove(part);
      take(part.first, part.last);
      at = part.last + 1;
    }
    // What was never delivered, unless it is on its way out already.
    at = std::max(range.first, cursor_.value);
    while (at <= range.last) {
      NumberRange away{range.last + 1, range.last + 1};
      if (!find_away(at, &away) || away.first > range.last) {
        away = {range.last + 1, range.last + 1};
      }
      if (away.first > at) take(at, away.first - 1);
      at = away.last + 1;
    }
  }
  for (const NumberRange& range : taken) {
    if (sizes_ != nullptr) end_ready_bytes(bytes_of(range, *sizes_));
    if (range.last >= cursor_.value)
      here.leaving.add({std::max(range.first, cursor_.value), range.last});
  }
  set_ready(ready_ - std::min(count, ready_));
  expired_total_ += count;
  return taken;
}

bool Queue::find_away(std::uint64_t sequence, NumberRange* found) const {
  if (!active_) return false;
  NumberRange dead;
  const bool leaves = active_->leaving.find_from(sequence, found);
  const bool dies = !active_->dead.empty() && active_->dead.find_from(sequence, &dead);
  if (dies && (!leaves || dead.first < found->first)) *found = dead;
  return leaves || dies;
}

QueueMessages::Expired Queue::find_expired(Sequence from, std::int64_t now_ms,
                                           std::size_t max_ranges) {
  if (!active_) return {};
  return active_->messages.find_expired(from, look(now_ms), max_ranges);
}

bool Queue::settle_whether_any_expires() {
  own_expirations_ = active_ && active_->messages.any_expires();
  return may_expire();
}

void Queue::came_back(NumberRange range) {
  if (!may_expire()) return;
  active_->messages.look_again(range);
  look_again(range);
}

void Queue::look_again(NumberRange range) {
  if (range.last == 0) return;
  again_ = again_.last == 0 ? range
                            : NumberRange{std::min(again_.first, range.first),
                                          std::max(again_.last, range.last)};
}

std::vector<MessageRun> Queue::without_expired(const std::vector<MessageRun>& runs,
                                               std::int64_t now_ms) const {
  // What is delayed does not expire before it is ready.
  if (delays_) return runs;
  std::vector<MessageRun> left;
  for (const MessageRun& run : runs) {
    if (expiry_.ttl_ms < 0 && !run.batch->can_expire()) {
      left.push_back(run);
      continue;
    }
    std::uint32_t at = 0;
    while (at < run.count) {
      std::uint32_t end = at;
      while (end < run.count && !has_expired(run, end, now_ms)) ++end;
      if (end > at) left.push_back(run.part(at, end - at));
      at = end;
      while (at < run.count && has_expired(run, at, now_ms)) ++at;
    }
  }
  return left;
}

}  // namespace segue::node
