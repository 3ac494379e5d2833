#include "node/queue_messages.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "common/check.h"

namespace segue::node {

namespace {

/// What a block costs beside its bodies.
constexpr std::uint64_t kBlockBytes = 80;
constexpr std::size_t kFewDead = 64;

}  // namespace

std::uint64_t QueueMessages::Block::bytes() const {
  return batch ? batch->body_bytes(begin, count) + kBlockBytes : 0;
}

std::size_t QueueMessages::find(Sequence from) const {
  if (blocks_.empty() || blocks_.front().last() >= from) return 0;
  if (blocks_.back().last() < from) return blocks_.size();
  const auto at = std::partition_point(blocks_.begin(), blocks_.end(),
                                       [&](const Block& block) { return block.last() < from; });
  return static_cast<std::size_t>(at - blocks_.begin());
}

void QueueMessages::append(MessageRun run) {
  SEGUE_CHECK(run.count > 0 && (blocks_.empty() || blocks_.back().last() < run.first));
  blocks_.push_back(
      {run.first, std::move(run.batch), run.begin, run.count, run.count, {}, run.arrived_ms});
  memory_bytes_ += blocks_.back().bytes();
}

void QueueMessages::insert(const MessageRun& run) {
  MessageRun rest = run;
  while (rest.count > 0) {
    const std::size_t at = find(rest.first);
    if (at == blocks_.size()) return append(std::move(rest));
    if (blocks_[at].first <= rest.first) {
      // Here already, as far as this block goes.
      const std::uint64_t covered = blocks_[at].last().value - rest.first.value + 1;
      if (covered >= rest.count) return;
      const auto skip = static_cast<std::uint32_t>(covered);
      rest = rest.part(skip, rest.count - skip);
      continue;
    }
    const std::uint64_t room = blocks_[at].first.value - rest.first.value;
    const auto length = static_cast<std::uint32_t>(std::min<std::uint64_t>(room, rest.count));
    Block block{rest.first, rest.batch, rest.begin, length, length, {}, rest.arrived_ms};
    memory_bytes_ += block.bytes();
    blocks_.insert(blocks_.begin() + static_cast<std::ptrdiff_t>(at), std::move(block));
    rest = rest.part(length, rest.count - length);
  }
}

QueueMessages::Settled QueueMessages::settle(NumberRange range, Sequence counted_after) {
  Settled settled;
  for (std::size_t i = find(Sequence{range.first}); i < blocks_.size(); ++i) {
    Block& block = blocks_[i];
    if (block.first.value > range.last) break;
    if (!block.batch) continue;
    settle_in(block, std::max(block.first, Sequence{range.first}),
              std::min(block.last(), Sequence{range.last}), counted_after, settled);
  }
  sweep();
  return settled;
}

void QueueMessages::settle_in(Block& block, Sequence low, Sequence high, Sequence counted_after,
                              Settled& settled) {
  if (block.settled || (low != block.first && high != block.last())) {
    return set_bits(block, low, high, counted_after, settled);
  }
  const auto cut = static_cast<std::uint32_t>(high.value - low.value + 1);
  const std::uint32_t at = block.begin + static_cast<std::uint32_t>(low.value - block.first.value);
  settled.messages += cut;
  if (low > counted_after) {
    settled.body_bytes += block.batch->body_bytes(at, cut);
  } else if (high > counted_after) {
    const auto skip = static_cast<std::uint32_t>(counted_after.value - low.value + 1);
    settled.body_bytes += block.batch->body_bytes(at + skip, cut - skip);
  }
  if (cut == block.count) return kill(block);
  memory_bytes_ -= block.batch->body_bytes(at, cut);
  if (low == block.first) {
    block.first = block.first.next(cut);
    block.begin += cut;
  }
  block.count -= cut;
  block.live = block.count;
}

void QueueMessages::set_bits(Block& block, Sequence low, Sequence high, Sequence counted_after,
                             Settled& settled) {
  if (!block.settled) {
    block.settled = std::make_unique<std::uint64_t[]>((block.count + 63) / 64);
  }
  for (Sequence sequence = low; sequence <= high; sequence = sequence.next()) {
    const auto at = static_cast<std::uint32_t>(sequence.value - block.first.value);
    if (block.is_settled(at)) continue;
    block.settled[at / 64] |= std::uint64_t{1} << (at % 64);
    --block.live;
    ++settled.messages;
    if (sequence > counted_after) settled.body_bytes += block.batch->body_size(block.begin + at);
  }
  if (block.live == 0) kill(block);
}

void QueueMessages::kill(Block& block) {
  memory_bytes_ -= block.bytes();
  block.batch.reset();
  block.settled.reset();
  block.live = 0;
  ++dead_;
}

void QueueMessages::sweep() {
  if (dead_ == 0) return;
  while (!blocks_.empty() && !blocks_.front().batch) {
    blocks_.pop_front();
    --dead_;
  }
  while (!blocks_.empty() && !blocks_.back().batch) {
    blocks_.pop_back();
    --dead_;
  }
  if (dead_ > kFewDead && dead_ > blocks_.size() / 2) {
    std::erase_if(blocks_, [](const Block& block) { return !block.batch; });
    dead_ = 0;
  }
}

std::optional<MessageRun> QueueMessages::first_run(Sequence from, Sequence through) const {
  for (std::size_t i = find(from); i < blocks_.size(); ++i) {
    const Block& block = blocks_[i];
    if (block.first > through) return std::nullopt;
    if (!block.batch) continue;
    const Sequence low = std::max(block.first, from);
    const Sequence high = std::min(block.last(), through);
    auto at = static_cast<std::uint32_t>(low.value - block.first.value);
    auto end = static_cast<std::uint32_t>(high.value - block.first.value) + 1;
    if (block.settled) {
      while (at < end && block.is_settled(at)) ++at;
      if (at == end) continue;
      std::uint32_t live_end = at + 1;
      while (live_end < end && !block.is_settled(live_end)) ++live_end;
      end = live_end;
    }
    return MessageRun{block.first.next(at), block.batch, block.begin + at, end - at,
                      block.arrived_ms};
  }
  return std::nullopt;
}

void QueueMessages::live_runs(const Block& block, Sequence low, Sequence high,
                              std::vector<MessageRun>& runs) {
  auto at = static_cast<std::uint32_t>(low.value - block.first.value);
  const auto end = static_cast<std::uint32_t>(high.value - block.first.value) + 1;
  while (at < end) {
    if (block.is_settled(at)) {
      ++at;
      continue;
    }
    std::uint32_t live_end = block.settled ? at + 1 : end;
    while (live_end < end && !block.is_settled(live_end)) ++live_end;
    runs.push_back(
        {block.first.next(at), block.batch, block.begin + at, live_end - at, block.arrived_ms});
    at = live_end;
  }
}

Sequence QueueMessages::collect(Sequence after, Sequence through, std::uint64_t max_bytes,
                                std::vector<MessageRun>& runs) const {
  Sequence looked_at = after;
  std::uint64_t bytes = 0;
  for (std::size_t i = find(after.next()); i < blocks_.size() && bytes < max_bytes; ++i) {
    const Block& block = blocks_[i];
    if (block.first > through) break;
    looked_at = block.last();
    if (!block.batch) continue;
    bytes += block.bytes();
    live_runs(block, std::max(block.first, after.next()), block.last(), runs);
  }
  return looked_at;
}

std::uint64_t QueueMessages::body_bytes(Sequence after, Sequence through) const {
  std::vector<MessageRun> runs;
  for (std::size_t i = find(after.next()); i < blocks_.size(); ++i) {
    const Block& block = blocks_[i];
    if (block.first > through) break;
    if (!block.batch) continue;
    live_runs(block, std::max(block.first, after.next()), std::min(block.last(), through), runs);
  }
  std::uint64_t bytes = 0;
  for (const MessageRun& run : runs) bytes += run.body_bytes();
  return bytes;
}

std::uint64_t QueueMessages::count_messages() const {
  std::uint64_t count = 0;
  for (const Block& block : blocks_) count += block.live;
  return count;
}

Sequence QueueMessages::block_after(Sequence from, std::uint64_t bytes) const {
  std::uint64_t seen = 0;
  for (std::size_t i = find(from); i < blocks_.size(); ++i) {
    const Block& block = blocks_[i];
    if (block.first >= from && seen >= bytes) return block.first;
    seen += block.bytes();
  }
  return blocks_.empty() ? from : blocks_.back().last().next();
}

std::uint64_t QueueMessages::evict(NumberRange range) {
  std::size_t first = find(Sequence{range.first});
  if (first < blocks_.size() && blocks_[first].first.value < range.first) ++first;
  std::uint64_t freed = 0;
  std::size_t end = first;
  for (; end < blocks_.size() && blocks_[end].last().value <= range.last; ++end) {
    freed += blocks_[end].bytes();
    if (!blocks_[end].batch) --dead_;
  }
  blocks_.erase(blocks_.begin() + static_cast<std::ptrdiff_t>(first),
                blocks_.begin() + static_cast<std::ptrdiff_t>(end));
  memory_bytes_ -= freed;
  sweep();
  return freed;
}

}  // namespace segue::node
