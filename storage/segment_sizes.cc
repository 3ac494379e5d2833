#include "storage/segment_sizes.h"

#include <algorithm>
#include <bit>

#include "common/check.h"

namespace segue::storage {

void SegmentSizes::append(std::uint32_t size) {
  open_.push_back(size);
  if (open_.size() == kBlockSize) pack();
}

void SegmentSizes::pack() {
  const auto [smallest, largest] = std::minmax_element(open_.begin(), open_.end());
  const auto width = static_cast<std::uint32_t>(std::bit_width(*largest - *smallest));
  // 128 values of `width` bits fill 2 * width words exactly. A segment has fewer than 2^26 of them.
  const auto first_word = static_cast<std::uint32_t>(words_.size());
  SEGUE_CHECK(first_word < 1u << 26);
  const Block block{*smallest, first_word << 6 | width};
  words_.resize(words_.size() + 2 * std::size_t{width}, 0);
  for (std::uint32_t i = 0; i < kBlockSize && width > 0; ++i) {
    const std::uint64_t value = open_[i] - block.smallest;
    const std::uint32_t bit = i * width;
    words_[first_word + bit / 64] |= value << (bit % 64);
    if (bit % 64 + width > 64) words_[first_word + bit / 64 + 1] |= value >> (64 - bit % 64);
  }
  blocks_.push_back(block);
  open_.clear();
}

std::uint32_t SegmentSizes::unpack(const Block& block, std::uint32_t i) const {
  const std::uint32_t width = block.width();
  if (width == 0) return block.smallest;
  const std::uint32_t bit = i * width;
  const std::size_t word = block.first_word() + bit / 64;
  std::uint64_t value = words_[word] >> (bit % 64);
  if (bit % 64 + width > 64) value |= words_[word + 1] << (64 - bit % 64);
  return block.smallest + static_cast<std::uint32_t>(value & ((1ull << width) - 1));
}

void SegmentSizes::truncate(std::uint32_t count) {
  const std::size_t whole = count / kBlockSize;
  if (whole < blocks_.size()) {
    std::vector<std::uint32_t> rest;
    for (std::uint32_t i = 0; i < count % kBlockSize; ++i)
      rest.push_back(unpack(blocks_[whole], i));
    words_.resize(blocks_[whole].first_word());
    blocks_.resize(whole);
    open_ = std::move(rest);
  } else if (count < this->count()) {
    open_.resize(count % kBlockSize);
  }
}

std::uint32_t SegmentSizes::at(std::uint32_t ordinal) const {
  const std::size_t block = ordinal / kBlockSize;
  if (block < blocks_.size()) return unpack(blocks_[block], ordinal % kBlockSize);
  return open_[ordinal % kBlockSize];
}

std::uint64_t SegmentSizes::sum(std::uint32_t first, std::uint32_t end) const {
  std::uint64_t total = 0;
  for (std::uint32_t at = first; at < end;) {
    const std::uint32_t here = std::min(end - at, kBlockSize - at % kBlockSize);
    const std::size_t block = at / kBlockSize;
    if (block >= blocks_.size()) {
      for (std::uint32_t i = 0; i < here; ++i) total += open_[at % kBlockSize + i];
    } else if (blocks_[block].width() == 0) {
      total += std::uint64_t{here} * blocks_[block].smallest;
    } else {
      for (std::uint32_t i = 0; i < here; ++i) total += unpack(blocks_[block], at % kBlockSize + i);
    }
    at += here;
  }
  return total;
}

std::size_t SegmentSizes::memory_bytes() const {
  return blocks_.capacity() * sizeof(Block) + words_.capacity() * sizeof(std::uint64_t) +
         open_.capacity() * sizeof(std::uint32_t);
}

}  // namespace segue::storage
