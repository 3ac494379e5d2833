#include "storage/embedded_settles.h"

#include <algorithm>
#include <iterator>
#include <limits>

namespace segue::storage {

namespace {

std::vector<NumberRange> list(const RangeSet& set) {
  std::vector<NumberRange> ranges;
  ranges.reserve(set.ranges().size());
  for (const auto& [first, last] : set.ranges()) ranges.push_back({first, last});
  return ranges;
}

}  // namespace

bool EmbeddedSettles::all_settled(std::uint64_t first, std::uint64_t end) const {
  first = std::max(first, head_);
  if (first >= end) return true;
  NumberRange found;
  return above_.find_from(first, &found) && found.first <= first && found.last >= end - 1;
}

bool EmbeddedSettles::any_settled(std::uint64_t first, std::uint64_t end) const {
  return first < end && next_settled(first) < end;
}

std::uint64_t EmbeddedSettles::count_settled(std::uint64_t first, std::uint64_t end) const {
  if (first >= end) return 0;
  std::uint64_t count = first < head_ ? std::min(head_, end) - first : 0;
  first = std::max(first, head_);
  NumberRange found;
  while (first < end && above_.find_from(first, &found) && found.first < end) {
    const std::uint64_t last = std::min(found.last, end - 1);
    count += last - std::max(found.first, first) + 1;
    first = last + 1;
  }
  return count;
}

std::uint64_t EmbeddedSettles::next_settled(std::uint64_t number) const {
  if (number < head_) return number;
  NumberRange found;
  if (above_.empty() || !above_.find_from(number, &found)) {
    return std::numeric_limits<std::uint64_t>::max();
  }
  return std::max(number, found.first);
}

std::vector<NumberRange> EmbeddedSettles::ranges() const {
  return list(above_);
}

void EmbeddedSettles::recover_head(std::uint64_t head) {
  head_ = std::max(head_, head);
  above_.remove_below(head_);
  add(head_, head_);
}

void EmbeddedSettles::recover(NumberRange range) {
  add(range.first, range.last + 1);
}

void EmbeddedSettles::add(std::uint64_t first, std::uint64_t end) {
  first = std::max(first, head_);
  if (first == head_ && above_.empty()) {
    head_ = std::max(head_, end);
    return;
  }
  if (first < end) above_.add({first, end - 1});
  if (!above_.empty() && above_.front().first == head_) {
    head_ = above_.front().last + 1;
    above_.remove_below(head_);
  }
}

void EmbeddedSettles::open_block(const EmbeddedBlock& block) {
  const std::uint64_t unsettled = block.count - count_settled(block.first, block.end());
  if (unsettled == 0) {
    // Was settled when the log could not be told of the block.
    new_blocks_.add({block.first, block.end() - 1});
    return;
  }
  open_.emplace_hint(open_.end(), block.first, Open{block, unsettled});
}

const EmbeddedBlock* EmbeddedSettles::block_of(std::uint64_t number) const {
  auto at = open_.upper_bound(number);
  if (at == open_.begin()) return nullptr;
  --at;
  return number < at->second.block.end() ? &at->second.block : nullptr;
}

void EmbeddedSettles::settle(std::uint64_t first, std::uint64_t end) {
  if (first >= end) return;
  auto at = open_.upper_bound(first);
  if (at != open_.begin()) --at;
  while (at != open_.end() && at->first < end) {
    Open& open = at->second;
    const std::uint64_t from = std::max(first, open.block.first);
    const std::uint64_t to = std::min(end, open.block.end());
    if (from < to) open.unsettled -= (to - from) - count_settled(from, to);
    if (open.unsettled == 0) {
      new_blocks_.add({open.block.first, open.block.end() - 1});
      at = open_.erase(at);
    } else {
      ++at;
    }
  }
  note(first, end);
}

void EmbeddedSettles::settle_missing(std::uint64_t first, std::uint64_t end) {
  if (first >= end) return;
  new_blocks_.add({first, end - 1});
  note(first, end);
}

void EmbeddedSettles::note(std::uint64_t first, std::uint64_t end) {
  new_messages_.add({first, end - 1});
  add(first, end);
}

void EmbeddedSettles::clear(std::uint64_t end) {
  open_.clear();
  if (head_ < end) {
    // Blocks begin at or above the first one that is open, which may be below head.
    new_messages_.add({head_, end - 1});
    new_blocks_.add({1, end - 1});
  }
  recover_head(end);
}

SettleRecord EmbeddedSettles::take_news() {
  SettleRecord news{list(new_messages_), list(new_blocks_)};
  new_messages_.clear();
  new_blocks_.clear();
  return news;
}

void EmbeddedSettles::put_back(const SettleRecord& news) {
  for (const NumberRange& range : news.messages) new_messages_.add(range);
  for (const NumberRange& range : news.blocks) new_blocks_.add(range);
}

}  // namespace segue::storage
