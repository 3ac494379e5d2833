#include "storage/embedded_queue.h"

#include <algorithm>
#include <utility>

#include "common/check.h"

namespace segue::storage {

namespace {

constexpr std::size_t kFrame = EmbeddedStage::kFrameBytes;

std::size_t frame_bytes(const char* at) {
  return kFrame + load_le<std::uint32_t>(at);
}

std::string range_text(std::uint64_t first, std::uint64_t count) {
  return count == 1
             ? "message " + std::to_string(first)
             : "messages " + std::to_string(first) + " to " + std::to_string(first + count - 1);
}

}  // namespace

EmbeddedQueue::EmbeddedQueue(Options options, Logger& log)
    : options_(std::move(options)),
      log_(log),
      stage_(std::clamp<std::size_t>(options_.memory_bytes / 64, EmbeddedStage::kBlockBytes,
                                     EmbeddedStage::kChunkBytes)),
      window_(options_.memory_bytes / 4) {}

EmbeddedQueue::~EmbeddedQueue() = default;

// ---- offering

bool EmbeddedQueue::has_room() const {
  return window_.tail_bytes() <= options_.memory_bytes / 4 * 3 &&
         flight_bytes_ <= options_.memory_bytes / 2;
}

EmbeddedQueue::Offer EmbeddedQueue::make_room(std::size_t message_bytes) {
  seal();
  if (!unlogged_.empty() && no_log_space_) return Offer::kNoSpace;
  if (!has_room()) {
    flush();
    return store_failed_ ? Offer::kNoSpace : Offer::kWait;
  }
  stage_.make_room(message_bytes);
  return Offer::kTaken;
}

void EmbeddedQueue::seal(bool last) {
  if (stage_.empty()) return;
  EmbeddedChunk chunk = stage_.seal();
  if (options_.durability != Durability::kNone) {
    LogRecord record;
    record.command = encode(OfferRecord{chunk.blocks});
    record.bodies.push_back(chunk.bytes);
    record.sync = last && options_.durability == Durability::kEveryCall;
    unlogged_.push_back(std::move(record));
  }
  window_.push(std::move(chunk));
  needs_pump_ = true;
  log_offers();
}

std::uint64_t EmbeddedQueue::log_offers_or_undo(bool& will_sync) {
  // The last chunk's sync does for all of the call's.
  will_sync = !stage_.empty();
  seal(/*last=*/true);
  will_sync = will_sync && unlogged_.empty();
  const std::uint64_t next = stage_.next();
  for (; !unlogged_.empty(); unlogged_.pop_back()) {
    const std::uint64_t end = window_.end();
    window_.pop_last();
    SEGUE_CHECK(window_.end() < end);
    stage_.set_next(window_.end());
  }
  if (!will_sync) will_sync = log_mark();
  return next - stage_.next();
}

// ---- polling

EmbeddedQueue::Ready EmbeddedQueue::find_message() {
  if (trouble_) return Ready::kTrouble;
  if (!returned_.empty()) return find_returned();
  for (;;) {
    skip_settled();
    if (at_ != block_end_) return Ready::kMessage;
    if (begin_block()) continue;
    if (trouble_) return Ready::kTrouble;
    const Ready end = end_of_head();
    if (end != Ready::kMessage) return end;
  }
}

void EmbeddedQueue::skip_settled() {
  if (number_ < next_settled_ || at_ == block_end_) return;
  settle_run();
  for (; at_ != block_end_ && settles_.is_settled(number_); ++number_) at_ += frame_bytes(at_);
  next_settled_ = settles_.next_settled(number_);
}

/// The next block of the window, if there is one and nothing is missing before it.
bool EmbeddedQueue::begin_block() {
  settle_run();
  if (at_ != nullptr) {
    at_ = block_end_ = nullptr;
    window_.forget_read(settles_);
    if (++unlogged_run_ >= EmbeddedStage::kChunkBytes / EmbeddedStage::kBlockBytes) {
      log_settles();
      needs_pump_ = true;
    }
  }
  const auto reading = window_.next_block();
  if (!reading) {
    reading_.reset();
    return false;
  }
  const EmbeddedBlock& block = reading->block;
  if (block.first > number_) missing(number_, block.first);
  const SharedBytes& bytes = reading->chunk->bytes;
  if (reading_ != bytes.owner()) reading_ = bytes.owner();
  at_ = bytes.data() + reading->offset;
  block_end_ = at_ + block.bytes;
  number_ = block.first;
  settles_.open_block(block);
  next_settled_ = settles_.next_settled(number_);
  return !trouble_;
}

/// kMessage: there may be one now.
EmbeddedQueue::Ready EmbeddedQueue::end_of_head() {
  if (window_.has_gap()) {
    load_ahead();
    return Ready::kWait;
  }
  if (window_.read_tail()) return Ready::kMessage;
  if (!stage_.empty()) {
    seal();
    return Ready::kMessage;
  }
  if (number_ < stage_.next()) {
    missing(number_, stage_.next());
    number_ = stage_.next();
    if (trouble_) return Ready::kTrouble;
  }
  return Ready::kEmpty;
}

/// Nobody has messages [first, end). Settled ones are not missed.
void EmbeddedQueue::missing(std::uint64_t first, std::uint64_t end) {
  const std::uint64_t lost = (end - first) - settles_.count_settled(first, end);
  const auto corrupt = corrupt_.lower_bound(first);
  if (corrupt != corrupt_.end() && *corrupt < end) {
    corrupt_.erase(corrupt, corrupt_.lower_bound(end));
    damaged_ += lost;
    if (lost > 0) {
      trouble_ = Status(Code::kCorruption, "of " + range_text(first, end - first) + " " +
                                               std::to_string(lost) +
                                               " are damaged on the disk and were left out");
      note_detour();
    }
  }
  if (lost > 0) log_.error("messages_missing", {{"first", first}, {"end", end}, {"lost", lost}});
  settles_.settle_missing(first, end);
}

EmbeddedQueue::Ready EmbeddedQueue::find_returned() {
  settle_run();
  if (returned_at_ != nullptr) return Ready::kMessage;
  const std::uint64_t number = returned_.front().first;
  const EmbeddedBlock* const block = settles_.block_of(number);
  SEGUE_CHECK(block != nullptr);
  const char* at = nullptr;
  if (const auto found = window_.find(number)) {
    returned_owner_ = found->chunk->bytes.owner();
    at = found->chunk->bytes.data() + found->offset;
  } else if (reloaded_ && reloaded_->first() == block->first) {
    returned_owner_ = reloaded_->bytes.owner();
    at = reloaded_->bytes.data();
  } else {
    load_returned(block->first);
    return trouble_ ? Ready::kTrouble : Ready::kWait;
  }
  for (std::uint64_t i = block->first; i < number; ++i) at += frame_bytes(at);
  returned_at_ = at;
  return Ready::kMessage;
}

std::string_view EmbeddedQueue::front() const {
  const char* const at = returned_at_ != nullptr ? returned_at_ : at_;
  return {at + kFrame, load_le<std::uint32_t>(at)};
}

void EmbeddedQueue::pop_slowly() {
  if (returned_at_ != nullptr) {
    take_returned(/*settle=*/true);
    return;
  }
  run_begin_ = number_;
  at_ += frame_bytes(at_);
  ++number_;
}

PolledBatch EmbeddedQueue::take(std::size_t max, bool settle) {
  if (returned_at_ != nullptr) return take_returned(settle);
  if (!settle) {
    settle_run();
    max = std::min<std::uint64_t>(max, options_.max_unacked - unacked_);
  } else if (run_begin_ == 0) {
    run_begin_ = number_;
  }
  const std::shared_ptr<const void> owner = reading_;
  const char* const begin = at_;
  const std::uint64_t first = number_;
  std::uint64_t count = 0;
  const char* end = begin;
  take_run(std::max<std::size_t>(max, 1), end, count);
  if (!settle) unacked_ += count;
  return PolledBatch(owner, {begin, static_cast<std::size_t>(end - begin)}, first,
                     static_cast<std::size_t>(count));
}

/// Goes on reading up to `max` messages that stand back to back.
void EmbeddedQueue::take_run(std::size_t max, const char*& end, std::uint64_t& count) {
  for (;;) {
    const EmbeddedBlock* const block = settles_.block_of(number_);
    SEGUE_CHECK(block != nullptr);
    const std::uint64_t left = std::min(block->end(), next_settled_) - number_;
    if (count + left <= max && block->end() <= next_settled_) {
      at_ = block_end_;
      number_ += left;
      count += left;
      end = at_;
    } else {
      for (std::uint64_t i = std::min<std::uint64_t>(left, max - count); i > 0; --i) {
        at_ += frame_bytes(at_);
        ++number_;
        ++count;
      }
      end = at_;
      return;
    }
    if (count == max) return;
    // The next block, if it is the same memory's.
    const auto owner = reading_;
    const std::uint64_t run = run_begin_;
    const std::uint64_t number = number_;
    if (!begin_block()) return;
    if (reading_ != owner || at_ != end || number_ != number || number_ >= next_settled_) return;
    if (run != 0) run_begin_ = number_;
  }
}

PolledBatch EmbeddedQueue::take_returned(bool settle) {
  const std::uint64_t number = returned_.front().first;
  const std::string_view framed(returned_at_, frame_bytes(returned_at_));
  PolledBatch batch(returned_owner_, framed, number, 1);
  returned_.remove({number, number});
  returned_at_ = nullptr;
  note_detour();
  if (settle) {
    settles_.settle(number, number + 1);
  } else {
    ++unacked_;
  }
  return batch;
}

Status EmbeddedQueue::take_trouble() {
  Status status = std::move(*trouble_);
  trouble_.reset();
  note_detour();
  return status;
}

/// Messages [run_begin_, number_) have been settled one by one.
void EmbeddedQueue::settle_run() {
  if (run_begin_ == 0) return;
  settles_.settle(run_begin_, number_);
  run_begin_ = 0;
}

// ---- what was polled

bool EmbeddedQueue::are_out(std::uint64_t first, std::uint64_t count) const {
  if (first < settles_.head() || first >= number_ || count > number_ - first) return false;
  NumberRange found;
  const bool given_back = returned_.find_from(first, &found) && found.first < first + count;
  return !given_back && !settles_.any_settled(first, first + count);
}

Status EmbeddedQueue::not_out(std::uint64_t first, std::uint64_t count) const {
  return Status(Code::kNotFound, range_text(first, count) +
                                     ": not all are polled and neither acked nor released; "
                                     "nothing was done");
}

Status EmbeddedQueue::ack(std::uint64_t first, std::uint64_t count) {
  settle_run();
  if (count == 0) return {};
  if (!are_out(first, count)) return not_out(first, count);
  settles_.settle(first, first + count);
  unacked_ -= count;
  window_.forget_read(settles_);
  return {};
}

Status EmbeddedQueue::release(std::uint64_t first, std::uint64_t count) {
  settle_run();
  if (count == 0) return {};
  if (!are_out(first, count)) return not_out(first, count);
  returned_.add({first, first + count - 1});
  unacked_ -= count;
  returned_at_ = nullptr;
  note_detour();
  return {};
}

void EmbeddedQueue::clear() {
  settle_run();
  seal();
  settles_.clear(stage_.next());
  window_.clear();
  returned_.clear();
  returned_at_ = nullptr;
  reloaded_.reset();
  reading_.reset();
  corrupt_.clear();
  trouble_.reset();
  note_detour();
  at_ = block_end_ = nullptr;
  number_ = stage_.next();
  next_settled_ = ~0ull;
  unacked_ = 0;
  ++generation_;
}

std::uint64_t EmbeddedQueue::size() const {
  const std::uint64_t run = run_begin_ == 0 ? 0 : number_ - run_begin_;
  return stage_.next() - settles_.head() - settles_.count_above_head() - run;
}

SegmentedQueueStats EmbeddedQueue::stats() const {
  SegmentedQueueStats stats;
  stats.messages = size();
  stats.unacked = unacked_;
  stats.damaged = damaged_;
  stats.memory_bytes = window_.memory_bytes() + stage_.bytes();
  if (disk_ != nullptr) {
    stats.disk_bytes = disk_->stored(QueueId{1}).disk_bytes + disk_->stats().wal_bytes;
  }
  return stats;
}

}  // namespace segue::storage
