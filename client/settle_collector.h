#pragma once

#include <cstdint>
#include <vector>

#include "segue/v1/client.pb.h"

namespace segue::client {

/// Tags [first, last] of one consumer and what became of them.
struct SettledRange {
  std::uint64_t first = 0;
  std::uint64_t last = 0;
  v1::Outcome outcome = v1::OUTCOME_ACK;
  std::uint64_t delay_ms = 0;  // of a requeue
  bool operator==(const SettledRange&) const = default;
};

/// Collects settlements until the I/O thread sends them, neighbours as one range. One thread at a
/// time.
class SettleCollector {
 public:
  void add(const SettledRange& range);
  bool empty() const { return ranges_.empty(); }
  /// Tags collected.
  std::uint64_t tags() const { return tags_; }
  /// What was collected, extensions first, by tag, in as few ranges as can be; empty afterwards.
  std::vector<SettledRange> take();
  void clear();

 private:
  std::vector<SettledRange> ranges_;
  std::uint64_t tags_ = 0;
};

}  // namespace segue::client
