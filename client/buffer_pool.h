#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "common/bytes.h"

namespace segue::client {

/// Buffers for bodies, used again and again: fresh memory costs a page fault for every four
/// kilobytes, which is more than filling it. Any thread; the lock is held for a push or a pop.
class BufferPool : public std::enable_shared_from_this<BufferPool> {
 public:
  /// An empty string with room for `bytes`, perhaps a used one.
  std::string take(std::size_t bytes);
  /// Shares what was written into `buffer`; when the last user drops it, it comes back here.
  SharedBytes share(std::string buffer);

 private:
  void give_back(std::string buffer);

  std::mutex mutex_;
  std::vector<std::string> free_;
};

}  // namespace segue::client
