#include "storage/segment_sequences.h"

#include <algorithm>
#include <bit>

#include "common/check.h"

namespace segue::storage {

namespace {

constexpr std::uint32_t kBlockSize = 1u << 16;
// Where runs (4 bytes each) outgrow the bitmap (8.25 KiB).
constexpr std::size_t kMaxRuns = 2048;
constexpr std::uint32_t kWordsPerGroup = 8;
constexpr std::uint32_t kBitsPerGroup = kWordsPerGroup * 64;

std::uint64_t key_of(Sequence sequence) {
  return sequence.value >> 16;
}
std::uint32_t low_of(Sequence sequence) {
  return static_cast<std::uint32_t>(sequence.value & (kBlockSize - 1));
}

}  // namespace

void SegmentSequences::Bitmap::set(std::uint32_t low, std::uint32_t bits_before) {
  const std::uint32_t group = low / kBitsPerGroup;
  while (groups <= group) ranks[groups++] = static_cast<std::uint16_t>(bits_before);
  words[low / 64] |= 1ull << (low % 64);
}

std::uint32_t SegmentSequences::Bitmap::rank(std::uint32_t low, std::uint32_t total) const {
  const std::uint32_t group = low / kBitsPerGroup;
  if (group >= groups) return total;
  std::uint32_t bits = ranks[group];
  for (std::uint32_t word = group * kWordsPerGroup; word < low / 64; ++word) {
    bits += static_cast<std::uint32_t>(std::popcount(words[word]));
  }
  const std::uint64_t below = words[low / 64] & ((1ull << (low % 64)) - 1);
  return bits + static_cast<std::uint32_t>(std::popcount(below));
}

std::uint32_t SegmentSequences::Bitmap::select(std::uint32_t ordinal) const {
  // The last group with at most `ordinal` bits before it; empty groups share a rank with the next.
  const auto* after = std::upper_bound(ranks, ranks + groups, ordinal);
  auto group = static_cast<std::uint32_t>(after - ranks) - 1;
  std::uint32_t left = ordinal - ranks[group];
  for (std::uint32_t word = group * kWordsPerGroup;; ++word) {
    std::uint64_t bits = words[word];
    const auto here = static_cast<std::uint32_t>(std::popcount(bits));
    if (left >= here) {
      left -= here;
      continue;
    }
    while (left-- > 0) bits &= bits - 1;
    return word * 64 + static_cast<std::uint32_t>(std::countr_zero(bits));
  }
}

void SegmentSequences::Block::append(std::uint32_t low, std::uint32_t length) {
  if (bitmap != nullptr) {
    for (std::uint32_t i = 0; i < length; ++i) bitmap->set(low + i, count + i);
    count += length;
    return;
  }
  const bool extends = !runs.empty() && runs.back().start + run_length(runs.size() - 1) == low;
  if (!extends) {
    runs.push_back({static_cast<std::uint16_t>(low), static_cast<std::uint16_t>(count)});
  }
  count += length;
  if (runs.size() > kMaxRuns) to_bitmap();
}

void SegmentSequences::Block::to_bitmap() {
  bitmap = std::make_unique<Bitmap>();
  for (std::size_t run = 0; run < runs.size(); ++run) {
    const std::uint32_t length = run_length(run);
    for (std::uint32_t i = 0; i < length; ++i) {
      bitmap->set(runs[run].start + i, runs[run].base + i);
    }
  }
  std::vector<Run>().swap(runs);
}

std::uint32_t SegmentSequences::Block::rank(std::uint32_t low) const {
  if (bitmap != nullptr) return bitmap->rank(low, count);
  const auto after = std::upper_bound(
      runs.begin(), runs.end(), low, [](std::uint32_t l, const Run& run) { return l < run.start; });
  if (after == runs.begin()) return 0;
  const auto run = static_cast<std::size_t>(after - runs.begin()) - 1;
  return runs[run].base + std::min(low - runs[run].start, run_length(run));
}

std::uint32_t SegmentSequences::Block::select(std::uint32_t ordinal) const {
  if (bitmap != nullptr) return bitmap->select(ordinal);
  const auto after = std::upper_bound(runs.begin(), runs.end(), ordinal,
                                      [](std::uint32_t o, const Run& run) { return o < run.base; });
  const Run& run = *(after - 1);
  return run.start + (ordinal - run.base);
}

void SegmentSequences::append(Sequence first, std::uint32_t count) {
  SEGUE_CHECK(count > 0 && (count_ == 0 || first > last_));
  last_ = first.next(count - 1);
  while (count > 0) {
    const std::uint32_t low = low_of(first);
    const std::uint32_t here = std::min(count, kBlockSize - low);
    if (blocks_.empty() || blocks_.back().key != key_of(first)) {
      blocks_.emplace_back();
      blocks_.back().key = key_of(first);
      blocks_.back().base = count_;
    }
    blocks_.back().append(low, here);
    count_ += here;
    count -= here;
    first = first.next(here);
  }
}

void SegmentSequences::truncate(std::uint32_t count) {
  if (count >= count_) return;
  if (count == 0) {
    *this = SegmentSequences();
    return;
  }
  while (blocks_.back().base >= count) blocks_.pop_back();
  // What is left of the last block is put together again: this happens after a failed write only.
  Block cut = std::move(blocks_.back());
  Block& kept = blocks_.back();
  kept = Block();
  kept.key = cut.key;
  kept.base = cut.base;
  for (std::uint32_t i = 0; i < count - cut.base; ++i) kept.append(cut.select(i), 1);
  count_ = count;
  last_ = at(count - 1);
}

std::uint32_t SegmentSequences::lower_bound(Sequence sequence) const {
  const auto block =
      std::lower_bound(blocks_.begin(), blocks_.end(), key_of(sequence),
                       [](const Block& b, std::uint64_t key) { return b.key < key; });
  if (block == blocks_.end()) return count_;
  if (block->key != key_of(sequence)) return block->base;
  return block->base + block->rank(low_of(sequence));
}

Sequence SegmentSequences::at(std::uint32_t ordinal) const {
  SEGUE_CHECK(ordinal < count_);
  const auto after =
      std::upper_bound(blocks_.begin(), blocks_.end(), ordinal,
                       [](std::uint32_t o, const Block& block) { return o < block.base; });
  const Block& block = *(after - 1);
  return Sequence{block.key << 16 | block.select(ordinal - block.base)};
}

std::size_t SegmentSequences::memory_bytes() const {
  std::size_t bytes = blocks_.capacity() * sizeof(Block);
  for (const Block& block : blocks_) {
    bytes += block.runs.capacity() * sizeof(Run);
    if (block.bitmap != nullptr) bytes += sizeof(Bitmap);
  }
  return bytes;
}

std::uint32_t SegmentSequences::run_end(std::uint32_t ordinal, std::uint32_t limit) const {
  const std::uint64_t first = at(ordinal).value;
  const auto consecutive = [&](std::uint32_t end) {
    return at(end - 1).value - first == end - 1 - ordinal;
  };
  if (consecutive(limit)) return limit;
  std::uint32_t good = ordinal + 1;
  std::uint32_t bad = limit;
  // Short runs are found near their beginning.
  for (std::uint32_t step = 1; good + step < bad; step *= 2) {
    if (!consecutive(good + step)) {
      bad = good + step;
      break;
    }
    good += step;
  }
  while (good + 1 < bad) {
    const std::uint32_t middle = good + (bad - good) / 2;
    (consecutive(middle) ? good : bad) = middle;
  }
  return good;
}

}  // namespace segue::storage
