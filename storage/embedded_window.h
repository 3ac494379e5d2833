#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "common/range_set.h"
#include "storage/embedded_chunk.h"
#include "storage/embedded_settles.h"

namespace segue::storage {

/// Which messages of an embedded queue are in memory: those at its head, about to be polled, and
/// those at its tail that are on their way to the disk. What is between, the gap, only the engine
/// has. Pure state: no I/O.
class EmbeddedWindow {
 public:
  /// Messages at the head take at most `head_bytes` before others go to the tail.
  explicit EmbeddedWindow(std::size_t head_bytes) : head_limit_(head_bytes) {}

  std::size_t memory_bytes() const { return head_bytes_ + tail_bytes_; }
  /// Of chunks behind those at the head: they go when the engine has stored them.
  std::size_t tail_bytes() const { return tail_bytes_; }
  /// Of chunks that the engine was not given yet.
  std::size_t unstored_bytes() const { return unstored_bytes_; }
  /// One above the highest number of a chunk; 0 before there was one.
  std::uint64_t end() const { return end_; }

  /// A chunk behind all others.
  void push(EmbeddedChunk chunk);
  /// Takes the chunk that was pushed last, and that nobody has seen, out again.
  void pop_last();

  // ---- reading

  /// The block that is to be read next: moves on to it. Null when the head holds no more of them.
  struct Reading {
    const EmbeddedChunk* chunk = nullptr;
    EmbeddedBlock block;
    std::size_t offset = 0;  // of the block in the chunk's bytes
  };
  std::optional<Reading> next_block();
  /// Nothing is between head and tail, so that the tail can be read: does so. False if there is
  /// nothing in it.
  bool read_tail();
  /// Where a message stands that was read before, if it is in memory.
  std::optional<Reading> find(std::uint64_t number) const;
  /// Lets chunks go whose blocks are all read and that are stored or settled.
  void forget_read(const EmbeddedSettles& settles);
  /// Bytes at the head that were not read yet.
  std::size_t unread_bytes() const { return unread_bytes_; }

  // ---- storing

  /// The chunks that the engine is to be given next, in order, about `max_bytes` of them; they
  /// count as given from now on. Valid until the next call of anything else.
  std::vector<EmbeddedChunk*> next_to_store(std::size_t max_bytes);
  /// The engine has written everything below `end`: chunks at the tail are let go of.
  void stored(std::uint64_t end);
  /// The engine failed to write what it was given from `first` on.
  void not_stored(std::uint64_t first);
  /// Every message below was given to the engine, or is settled.
  std::uint64_t given_end() const { return given_end_; }

  // ---- the gap

  bool has_gap() const { return gap_.has_value(); }
  const NumberRange& gap() const { return *gap_; }
  void set_gap(NumberRange gap) { gap_ = gap; }
  /// Everything up to `through` was loaded, and comes with add_loaded(), or is gone.
  void shorten_gap(std::uint64_t through);
  /// What was loaded from what was the gap's beginning.
  void add_loaded(std::vector<EmbeddedChunk> chunks);

  /// At the start: the engine has what there is below `end`.
  void recovered(std::uint64_t end) { given_end_ = end_ = end; }
  /// Forgets the first chunks if they are settled. While nothing was read.
  void forget_settled(const EmbeddedSettles& settles);
  void clear();

 private:
  static std::size_t size_of(const EmbeddedChunk& chunk) { return chunk.bytes.size(); }

  const std::size_t head_limit_;
  std::deque<EmbeddedChunk> head_;
  std::deque<EmbeddedChunk> tail_;
  std::optional<NumberRange> gap_;
  std::size_t head_bytes_ = 0;
  std::size_t tail_bytes_ = 0;
  std::size_t unread_bytes_ = 0;
  std::size_t unstored_bytes_ = 0;
  // The block to be read next.
  std::size_t chunk_ = 0;
  std::size_t block_ = 0;
  std::size_t offset_ = 0;
  std::uint64_t given_end_ = 0;
  std::uint64_t end_ = 0;
};

}  // namespace segue::storage
