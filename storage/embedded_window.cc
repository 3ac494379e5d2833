#include "storage/embedded_window.h"

#include <algorithm>

#include "common/check.h"

namespace segue::storage {

namespace {

/// The first chunk that ends above `number`.
template <typename Chunks>
auto first_above(Chunks& chunks, std::uint64_t number) {
  return std::upper_bound(
      chunks.begin(), chunks.end(), number,
      [](std::uint64_t n, const EmbeddedChunk& chunk) { return n < chunk.end(); });
}

}  // namespace

void EmbeddedWindow::push(EmbeddedChunk chunk) {
  const std::size_t bytes = size_of(chunk);
  end_ = chunk.end();
  unstored_bytes_ += bytes;
  if (!gap_ && tail_.empty() && (head_.empty() || head_bytes_ + bytes <= head_limit_)) {
    head_bytes_ += bytes;
    unread_bytes_ += bytes;
    head_.push_back(std::move(chunk));
  } else {
    tail_bytes_ += bytes;
    tail_.push_back(std::move(chunk));
  }
}

void EmbeddedWindow::pop_last() {
  const bool at_tail = !tail_.empty();
  std::deque<EmbeddedChunk>& chunks = at_tail ? tail_ : head_;
  const EmbeddedChunk& last = chunks.back();
  SEGUE_CHECK(last.first() >= given_end_);
  const std::size_t bytes = size_of(last);
  end_ = last.first();
  unstored_bytes_ -= bytes;
  if (at_tail) {
    tail_bytes_ -= bytes;
  } else {
    SEGUE_CHECK(chunk_ < head_.size());
    head_bytes_ -= bytes;
    unread_bytes_ -= bytes;
  }
  chunks.pop_back();
}

std::optional<EmbeddedWindow::Reading> EmbeddedWindow::next_block() {
  if (chunk_ == head_.size()) return {};
  const EmbeddedChunk& chunk = head_[chunk_];
  Reading reading{&chunk, chunk.blocks[block_], offset_};
  unread_bytes_ -= reading.block.bytes;
  offset_ += reading.block.bytes;
  if (++block_ == chunk.blocks.size()) {
    ++chunk_;
    block_ = offset_ = 0;
  }
  return reading;
}

bool EmbeddedWindow::read_tail() {
  if (tail_.empty()) return false;
  while (!tail_.empty() && (unread_bytes_ == 0 || head_bytes_ < head_limit_)) {
    const std::size_t bytes = size_of(tail_.front());
    head_.push_back(std::move(tail_.front()));
    tail_.pop_front();
    tail_bytes_ -= bytes;
    head_bytes_ += bytes;
    unread_bytes_ += bytes;
  }
  return true;
}

std::optional<EmbeddedWindow::Reading> EmbeddedWindow::find(std::uint64_t number) const {
  const auto chunk = first_above(head_, number);
  if (chunk == head_.end() || chunk->first() > number) return {};
  std::size_t offset = 0;
  for (const EmbeddedBlock& block : chunk->blocks) {
    if (number < block.end()) {
      if (number < block.first) return {};
      return Reading{&*chunk, block, offset};
    }
    offset += block.bytes;
  }
  return {};
}

void EmbeddedWindow::forget_read(const EmbeddedSettles& settles) {
  while (chunk_ > 0) {
    const EmbeddedChunk& chunk = head_.front();
    const bool given = chunk.stored || chunk.end() <= given_end_;
    if (!chunk.stored && !settles.all_settled(chunk.first(), chunk.end())) return;
    if (!given) {
      unstored_bytes_ -= size_of(chunk);
      given_end_ = chunk.end();
    }
    head_bytes_ -= size_of(chunk);
    head_.pop_front();
    --chunk_;
  }
}

std::vector<EmbeddedChunk*> EmbeddedWindow::next_to_store(std::size_t max_bytes) {
  std::vector<EmbeddedChunk*> chunks;
  std::size_t bytes = 0;
  for (std::deque<EmbeddedChunk>* part : {&head_, &tail_}) {
    for (auto at = first_above(*part, given_end_); at != part->end(); ++at) {
      if (at->stored) continue;  // was loaded
      if (bytes > 0 && bytes + size_of(*at) > max_bytes) return chunks;
      bytes += size_of(*at);
      unstored_bytes_ -= size_of(*at);
      given_end_ = at->end();
      chunks.push_back(&*at);
    }
  }
  return chunks;
}

void EmbeddedWindow::stored(std::uint64_t end) {
  for (EmbeddedChunk& chunk : head_) {
    if (chunk.end() > end) break;
    chunk.stored = true;
  }
  while (!tail_.empty() && tail_.front().end() <= end) {
    EmbeddedChunk& chunk = tail_.front();
    const std::size_t bytes = size_of(chunk);
    tail_bytes_ -= bytes;
    if (!gap_ && head_bytes_ + bytes <= head_limit_) {
      // It is the next to be read, and there is room: need not be loaded.
      chunk.stored = true;
      head_bytes_ += bytes;
      unread_bytes_ += bytes;
      head_.push_back(std::move(chunk));
    } else if (gap_) {
      gap_->last = chunk.end() - 1;
    } else {
      gap_ = NumberRange{chunk.first(), chunk.end() - 1};
    }
    tail_.pop_front();
  }
}

void EmbeddedWindow::not_stored(std::uint64_t first) {
  if (first >= given_end_) return;
  for (std::deque<EmbeddedChunk>* part : {&head_, &tail_}) {
    for (auto at = first_above(*part, first); at != part->end(); ++at) {
      if (at->end() > given_end_) break;
      if (!at->stored) unstored_bytes_ += size_of(*at);
    }
  }
  given_end_ = first;
}

void EmbeddedWindow::shorten_gap(std::uint64_t through) {
  if (through >= gap_->last) {
    gap_.reset();
  } else {
    gap_->first = std::max(gap_->first, through + 1);
  }
}

void EmbeddedWindow::add_loaded(std::vector<EmbeddedChunk> chunks) {
  for (EmbeddedChunk& chunk : chunks) {
    head_bytes_ += size_of(chunk);
    unread_bytes_ += size_of(chunk);
    head_.push_back(std::move(chunk));
  }
}

void EmbeddedWindow::forget_settled(const EmbeddedSettles& settles) {
  SEGUE_CHECK(chunk_ == 0 && block_ == 0);
  for (std::deque<EmbeddedChunk>* part : {&head_, &tail_}) {
    while (!part->empty()) {
      const EmbeddedChunk& chunk = part->front();
      if (!settles.all_settled(chunk.first(), chunk.end())) return;
      const std::size_t bytes = size_of(chunk);
      if (chunk.end() > given_end_) {
        unstored_bytes_ -= bytes;
        given_end_ = chunk.end();
      }
      if (part == &head_) unread_bytes_ -= bytes;
      (part == &head_ ? head_bytes_ : tail_bytes_) -= bytes;
      part->pop_front();
    }
  }
}

void EmbeddedWindow::clear() {
  head_.clear();
  tail_.clear();
  gap_.reset();
  head_bytes_ = tail_bytes_ = unread_bytes_ = unstored_bytes_ = 0;
  chunk_ = block_ = offset_ = 0;
  given_end_ = end_;
}

}  // namespace segue::storage
