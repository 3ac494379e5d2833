#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "common/ids.h"

namespace segue::storage {

/// Which sequences a segment holds, and the place of each among them (its ordinal: 0, 1, 2...).
/// Grows at the end only. Consecutive sequences cost next to nothing (about 70 bytes per 65,536);
/// with holes, each run takes 4 bytes, and 65,536 sequences never more than 8.3 KiB (2 bits per
/// message when every second one is missing).
///
/// One thread. All searches take logarithmic time.
class SegmentSequences {
 public:
  /// Appends `count` consecutive sequences, all above last().
  void append(Sequence first, std::uint32_t count);
  /// Forgets all but the first `count`.
  void truncate(std::uint32_t count);

  std::uint32_t count() const { return count_; }
  /// Lowest and highest sequence; there must be one.
  Sequence first() const { return at(0); }
  Sequence last() const { return last_; }
  /// How many are below `sequence`: the ordinal of the first at or above it.
  std::uint32_t lower_bound(Sequence sequence) const;
  /// The sequence with this ordinal, below count().
  Sequence at(std::uint32_t ordinal) const;
  /// The end of the run of consecutive sequences that begins at `ordinal`: an ordinal above it, at
  /// most `limit`.
  std::uint32_t run_end(std::uint32_t ordinal, std::uint32_t limit) const;
  std::size_t memory_bytes() const;

 private:
  // Sequences that agree in all but the low 16 bits. Either runs, or, where these would take more
  // room, a bitmap.
  struct Run {
    std::uint16_t start;  // low bits of the run's first sequence
    std::uint16_t base;   // how many of the block are before the run
  };
  struct Bitmap {
    std::uint64_t words[1024] = {};
    std::uint16_t ranks[128] = {};  // bits before each group of 8 words; valid up to `groups`
    std::uint32_t groups = 0;

    void set(std::uint32_t low, std::uint32_t bits_before);
    std::uint32_t rank(std::uint32_t low, std::uint32_t total) const;
    std::uint32_t select(std::uint32_t ordinal) const;
  };
  struct Block {
    std::uint64_t key = 0;   // sequence >> 16
    std::uint32_t base = 0;  // ordinal of its first
    std::uint32_t count = 0;
    std::vector<Run> runs;
    std::unique_ptr<Bitmap> bitmap;

    void append(std::uint32_t low, std::uint32_t length);
    void to_bitmap();
    std::uint32_t rank(std::uint32_t low) const;
    std::uint32_t select(std::uint32_t ordinal) const;
    std::uint32_t run_length(std::size_t run) const {
      return (run + 1 < runs.size() ? runs[run + 1].base : count) - runs[run].base;
    }
  };

  std::vector<Block> blocks_;
  std::uint32_t count_ = 0;
  Sequence last_;
};

}  // namespace segue::storage
