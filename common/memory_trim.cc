#include "common/memory_trim.h"

#include <malloc.h>

#include <algorithm>

namespace segue {
namespace {

constexpr int kMappedBytes = 4 << 20;  // larger buffers are mapped, and unmapped when freed
constexpr int kTrimBytes = 32 << 20;   // free memory kept at the heap's end, at most
constexpr std::uint64_t kLeastTrimBytes = 1 << 20;
constexpr int kArenas = 2;
constexpr std::uint64_t kWorthTrimming = 64ull << 20;
constexpr Duration kPause = std::chrono::seconds(5);

}  // namespace

void configure_allocator(std::uint64_t memory_limit) {
  mallopt(M_ARENA_MAX, kArenas);
  mallopt(M_MMAP_THRESHOLD, kMappedBytes);
  mallopt(M_TRIM_THRESHOLD, static_cast<int>(std::clamp<std::uint64_t>(
                                memory_limit / 16, kLeastTrimBytes, kTrimBytes)));
}

void MemoryTrim::on_tick(TimePoint now, std::uint64_t in_use) {
  peak_ = std::max(peak_, in_use);
  const bool fell = peak_ - in_use >= kWorthTrimming;
  if (!(fell || once_more_) || now - last_ < kPause) return;
  malloc_trim(kTrimBytes);
  once_more_ = fell;
  last_ = now;
  peak_ = in_use;
}

}  // namespace segue
