#include "client/settle_collector.h"

#include <algorithm>
#include <utility>

namespace segue::client {

void SettleCollector::add(const SettledRange& range) {
  tags_ += range.last - range.first + 1;
  if (!ranges_.empty()) {
    SettledRange& last = ranges_.back();
    if (last.outcome == range.outcome && last.delay_ms == range.delay_ms &&
        last.last + 1 == range.first) {
      last.last = range.last;
      return;
    }
  }
  ranges_.push_back(range);
}

std::vector<SettledRange> SettleCollector::take() {
  std::vector<SettledRange> sorted;
  sorted.swap(ranges_);
  tags_ = 0;
  // What is extended and then settled must come in this order.
  const auto place = [](const SettledRange& range) {
    return std::pair(range.outcome != v1::OUTCOME_EXTEND, range.first);
  };
  std::sort(sorted.begin(), sorted.end(),
            [&](const SettledRange& a, const SettledRange& b) { return place(a) < place(b); });
  std::size_t kept = 0;
  for (std::size_t i = 1; i < sorted.size(); ++i) {
    SettledRange& last = sorted[kept];
    if (sorted[i].outcome == last.outcome && sorted[i].delay_ms == last.delay_ms &&
        sorted[i].first == last.last + 1) {
      last.last = sorted[i].last;
    } else {
      sorted[++kept] = sorted[i];
    }
  }
  if (!sorted.empty()) sorted.resize(kept + 1);
  return sorted;
}

void SettleCollector::clear() {
  ranges_.clear();
  tags_ = 0;
}

}  // namespace segue::client
