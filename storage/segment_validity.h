#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace segue::storage {

/// Which messages of a segment are still valid, by ordinal. Takes no memory while all are, and a
/// bit each afterwards. One thread.
class SegmentValidity {
 public:
  std::uint32_t size() const { return size_; }
  std::uint32_t valid() const { return valid_; }

  /// Adds `count` valid messages at the end.
  void append(std::uint32_t count) {
    if (!words_.empty()) {
      words_.resize(words_for(size_ + count), 0);
      for_words(size_, size_ + count,
                [&](std::size_t w, std::uint64_t mask) { words_[w] |= mask; });
    }
    size_ += count;
    valid_ += count;
  }

  /// Forgets all but the first `count`.
  void truncate(std::uint32_t count) {
    if (count >= size_) return;
    valid_ = count_valid(0, count);
    size_ = count;
    if (words_.empty()) return;
    words_.resize(words_for(count));
    if (count % 64 != 0) words_.back() &= (1ull << (count % 64)) - 1;
  }

  bool is_valid(std::uint32_t ordinal) const {
    return ordinal < size_ && (words_.empty() || (words_[ordinal / 64] >> (ordinal % 64) & 1) != 0);
  }

  /// Makes [first, end) invalid. `on_run(first, end)` is called for each run that was valid till
  /// now.
  template <typename OnRun>
  void clear(std::uint32_t first, std::uint32_t end, OnRun on_run) {
    end = std::min(end, size_);
    // Never looks beyond `end`: a segment has a million messages, and most are settled one by one.
    for (std::uint32_t at = next_valid(first, end); at < end; at = next_valid(at, end)) {
      const std::uint32_t run_end = valid_end(at, end);
      if (words_.empty()) make_words();
      for_words(at, run_end, [&](std::size_t w, std::uint64_t mask) { words_[w] &= ~mask; });
      valid_ -= run_end - at;
      on_run(at, run_end);
      at = run_end;
    }
  }

  /// Takes over flags, a bit each; as many as there are.
  void assign(std::vector<std::uint64_t> words) {
    words_ = std::move(words);
    words_.resize(words_for(size_), 0);
    if (size_ % 64 != 0) words_.back() &= (1ull << (size_ % 64)) - 1;
    valid_ = count_valid(0, size_);
  }

  /// The first valid ordinal at or above `from`; size() if there is none.
  std::uint32_t next_valid(std::uint32_t from) const { return next_valid(from, size_); }
  /// The first of them below `limit`, which is at most size(); `limit` if there is none.
  std::uint32_t next_valid(std::uint32_t from, std::uint32_t limit) const {
    return words_.empty() ? std::min(from, limit) : find(from, limit, 0);
  }
  /// The first ordinal at or above `from` that is not valid; size() if there is none.
  std::uint32_t valid_end(std::uint32_t from) const { return valid_end(from, size_); }
  std::uint32_t valid_end(std::uint32_t from, std::uint32_t limit) const {
    return words_.empty() ? limit : find(from, limit, ~0ull);
  }
  std::uint32_t count_valid(std::uint32_t first, std::uint32_t end) const {
    end = std::min(end, size_);
    if (first >= end) return 0;
    if (words_.empty()) return end - first;
    std::uint32_t count = 0;
    for_words(first, end, [&](std::size_t w, std::uint64_t mask) {
      count += static_cast<std::uint32_t>(std::popcount(words_[w] & mask));
    });
    return count;
  }

  /// The flags of [first, end), below size(), as bits; `first` is a multiple of 64.
  std::vector<std::uint64_t> bits(std::uint32_t first, std::uint32_t end) const {
    std::vector<std::uint64_t> copy(words_for(end - first), words_.empty() ? ~0ull : 0);
    for (std::size_t i = 0; i < copy.size() && !words_.empty(); ++i)
      copy[i] = words_[first / 64 + i];
    return copy;
  }

  std::size_t memory_bytes() const { return words_.capacity() * sizeof(words_[0]); }

 private:
  static std::size_t words_for(std::uint32_t bits) { return (std::size_t{bits} + 63) / 64; }

  /// Calls `body(word, mask)` for every word that has bits of [first, end).
  template <typename Body>
  static void for_words(std::uint32_t first, std::uint32_t end, Body body) {
    for (std::uint32_t at = first; at < end;) {
      const std::uint32_t bit = at % 64;
      const std::uint32_t here = std::min(64 - bit, end - at);
      const std::uint64_t ones = here == 64 ? ~0ull : (1ull << here) - 1;
      body(at / 64, ones << bit);
      at += here;
    }
  }

  /// The first ordinal at or above `from` whose bit is 1, or, with `flip` all ones, 0; `limit`, at
  /// most size(), if there is none below.
  std::uint32_t find(std::uint32_t from, std::uint32_t limit, std::uint64_t flip) const {
    if (from >= limit) return limit;
    std::size_t word = from / 64;
    const std::size_t end = words_for(limit);
    std::uint64_t bits = (words_[word] ^ flip) & (~0ull << (from % 64));
    while (bits == 0) {
      if (++word == end) return limit;
      bits = words_[word] ^ flip;
    }
    const auto at =
        static_cast<std::uint32_t>(word * 64) + static_cast<std::uint32_t>(std::countr_zero(bits));
    return std::min(at, limit);
  }

  void make_words() {
    words_.assign(words_for(size_), ~0ull);
    if (size_ % 64 != 0) words_.back() = (1ull << (size_ % 64)) - 1;
  }

  std::uint32_t size_ = 0;
  std::uint32_t valid_ = 0;
  std::vector<std::uint64_t> words_;  // empty while all are valid
};

}  // namespace segue::storage
