#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace segue::storage {

/// Memory for the bodies that are read back, used again and again: fresh memory of this size costs
/// more in page faults than everything else about a read. Buffers come back from whichever thread
/// lets go of the last message in them; they may outlive the pool.
///
/// Safe from any thread. Lock: `mutex` guards the list of free buffers, for a push or a pop.
class SegmentBodyPool {
 public:
  /// Keeps at most `keep_bytes` that nobody uses.
  explicit SegmentBodyPool(std::size_t keep_bytes = 8u << 20)
      : free_(std::make_shared<Free>(keep_bytes)) {}

  /// At least `size` bytes, undefined.
  std::shared_ptr<char[]> take(std::size_t size) {
    if (size < kLeast || size > kMost) return std::make_shared_for_overwrite<char[]>(size);
    const std::size_t capacity = (size + kStep - 1) / kStep * kStep;
    std::unique_ptr<char[]> buffer = free_->pop(capacity);
    if (buffer == nullptr) buffer = std::make_unique_for_overwrite<char[]>(capacity);
    return {buffer.release(), [free = free_, capacity](char* used) {
              free->push(std::unique_ptr<char[]>(used), capacity);
            }};
  }

  std::size_t kept_bytes() const {
    const std::lock_guard lock(free_->mutex);
    return free_->bytes;
  }

 private:
  // Small buffers the allocator gives back by itself; huge ones are rare.
  static constexpr std::size_t kLeast = 64u << 10;
  static constexpr std::size_t kMost = 4u << 20;
  static constexpr std::size_t kStep = 64u << 10;

  struct Free {
    explicit Free(std::size_t most) : keep(most) {}

    std::unique_ptr<char[]> pop(std::size_t capacity) {
      const std::lock_guard lock(mutex);
      const auto found = buffers.find(capacity);
      if (found == buffers.end() || found->second.empty()) return nullptr;
      std::unique_ptr<char[]> buffer = std::move(found->second.back());
      found->second.pop_back();
      bytes -= capacity;
      return buffer;
    }
    void push(std::unique_ptr<char[]> buffer, std::size_t capacity) {
      const std::lock_guard lock(mutex);
      if (bytes + capacity > keep) {
        // Sizes change with the messages: those of former ones make room.
        for (auto& [other, list] : buffers) {
          if (other == capacity) continue;
          bytes -= other * list.size();
          list.clear();
        }
      }
      if (bytes + capacity > keep) return;
      bytes += capacity;
      buffers[capacity].push_back(std::move(buffer));
    }

    std::mutex mutex;
    const std::size_t keep;
    std::size_t bytes = 0;
    std::map<std::size_t, std::vector<std::unique_ptr<char[]>>> buffers;  // by capacity
  };

  std::shared_ptr<Free> free_;
};

}  // namespace segue::storage
