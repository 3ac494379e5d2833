#include "node/turn_settles.h"

#include <utility>

namespace segue::node {

void TurnSettles::add(QueueId queue, NumberRange range) {
  std::vector<NumberRange>& ranges = queues_[queue];
  if (!ranges.empty() && ranges.back().last + 1 == range.first) {
    ranges.back().last = range.last;
  } else {
    ranges.push_back(range);
  }
}

std::vector<std::vector<QueueRanges>> TurnSettles::take(std::size_t max_ranges) {
  std::vector<std::vector<QueueRanges>> pieces;
  std::size_t room = 0;
  for (auto& [queue, ranges] : queues_) {
    if (ranges.size() <= room) {
      room -= ranges.size();
      pieces.back().push_back({queue, std::move(ranges)});
      continue;
    }
    for (std::size_t at = 0; at < ranges.size(); at += max_ranges) {
      const std::size_t end = std::min(ranges.size(), at + max_ranges);
      QueueRanges part{queue, {}};
      part.sequences.assign(ranges.begin() + static_cast<std::ptrdiff_t>(at),
                            ranges.begin() + static_cast<std::ptrdiff_t>(end));
      pieces.emplace_back();
      pieces.back().push_back(std::move(part));
      room = max_ranges - (end - at);
    }
  }
  queues_.clear();
  return pieces;
}

void TurnSettles::put_back(std::vector<QueueRanges> piece) {
  for (QueueRanges& queue : piece) {
    for (const NumberRange& range : queue.sequences) add(queue.queue, range);
  }
}

}  // namespace segue::node
