#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace segue::storage {

/// The body sizes of a segment's messages, by ordinal, so that valid bytes stay exact when any of
/// them is settled. Packed in blocks of 128: each stores its smallest size and the differences to
/// it in as few bits as they need, so that equal sizes take half a bit each. One thread.
class SegmentSizes {
 public:
  void append(std::uint32_t size);
  /// Forgets all but the first `count`.
  void truncate(std::uint32_t count);

  std::uint32_t count() const {
    return static_cast<std::uint32_t>(blocks_.size() * kBlockSize + open_.size());
  }
  std::uint32_t at(std::uint32_t ordinal) const;
  /// The sum of the sizes of [first, end).
  std::uint64_t sum(std::uint32_t first, std::uint32_t end) const;
  std::size_t memory_bytes() const;

 private:
  static constexpr std::uint32_t kBlockSize = 128;
  struct Block {
    std::uint32_t smallest;
    std::uint32_t place;  // of its first word; the low 6 bits are the width, 0..32

    std::uint32_t width() const { return place & 63; }
    std::uint32_t first_word() const { return place >> 6; }
  };

  void pack();
  std::uint32_t unpack(const Block& block, std::uint32_t i) const;

  std::vector<Block> blocks_;
  std::vector<std::uint64_t> words_;
  std::vector<std::uint32_t> open_;  // the last block, not packed yet
};

}  // namespace segue::storage
