#pragma once

#include <cstdint>

#include "common/clock.h"

namespace segue {

/// Sets the allocator up so that memory that is freed goes back to the system: few arenas, large
/// buffers mapped on their own, and of free memory no more kept than a part of what the process may
/// take. Once, at the start of the process.
void configure_allocator(std::uint64_t memory_limit);

/// Gives free memory back from time to time, after much of it was freed. One thread.
class MemoryTrim {
 public:
  /// `in_use`: what the process knows to hold, in bytes. Trims when that has fallen far below its
  /// peak since the last trim, at most every few seconds, since it costs milliseconds; and once
  /// more after that, for what was still being freed.
  void on_tick(TimePoint now, std::uint64_t in_use);

 private:
  std::uint64_t peak_ = 0;
  TimePoint last_{};
  bool once_more_ = false;
};

}  // namespace segue
