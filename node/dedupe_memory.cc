#include "node/dedupe_memory.h"

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "node/dedupe_window.h"

namespace segue::node {

namespace {

/// Of one window whose time is over, and of all that are too large.
constexpr std::size_t kMostAtOnce = 10'000;
constexpr std::uint64_t kMostShrunkAtOnce = 50'000;
constexpr Duration kBetweenWarnings = std::chrono::minutes(1);

}  // namespace

void DedupeMemory::on_tick(TimePoint now, std::int64_t wall_ms) {
  std::uint64_t total = 0;
  for (std::size_t i = 0; i < queues_.dedupes().size(); ++i) {
    DedupeWindow& window = *queues_.dedupes()[i].dedupe;
    window.forget_old(wall_ms, kMostAtOnce);
    total += window.bytes();
  }
  if (total > memory_.ids_limit()) shrink(now, total);
}

// The largest come down to one level at which all have room.
void DedupeMemory::shrink(TimePoint now, std::uint64_t total) {
  std::vector<HostedQueue*> largest;
  for (std::size_t i = 0; i < queues_.dedupes().size(); ++i) {
    largest.push_back(&queues_.dedupes()[i]);
  }
  std::sort(largest.begin(), largest.end(), [](const HostedQueue* a, const HostedQueue* b) {
    return a->dedupe->bytes() > b->dedupe->bytes();
  });
  std::uint64_t excess = total - memory_.ids_limit();
  std::uint64_t level = 0;
  std::size_t count = 0;
  while (count < largest.size()) {
    level = largest[count++]->dedupe->bytes();
    const std::uint64_t next = count < largest.size() ? largest[count]->dedupe->bytes() : 0;
    const std::uint64_t possible = (level - next) * count;
    if (possible >= excess) {
      level -= excess / count;
      break;
    }
    excess -= possible;
  }
  std::uint64_t left = kMostShrunkAtOnce;
  for (std::size_t i = 0; i < count; ++i) {
    DedupeWindow& window = *largest[i]->dedupe;
    const std::uint64_t bytes = window.bytes();
    if (bytes <= level) continue;
    const std::uint64_t many = std::min(left, (bytes - level) / DedupeWindow::kEntryBytes + 1);
    window.forget(many);
    left -= many;
  }
  if (now < next_warning_) return;
  next_warning_ = now + kBetweenWarnings;
  log_.warn("deduplication_windows_full",
            {{"bytes", total},
             {"limit", memory_.ids_limit()},
             {"largest", largest.front()->queue.display_name()},
             {"what",
              "the oldest ids are forgotten before their time; give the node more "
              "memory_limit, or the queues a lower x-deduplication-max"}});
}

}  // namespace segue::node
