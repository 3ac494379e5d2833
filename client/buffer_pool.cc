#include "client/buffer_pool.h"

#include <utility>

namespace segue::client {

namespace {

// As many as can be on their way at a time with common windows.
constexpr std::size_t kMostBuffers = 32;
constexpr std::size_t kLargestKept = std::size_t{2} << 20;

}  // namespace

std::string BufferPool::take(std::size_t bytes) {
  std::string buffer;
  {
    const std::lock_guard lock(mutex_);
    if (!free_.empty()) {
      buffer = std::move(free_.back());
      free_.pop_back();
    }
  }
  buffer.reserve(bytes);
  return buffer;
}

SharedBytes BufferPool::share(std::string buffer) {
  auto* kept = new std::string(std::move(buffer));
  const std::shared_ptr<const void> owner(static_cast<const void*>(kept),
                                          [pool = shared_from_this(), kept](const void*) {
                                            pool->give_back(std::move(*kept));
                                            delete kept;
                                          });
  return SharedBytes(owner, kept->data(), kept->size());
}

void BufferPool::give_back(std::string buffer) {
  if (buffer.capacity() > kLargestKept) return;
  buffer.clear();
  const std::lock_guard lock(mutex_);
  if (free_.size() < kMostBuffers) free_.push_back(std::move(buffer));
}

}  // namespace segue::client
