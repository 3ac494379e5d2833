#include "node/unacked.h"

#include <algorithm>
#include <iterator>

namespace segue::node {

void Unacked::add(std::uint64_t number, Run run, bool exact) {
  count_ += run.count;
  bytes_ += run.bytes;
  if (!runs_.empty()) {
    auto& [last_number, last] = *runs_.rbegin();
    const bool adjoins = last_number + last.count == number && last.queue == run.queue &&
                         last.first.value + last.count == run.first.value;
    const bool alike = last.bytes * run.count == run.bytes * last.count;
    if (adjoins && (alike || !exact)) {
      last.count += run.count;
      last.bytes += run.bytes;
      return;
    }
  }
  runs_.emplace_hint(runs_.end(), number, run);
}

std::uint64_t Unacked::take(NumberRange numbers, std::vector<Run>& taken) {
  std::uint64_t messages = 0;
  auto at = runs_.upper_bound(numbers.first);
  if (at != runs_.begin()) --at;
  while (at != runs_.end() && at->first <= numbers.last) {
    const std::uint64_t run_first = at->first;
    Run& run = at->second;
    const std::uint64_t run_last = run_first + run.count - 1;
    if (run_last < numbers.first) {
      ++at;
      continue;
    }
    const std::uint64_t low = std::max(run_first, numbers.first);
    const std::uint64_t high = std::min(run_last, numbers.last);
    const auto before = static_cast<std::uint32_t>(low - run_first);
    const auto cut = static_cast<std::uint32_t>(high - low + 1);
    const std::uint32_t after = run.count - before - cut;
    // Bytes go with the number of messages; the last part gets what is left, so that none is lost.
    const std::uint64_t each = run.bytes / run.count;
    const std::uint64_t before_bytes = each * before;
    const std::uint64_t after_bytes = each * after;
    Run part{run.queue, run.first.next(before), cut, run.bytes - before_bytes - after_bytes};
    const Run rest{run.queue, part.first.next(cut), after, after_bytes};
    messages += cut;
    count_ -= cut;
    bytes_ -= part.bytes;
    taken.push_back(part);
    const auto next = std::next(at);
    if (before > 0) {
      run.count = before;
      run.bytes = before_bytes;
      if (after > 0) runs_.emplace_hint(next, high + 1, rest);
    } else if (after > 0) {
      auto node = runs_.extract(at);
      node.key() = high + 1;
      node.mapped() = rest;
      runs_.insert(next, std::move(node));
    } else {
      runs_.erase(at);
    }
    at = next;
  }
  return messages;
}

std::vector<Unacked::Numbered> Unacked::find(NumberRange numbers) const {
  std::vector<Numbered> found;
  auto at = runs_.upper_bound(numbers.first);
  if (at != runs_.begin()) --at;
  for (; at != runs_.end() && at->first <= numbers.last; ++at) {
    const std::uint64_t last = at->first + at->second.count - 1;
    if (last < numbers.first) continue;
    found.push_back(
        {at->second.queue, {std::max(at->first, numbers.first), std::min(last, numbers.last)}});
  }
  return found;
}

void Unacked::take_all(std::vector<Run>& taken) {
  for (const auto& [number, run] : runs_) taken.push_back(run);
  runs_.clear();
  count_ = 0;
  bytes_ = 0;
}

}  // namespace segue::node
