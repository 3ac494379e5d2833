#pragma once

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "common/check.h"

namespace segue::storage {

/// Memory for direct transfers: starts at a multiple of 4096, and so does its size. Not
/// initialised.
class AlignedBuffer {
 public:
  static constexpr std::size_t kAlignment = 4096;

  AlignedBuffer() = default;
  explicit AlignedBuffer(std::size_t size) { reserve(size, 0); }

  char* data() { return memory_.get(); }
  const char* data() const { return memory_.get(); }
  std::size_t size() const { return size_; }

  /// Makes it at least `size` large; the first `keep` bytes stay.
  void reserve(std::size_t size, std::size_t keep) {
    if (size <= size_) return;
    size = (size + kAlignment - 1) / kAlignment * kAlignment;
    std::unique_ptr<char, Free> larger(static_cast<char*>(std::aligned_alloc(kAlignment, size)));
    SEGUE_CHECK(larger != nullptr);
    if (keep > 0) std::memcpy(larger.get(), memory_.get(), keep);
    memory_ = std::move(larger);
    size_ = size;
  }

 private:
  struct Free {
    void operator()(char* memory) const { std::free(memory); }
  };
  std::unique_ptr<char, Free> memory_;
  std::size_t size_ = 0;
};

}  // namespace segue::storage
