#pragma once

#include <atomic>
#include <bit>
#include <cstddef>
#include <utility>
#include <vector>

namespace segue::storage {

/// A bounded queue from one thread to one other, without locks. What the consumer sees popped, it
/// also sees the memory of as the producer left it.
template <typename T>
class SpscRing {
 public:
  /// `capacity` is rounded up to a power of two.
  explicit SpscRing(std::size_t capacity) : slots_(std::bit_ceil(capacity)) {}

  std::size_t capacity() const { return slots_.size(); }

  /// Producer only. False, and `value` untouched, when full.
  bool push(T& value) {
    const std::size_t tail = tail_.load(std::memory_order_relaxed);
    if (tail - head_.load(std::memory_order_acquire) == slots_.size()) return false;
    slots_[tail & (slots_.size() - 1)] = std::move(value);
    tail_.store(tail + 1, std::memory_order_release);
    return true;
  }

  /// Consumer only. False when empty.
  bool pop(T& value) {
    const std::size_t head = head_.load(std::memory_order_relaxed);
    if (head == tail_.load(std::memory_order_acquire)) return false;
    value = std::move(slots_[head & (slots_.size() - 1)]);
    head_.store(head + 1, std::memory_order_release);
    return true;
  }

 private:
  static constexpr std::size_t kCacheLine = 64;

  std::vector<T> slots_;
  alignas(kCacheLine) std::atomic<std::size_t> head_{0};  // written by the consumer
  alignas(kCacheLine) std::atomic<std::size_t> tail_{0};  // written by the producer
};

}  // namespace segue::storage
