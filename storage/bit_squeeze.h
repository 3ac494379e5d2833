#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace segue::storage {

/// The bits of `value` where `mask` has ones, moved together to the low end: six rounds, each of
/// which moves every bit by one power of two as far as zeros of the mask below it ask for it
/// ("compress" in Henry S. Warren, Hacker's Delight, 2nd edition, section 7-4).
inline std::uint64_t squeeze(std::uint64_t value, std::uint64_t mask) {
  value &= mask;
  std::uint64_t zeros_below = ~mask << 1;
  for (int round = 0; round < 6; ++round) {
    // Bit i of `odd`: whether an odd number of zeros (of those left) is below bit i.
    std::uint64_t odd = zeros_below;
    for (int shift = 1; shift < 64; shift *= 2) odd ^= odd << shift;
    const std::uint64_t move = odd & mask;
    const int by = 1 << round;
    mask = (mask ^ move) | (move >> by);
    const std::uint64_t moved = value & move;
    value = (value ^ moved) | (moved >> by);
    zeros_below &= ~odd;
  }
  return value;
}

/// Bits one behind the other, in words.
class BitWriter {
 public:
  /// Appends the low `count` bits, 64 at most.
  void append(std::uint64_t bits, std::uint32_t count) {
    if (count == 0) return;
    if (count < 64) bits &= (1ull << count) - 1;
    const std::uint32_t used = size_ % 64;
    if (used == 0) {
      words_.push_back(bits);
    } else {
      words_.back() |= bits << used;
      if (used + count > 64) words_.push_back(bits >> (64 - used));
    }
    size_ += count;
  }
  std::uint32_t size() const { return size_; }
  std::vector<std::uint64_t> take() { return std::move(words_); }

 private:
  std::vector<std::uint64_t> words_;
  std::uint32_t size_ = 0;
};

}  // namespace segue::storage
