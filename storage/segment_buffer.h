#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <string_view>

#include "storage/segment_files.h"

namespace segue::storage {

/// Memory that begins at a multiple of SegmentFiles::kBlock, as reads and writes past the page
/// cache need. Grows; keeps its bytes when it does. One thread.
class SegmentBuffer {
 public:
  char* data() { return bytes_.get(); }
  std::size_t size() const { return size_; }
  std::string_view view() const { return {bytes_.get(), size_}; }

  void clear() { size_ = 0; }
  /// Sets the size; new bytes are undefined.
  void resize(std::size_t size) {
    if (size > capacity_) grow(size);
    size_ = size;
  }
  /// Room for `count` bytes more; where they go.
  char* extend(std::size_t count) {
    resize(size_ + count);
    return bytes_.get() + size_ - count;
  }
  void append(std::string_view bytes) {
    if (!bytes.empty()) std::memcpy(extend(bytes.size()), bytes.data(), bytes.size());
  }
  /// Zeros up to the next multiple of kBlock.
  void pad() {
    const std::size_t past = size_ % SegmentFiles::kBlock;
    if (past == 0) return;
    const std::size_t zeros = SegmentFiles::kBlock - past;
    std::memset(extend(zeros), 0, zeros);
  }
  /// Gives memory beyond `capacity` back: one huge message shall not keep its room.
  void shrink(std::size_t capacity) {
    if (capacity_ <= capacity) return;
    bytes_.reset();
    size_ = capacity_ = 0;
  }

 private:
  struct Free {
    void operator()(char* bytes) const {
      ::operator delete[](bytes, std::align_val_t{SegmentFiles::kBlock});
    }
  };

  void grow(std::size_t size) {
    const std::size_t capacity = (std::max(size, 2 * capacity_) + SegmentFiles::kBlock - 1) /
                                 SegmentFiles::kBlock * SegmentFiles::kBlock;
    std::unique_ptr<char[], Free> bytes(
        static_cast<char*>(::operator new[](capacity, std::align_val_t{SegmentFiles::kBlock})));
    if (size_ > 0) std::memcpy(bytes.get(), bytes_.get(), size_);
    bytes_ = std::move(bytes);
    capacity_ = capacity;
  }

  std::unique_ptr<char[], Free> bytes_;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
};

}  // namespace segue::storage
