#include "node/dead_letters.h"

#include <algorithm>

namespace segue::node {

namespace {

/// The part of the range with these sequences, which lie in it.
DeadLetters::Range part_of(const DeadLetters::Range& range, NumberRange sequences) {
  DeadLetters::Range part = range;
  part.first_number += sequences.first - range.sequences.first;
  part.sequences = sequences;
  return part;
}

}  // namespace

DeadLetters::BySequence::const_iterator DeadLetters::find(std::uint64_t sequence) const {
  auto at = by_sequence_.upper_bound(sequence);
  if (at != by_sequence_.begin() && std::prev(at)->second.sequences.last >= sequence) --at;
  return at;
}

bool DeadLetters::find_from(std::uint64_t sequence, NumberRange* found) const {
  const auto at = find(sequence);
  if (at == by_sequence_.end()) return false;
  *found = at->second.sequences;
  return true;
}

std::optional<DeadLetters::Range> DeadLetters::from_number(std::uint64_t number) const {
  auto at = by_number_.upper_bound(number);
  if (at != by_number_.begin()) {
    const Range& before = by_sequence_.at(std::prev(at)->second);
    if (before.last_number() >= number) {
      const std::uint64_t first = before.sequences.first + (number - before.first_number);
      return part_of(before, {first, before.sequences.last});
    }
  }
  if (at == by_number_.end()) return std::nullopt;
  return by_sequence_.at(at->second);
}

void DeadLetters::insert(const Range& range) {
  by_sequence_[range.sequences.first] = range;
  by_number_[range.first_number] = range.sequences.first;
  count_ += range.sequences.count();
}

void DeadLetters::add(const Range& range) {
  std::uint64_t at = range.sequences.first;
  NumberRange known;
  while (at <= range.sequences.last && find_from(at, &known) &&
         known.first <= range.sequences.last) {
    if (known.first > at) insert(part_of(range, {at, known.first - 1}));
    at = known.last + 1;
  }
  if (at <= range.sequences.last) insert(part_of(range, {at, range.sequences.last}));
}

void DeadLetters::remove(NumberRange sequences) {
  for (auto at = find(sequences.first);
       at != by_sequence_.end() && at->second.sequences.first <= sequences.last;) {
    const Range range = at->second;
    by_number_.erase(range.first_number);
    at = by_sequence_.erase(at);
    count_ -= range.sequences.count();
    const NumberRange whole = range.sequences;
    if (whole.first < sequences.first) {
      insert(part_of(range, {whole.first, sequences.first - 1}));
    }
    if (whole.last > sequences.last) insert(part_of(range, {sequences.last + 1, whole.last}));
  }
}

const char* dead_reason_name(v1::DeadReason reason) {
  switch (reason) {
    case v1::DEAD_REASON_EXPIRED:
      return "expired";
    case v1::DEAD_REASON_MAXLEN:
      return "maxlen";
    case v1::DEAD_REASON_DELIVERY_LIMIT:
      return "delivery_limit";
    default:
      return "rejected";
  }
}

}  // namespace segue::node
