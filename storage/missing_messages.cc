#include "storage/missing_messages.h"

#include <algorithm>

namespace segue::storage {

namespace {

constexpr std::size_t kJoinFrom = 1024;

}  // namespace

void MissingMessages::add(const MissingSegment& segment) {
  if (segment.valid > 0) queues_[segment.queue].segments.push_back(segment);
}

void MissingMessages::found_in_log(QueueId queue, Sequence first, Sequence last) {
  const auto found = queues_.find(queue);
  if (found == queues_.end()) return;
  std::vector<Range>& ranges = found->second.found;
  ranges.emplace_back(first.value, last.value);
  if (ranges.size() < kJoinFrom || ranges.size() < 2 * found->second.joined) return;
  join(ranges);
  found->second.joined = ranges.size();
}

void MissingMessages::join(std::vector<Range>& ranges) {
  std::sort(ranges.begin(), ranges.end());
  std::size_t end = 0;
  for (const Range& range : ranges) {
    // A range's end may be the highest number there is.
    if (end > 0 &&
        (range.first <= ranges[end - 1].second || range.first - 1 == ranges[end - 1].second)) {
      ranges[end - 1].second = std::max(ranges[end - 1].second, range.second);
    } else {
      ranges[end++] = range;
    }
  }
  ranges.resize(end);
}

std::vector<MissingMessages::Loss> MissingMessages::losses() const {
  std::vector<Loss> losses;
  for (const auto& [id, queue] : queues_) {
    std::vector<Range> ranges = queue.found;
    join(ranges);
    Loss loss{id, 0, 0, {}};
    for (const MissingSegment& segment : queue.segments) {
      std::uint64_t found = 0;
      for (const auto& [first, last] : ranges) {
        const std::uint64_t from = std::max(first, segment.first.value);
        const std::uint64_t to = std::min(last, segment.last.value);
        if (from <= to) found += to - from + 1;
      }
      if (found >= segment.valid) continue;
      loss.messages += segment.valid - found;
      if (loss.files++ == 0) loss.path = segment.path;
    }
    if (loss.files > 0) losses.push_back(std::move(loss));
  }
  return losses;
}

}  // namespace segue::storage
