#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string_view>
#include <vector>

#include "common/bytes.h"
#include "storage/embedded_chunk.h"
#include "storage/segment_body_pool.h"

namespace segue::storage {

/// Where offered messages are copied to, once, framed as they will stand in the log, in the
/// segments and in the hands of who polls them. One thread.
class EmbeddedStage {
 public:
  /// What the log writes fast at once, and the processor's cache still holds when it does.
  static constexpr std::size_t kChunkBytes = 256u << 10;
  /// A block is complete at this size: small, since one unsettled message keeps it; large enough
  /// that what the engine does for each is little for each message.
  static constexpr std::size_t kBlockBytes = 4096;
  static constexpr std::size_t kFrameBytes = 4;

  /// Chunks are sealed at `chunk_bytes`.
  explicit EmbeddedStage(std::size_t chunk_bytes) : chunk_bytes_(chunk_bytes) {}

  /// The number of the message added next.
  std::uint64_t next() const { return next_; }
  void set_next(std::uint64_t next) { first_ = next_ = next; }
  bool empty() const { return at_ == begin_; }
  std::size_t bytes() const { return static_cast<std::size_t>(at_ - begin_); }
  bool fits(std::size_t message_bytes) const {
    return message_bytes + kFrameBytes <= static_cast<std::size_t>(limit_ - at_);
  }

  /// Adds a message that fits.
  void add(std::string_view message) {
    store_le(at_, static_cast<std::uint32_t>(message.size()));
    if (!message.empty()) std::memcpy(at_ + kFrameBytes, message.data(), message.size());
    at_ += kFrameBytes + message.size();
    ++next_;
    if (static_cast<std::size_t>(at_ - block_) >= kBlockBytes) end_block();
  }
  /// Makes room for a message that does not fit. Empty: what was added has been sealed.
  void make_room(std::size_t message_bytes) {
    const std::size_t size = std::max(chunk_bytes_, message_bytes + kFrameBytes);
    buffer_ = pool_.take(size);
    begin_ = block_ = at_ = buffer_.get();
    limit_ = begin_ + size;
  }
  /// What was added since the last one; there is something.
  EmbeddedChunk seal() {
    if (at_ != block_) end_block();
    EmbeddedChunk chunk{SharedBytes(buffer_, begin_, bytes()), std::move(blocks_), false};
    blocks_ = {};
    begin_ = block_ = at_;
    return chunk;
  }
  /// Takes the last `chunk` back: it was never there.
  void undo(const EmbeddedChunk& chunk) { first_ = next_ = chunk.first(); }

 private:
  void end_block() {
    blocks_.push_back({first_, static_cast<std::uint32_t>(next_ - first_),
                       static_cast<std::uint32_t>(at_ - block_)});
    first_ = next_;
    block_ = at_;
  }

  const std::size_t chunk_bytes_;
  SegmentBodyPool pool_{16u << 20};
  std::shared_ptr<char[]> buffer_;
  char* begin_ = nullptr;  // of what is not sealed
  char* block_ = nullptr;  // of the block that is not complete
  char* at_ = nullptr;
  char* limit_ = nullptr;
  std::uint64_t first_ = 1;  // of the block
  std::uint64_t next_ = 1;
  std::vector<EmbeddedBlock> blocks_;
};

}  // namespace segue::storage
