// The messages of a delay lane (class Queue).
#include <algorithm>

#include "node/queue.h"

namespace segue::node {

bool Queue::is_away(Sequence sequence) const {
  NumberRange away;
  return find_away(sequence.value, &away) && away.first <= sequence.value;
}

std::vector<NumberRange> Queue::find_waiting(NumberRange range,
                                             const storage::DiskDataCenter& disk) const {
  std::vector<NumberRange> waiting;
  const std::uint64_t end = std::min(range.last, applied_through().value);
  std::uint64_t at = std::max<std::uint64_t>(range.first, 1);
  while (at <= end) {
    // What is not in memory is on disk; some is in both.
    auto next = disk.valid_run(id_, Sequence{at}, Sequence{end});
    const auto here =
        active_ ? active_->messages.first_run(Sequence{at}, Sequence{end}) : std::nullopt;
    if (here && (!next || here->first.value < next->first)) {
      next = NumberRange{here->first.value, here->last().value};
    }
    if (!next) break;
    NumberRange away;
    if (find_away(next->first, &away) && away.first <= next->last) {
      if (away.first > next->first) waiting.push_back({next->first, away.first - 1});
      at = away.last + 1;
    } else {
      waiting.push_back(*next);
      at = next->last + 1;
    }
  }
  return waiting;
}

void Queue::take_delayed(const std::vector<NumberRange>& ranges) {
  std::uint64_t count = 0;
  for (const NumberRange& range : ranges) {
    active().leaving.add(range);
    count += range.count();
  }
  set_ready(ready_ - std::min(count, ready_));
}

}  // namespace segue::node
