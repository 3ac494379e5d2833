#include "node/dead_letter_stream.h"

#include <algorithm>
#include <utility>

namespace segue::node {

namespace {

/// A load goes on over holes up to so many messages.
constexpr std::uint64_t kSmallHole = 64;
constexpr std::uint64_t kMostToLoad = 16'384;

}  // namespace

// ---- where it is

std::optional<DeadLetters::Range> DeadLetterStream::next(const DeadLetters& dead) {
  while (true) {
    auto range = dead.from_number(next_);
    if (!range) return std::nullopt;
    next_ = range->first_number;
    if (!open_.empty() && next_ - open_.begin()->first >= window_) return std::nullopt;
    NumberRange done;
    if (!done_.find_from(next_, &done) || done.first > range->last_number()) return range;
    if (done.first > next_) {
      range->sequences.last = range->sequences.first + (done.first - next_) - 1;
      return range;
    }
    next_ = done.last + 1;
  }
}

void DeadLetterStream::sent(std::uint64_t number, Sequence sequence, std::uint32_t parts) {
  open_[number] = {sequence, parts};
  next_ = number + 1;
}

void DeadLetterStream::skip(std::uint64_t number) {
  done_.add({number, number});
  next_ = std::max(next_, number + 1);
}

bool DeadLetterStream::stored(std::uint64_t number, Sequence* sequence) {
  const auto letter = open_.find(number);
  if (letter == open_.end() || --letter->second.parts > 0) return false;
  *sequence = letter->second.sequence;
  open_.erase(letter);
  skip(number);
  return true;
}

void DeadLetterStream::went_well() {
  window_ = std::min(kMostNumbers, window_ * 2);
}

void DeadLetterStream::forget_below(std::uint64_t number) {
  done_.remove_below(number);
}

void DeadLetterStream::rewind() {
  ++generation_;
  window_ = 1;
  if (!open_.empty()) next_ = std::min(next_, open_.begin()->first);
  open_.clear();
  forget_loaded();
}

void DeadLetterStream::batch_sent(std::uint64_t bytes) {
  ++batches_;
  bytes_ += bytes;
}

void DeadLetterStream::batch_answered(std::uint64_t bytes) {
  --batches_;
  bytes_ -= bytes;
}

// ---- reading

DeadLetterStream::Found DeadLetterStream::find(const Queue& queue, NumberRange range,
                                               MessageRun* run) const {
  if (auto here = queue.find_in_memory(range)) {
    *run = *std::move(here);
    return Found::kHere;
  }
  for (const MessageRun& loaded : loaded_) {
    if (loaded.first.value > range.first || loaded.last().value < range.first) continue;
    const auto skipped = static_cast<std::uint32_t>(range.first - loaded.first.value);
    const std::uint64_t rest = std::min(loaded.last().value, range.last) - range.first + 1;
    *run = loaded.part(skipped, static_cast<std::uint32_t>(rest));
    return Found::kHere;
  }
  const bool looked_for =
      loaded_range_ && loaded_range_->first <= range.first && range.first <= loaded_range_->last;
  const bool written = range.first <= queue.written_through().value;
  return written && !looked_for ? Found::kLoading : Found::kMissing;
}

NumberRange DeadLetterStream::plan_load(const Queue& queue, const DeadLetters::Range& range) {
  const std::uint64_t written = queue.written_through().value;
  NumberRange plan = range.sequences;
  auto last = std::optional<DeadLetters::Range>(range);
  // Those that come next, as long as they stand near.
  while (plan.count() < kMostToLoad && (last = queue.dead().from_number(last->last_number() + 1))) {
    if (last->sequences.first <= plan.last || last->sequences.first > plan.last + kSmallHole) break;
    plan.last = last->sequences.last;
  }
  plan.last = std::min(plan.last, written);
  return plan;
}

void DeadLetterStream::begin_load(NumberRange range) {
  loading_ = true;
  load_range_ = range;
  forget_loaded();
}

void DeadLetterStream::finish_load(const storage::LoadedMessages& loaded) {
  loading_ = false;
  loaded_ = loaded.runs;
  must_stay_ = loaded.not_set_aside;
  const std::uint64_t through =
      std::clamp(loaded.scanned_through.value, load_range_.first, load_range_.last);
  loaded_range_ = NumberRange{load_range_.first, through};
}

void DeadLetterStream::fail_load(TimePoint again) {
  loading_ = false;
  load_again_ = again;
}

bool DeadLetterStream::must_stay(Sequence sequence) const {
  return std::find(must_stay_.begin(), must_stay_.end(), sequence) != must_stay_.end();
}

void DeadLetterStream::forget_loaded() {
  loaded_.clear();
  loaded_range_.reset();
  must_stay_.clear();
}

}  // namespace segue::node
