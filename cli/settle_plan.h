#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

namespace segue::cli {

/// Decides which settlements to hold back so that the broker never sends more messages than are
/// wanted: it sends at most what was settled plus the prefetch, so no more than `count - prefetch`
/// may be settled before the subscription ends. Without a count nothing is held back. No I/O.
class SettlePlan {
 public:
  SettlePlan(std::optional<std::uint64_t> count, std::uint64_t prefetch)
      : count_(count), prefetch_(count ? std::min(*count, prefetch) : prefetch) {}

  std::uint32_t prefetch() const { return static_cast<std::uint32_t>(prefetch_); }
  std::uint64_t taken() const { return taken_; }
  bool complete() const { return count_ && taken_ >= *count_; }
  /// Messages to ask for next, at most.
  std::size_t want() const {
    constexpr std::uint64_t kBatch = 4096;
    return static_cast<std::size_t>(count_ ? std::min(kBatch, *count_ - taken_) : kBatch);
  }
  /// So many messages came and were written: the number of them that may be settled now; the
  /// rest when the subscription has ended.
  std::size_t take(std::size_t messages) {
    taken_ += messages;
    const std::uint64_t may = count_ ? *count_ - prefetch_ : UINT64_MAX;
    const auto now = std::min<std::uint64_t>(messages, may - settled_);
    settled_ += now;
    return static_cast<std::size_t>(now);
  }

 private:
  const std::optional<std::uint64_t> count_;
  const std::uint64_t prefetch_;
  std::uint64_t taken_ = 0;
  std::uint64_t settled_ = 0;
};

}  // namespace segue::cli
