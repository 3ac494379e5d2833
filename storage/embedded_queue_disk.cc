// The part of EmbeddedQueue that has to do with the log and the segments.

#include <algorithm>
#include <chrono>
#include <utility>

#include "common/check.h"
#include "common/counted.h"
#include "storage/embedded_queue.h"

namespace segue::storage {

namespace {

const ShardId kShard{0};
const QueueId kQueue{1};
constexpr std::size_t kStoreBytes = 4u << 20;  // given to the engine at once
constexpr std::size_t kStoresAtOnce = 4;
// What one load may bring: with more it has left the processor's caches before it is polled.
constexpr std::size_t kLeastLoad = 4u << 10;
constexpr std::size_t kMostLoad = 1u << 20;
constexpr std::size_t kFlushBytes = EmbeddedStage::kChunkBytes;
constexpr auto kStoreAgain = std::chrono::milliseconds(100);
constexpr auto kCheckpointAgain = std::chrono::seconds(1);

}  // namespace

// ---- opening

Status EmbeddedQueue::restore(DiskDataCenter& disk, const std::vector<RecoveredShard>& shards) {
  disk_ = &disk;
  for (const RecoveredShard& shard : shards) {
    auto state = decode_state(shard.state);
    if (!state.is_ok()) return state.status();
    settles_.recover_head(state->head);
    for (const NumberRange& range : state->settled) settles_.recover(range);
    stage_.set_next(state->next);
    checkpointed_ = shard.applied;
    checkpointed_next_ = state->next;
    for (const StoredQueue& queue : shard.queues) {
      recovered_last_ = queue.last_stored.value;
      if (queue.messages > 0) window_.set_gap({queue.first_valid.value, state->next - 1});
    }
  }
  stored_end_ = stage_.next();
  window_.recovered(recovered_last_ + 1);
  return {};
}

Status EmbeddedQueue::replay(const ReplayedRecord& replayed) {
  auto record = decode_record(replayed.command.view(), replayed.bodies.size());
  if (!record.is_ok()) return record.status();
  if (record->kind == EmbeddedRecord::Kind::kOffer) {
    replay_offer(replayed, record->offer);
    make_room_in_recovery();
    return {};
  }
  for (const NumberRange& range : record->settle.messages) settles_.recover(range);
  for (const NumberRange& range : record->settle.blocks) {
    disk_->settle(kQueue, Sequence{range.first}, Sequence{range.last});
  }
  window_.forget_settled(settles_);
  return {};
}

void EmbeddedQueue::replay_offer(const ReplayedRecord& replayed, const OfferRecord& offer) {
  EmbeddedChunk chunk;
  std::size_t skipped = 0;
  for (const EmbeddedBlock& block : offer.blocks) {
    // At or below what recovery found stored: there, or settled.
    const bool gone =
        block.first <= recovered_last_ || settles_.all_settled(block.first, block.end());
    if (gone && chunk.blocks.empty()) {
      skipped += block.bytes;
    } else {
      chunk.blocks.push_back(block);
    }
  }
  const std::uint64_t end = offer.blocks.back().end();
  if (end > stage_.next()) stage_.set_next(end);
  if (chunk.blocks.empty()) return;
  chunk.bytes = replayed.bodies.slice(skipped, replayed.bodies.size() - skipped);
  window_.push(std::move(chunk));
}

void EmbeddedQueue::make_room_in_recovery() {
  while (window_.memory_bytes() > options_.memory_bytes) {
    if (stores_.size() < kStoresAtOnce) store_some(kStoreBytes);
    disk_->poll();
    if (store_failed_) return;  // what is beyond stays in memory until there is space
    if (window_.memory_bytes() > options_.memory_bytes && options_.wait) options_.wait();
  }
}

void EmbeddedQueue::start(OpenedDisk opened) {
  own_disk_ = std::move(opened.disk);
  disk_ = own_disk_.get();
  for (const Committed& end : opened.log_ends) index_ = committed_ = end.up_to;
  // Without durability settles may be logged of messages that were lost: these numbers are not
  // given again.
  const std::uint64_t next = stage_.next();
  if (settles_.end() > next) {
    stage_.set_next(settles_.end());
    settles_.settle_missing(next, settles_.end());
  }
  window_.forget_settled(settles_);
  number_ = settles_.head();
  next_settled_ = settles_.next_settled(number_);
  stored_end_ = std::max(stored_end_, stage_.next());
}

// ---- the log

bool EmbeddedQueue::append(LogRecord record, std::size_t bytes,
                           std::vector<NumberRange> settled_blocks) {
  record.shard = kShard;
  record.index = index_.next();
  const Status status = disk_->append(std::move(record));
  no_log_space_ = status.code() == Code::kNoSpace;
  if (!status.is_ok()) return false;
  index_ = index_.next();
  flight_bytes_ += bytes;
  unflushed_bytes_ += bytes;
  flights_.push_back({index_, bytes, std::move(settled_blocks)});
  if (unflushed_bytes_ >= kFlushBytes) flush();
  return true;
}

void EmbeddedQueue::log_offers() {
  while (!unlogged_.empty()) {
    const std::size_t bytes = unlogged_.front().bodies.front().size();
    if (!append(unlogged_.front(), bytes, {})) return;
    unlogged_.pop_front();
  }
}

bool EmbeddedQueue::log_settles() {
  unlogged_run_ = 0;
  settle_run();
  if (!settles_.has_news()) return true;
  SettleRecord news = settles_.take_news();
  if (options_.durability == Durability::kNone) {
    // Of messages that the disk never had nothing need be known.
    const auto never = [this](const NumberRange& range) { return range.first >= stored_end_; };
    std::erase_if(news.messages, never);
    std::erase_if(news.blocks, never);
    if (news.messages.empty() && news.blocks.empty()) return true;
  }
  LogRecord record;
  record.command = encode(news);
  record.sync = options_.durability == Durability::kEveryCall;
  record.uses_reserve = true;
  if (append(std::move(record), 0, news.blocks)) return true;
  settles_.put_back(news);
  return false;
}

bool EmbeddedQueue::log_mark() {
  if (!unlogged_.empty()) return false;
  LogRecord record;
  record.command = encode(SettleRecord{});
  record.sync = true;
  record.uses_reserve = true;
  return append(std::move(record), 0, {});
}

void EmbeddedQueue::flush() {
  unflushed_bytes_ = 0;
  disk_->flush();
}

void EmbeddedQueue::take_committed() {
  for (const Committed& committed : disk_->poll()) committed_ = committed.up_to;
  while (!flights_.empty() && flights_.front().index <= committed_) {
    const Flight& flight = flights_.front();
    flight_bytes_ -= flight.bytes;
    for (const NumberRange& range : flight.settled_blocks) {
      disk_->settle(kQueue, Sequence{range.first}, Sequence{range.last});
    }
    flights_.pop_front();
  }
}

void EmbeddedQueue::tick() {
  if (options_.durability != Durability::kNone) seal();
  log_settles();
  flush();
}

void EmbeddedQueue::pump(TimePoint now) {
  now_ = now;
  needs_pump_ = false;
  log_offers();
  take_committed();
  if (window_.unstored_bytes() > options_.memory_bytes / 2 && now >= store_again_) {
    while (stores_.size() < kStoresAtOnce && window_.unstored_bytes() > options_.memory_bytes / 2) {
      store_some(kStoreBytes);
    }
  }
  if (window_.has_gap()) load_ahead();
  if (wants_checkpoint(now)) begin_checkpoint();
}

// ---- segments

void EmbeddedQueue::store_some(std::size_t max_bytes) {
  const auto chunks = window_.next_to_store(max_bytes);
  if (chunks.empty()) return;
  std::vector<MessageRun> runs;
  for (const EmbeddedChunk* chunk : chunks) {
    auto more = runs_of(*chunk, [this](const EmbeddedBlock& block) {
      return !settles_.all_settled(block.first, block.end());
    });
    runs.insert(runs.end(), std::make_move_iterator(more.begin()),
                std::make_move_iterator(more.end()));
    stored_bytes_ += chunk->bytes.size();
  }
  StoreCall call{++store_id_, chunks.front()->first(), chunks.back()->end(), runs.empty()};
  stores_.push_back(call);
  if (call.done) return end_stores();
  stored_end_ = std::max(stored_end_, call.end);
  disk_->store(kShard, kQueue, std::move(runs),
               [this, id = call.id](const Status& status) { stored(id, status); });
}

void EmbeddedQueue::stored(std::uint64_t id, const Status& status) {
  const auto call = std::find_if(stores_.begin(), stores_.end(),
                                 [id](const StoreCall& one) { return one.id == id; });
  if (call == stores_.end()) return;  // failed with one before
  if (status.is_ok()) {
    call->done = true;
    store_failed_ = false;
    return end_stores();
  }
  log_.warn("messages_not_stored", {{"first", call->first}, {"reason", status}});
  store_failed_ = true;
  store_again_ = now_ + kStoreAgain;
  window_.not_stored(call->first);
  stores_.erase(call, stores_.end());
  end_stores();
}

void EmbeddedQueue::end_stores() {
  while (!stores_.empty() && stores_.front().done) {
    window_.stored(stores_.front().end);
    stores_.pop_front();
  }
}

void EmbeddedQueue::load_ahead() {
  if (loading_ || window_.unread_bytes() >= options_.memory_bytes / 4) return;
  loading_ = true;
  const NumberRange gap = window_.gap();
  disk_->load(kQueue, Sequence{gap.first}, Sequence{gap.last},
              std::clamp(options_.memory_bytes / 64, kLeastLoad, kMostLoad),
              [this, generation = generation_](Result<LoadedMessages> result) {
                loaded(generation, std::move(result));
              });
}

void EmbeddedQueue::loaded(std::uint64_t generation, Result<LoadedMessages> result) {
  loading_ = false;
  if (generation != generation_) return;
  if (!result.is_ok()) {
    trouble_ = result.status();
    return note_detour();
  }
  window_.shorten_gap(result->scanned_through.value);
  if (window_.has_gap()) load_ahead();  // the disk goes on while these are looked through
  window_.add_loaded(chunks_of(result->runs, result->corrupt));
  for (const Sequence block : result->corrupt) corrupt_.insert(block.value);
}

void EmbeddedQueue::load_returned(std::uint64_t block) {
  if (loading_) return;
  loading_ = true;
  disk_->load(kQueue, Sequence{block}, Sequence{block}, 1,
              [this, block, generation = generation_](Result<LoadedMessages> result) {
                loading_ = false;
                if (generation != generation_) return;
                if (!result.is_ok()) {
                  trouble_ = result.status();
                  return note_detour();
                }
                auto chunks = chunks_of(result->runs, result->corrupt);
                if (chunks.empty()) return lose_returned(block);
                reloaded_ = std::move(chunks.front());
              });
}

/// The block cannot be read again: its messages that were given back are lost.
void EmbeddedQueue::lose_returned(std::uint64_t first) {
  const EmbeddedBlock* const open = settles_.block_of(first + 1) != nullptr
                                        ? settles_.block_of(first + 1)
                                        : settles_.block_of(first);
  if (open == nullptr || open->first != first) return;
  const EmbeddedBlock block = *open;
  std::uint64_t lost = 0;
  NumberRange range;
  while (returned_.find_from(block.first, &range) && range.first < block.end()) {
    const std::uint64_t from = std::max(range.first, block.first);
    const std::uint64_t end = std::min(range.last + 1, block.end());
    returned_.remove({from, end - 1});
    settles_.settle(from, end);
    lost += end - from;
  }
  if (lost == 0) return;
  damaged_ += lost;
  trouble_ =
      Status(Code::kCorruption, counted(lost, "message") + " from number " + std::to_string(first) +
                                    " on are damaged on the disk and were left out");
  note_detour();
}

// ---- checkpoints

bool EmbeddedQueue::wants_checkpoint(TimePoint now) {
  if (checkpointing_) return false;
  if (wanted_checkpoint_ > begun_checkpoints_) return true;
  if (now < checkpoint_again_) return false;
  return !disk_->take_wanted_checkpoints().empty() || no_log_space_ ||
         stored_bytes_ >= options_.log_bytes ||
         disk_->stats().wal_bytes_since_checkpoint >= options_.log_bytes;
}

void EmbeddedQueue::begin_checkpoint() {
  checkpointing_ = true;
  ++begun_checkpoints_;
  seal();
  settle_run();
  while (window_.unstored_bytes() > 0) store_some(kStoreBytes);
  stored_bytes_ = 0;
  const EmbeddedState state{settles_.head(), stage_.next(), settles_.ranges()};
  const LogIndex applied = committed_;
  disk_->checkpoint(kShard, applied, encode(state),
                    [this, applied, next = state.next](const Status& status) {
                      if (status.is_ok()) {
                        checkpointed_ = applied;
                        checkpointed_next_ = next;
                      }
                      end_checkpoint(status);
                    });
}

void EmbeddedQueue::end_checkpoint(const Status& status) {
  checkpointing_ = false;
  ended_checkpoints_ = begun_checkpoints_;
  checkpoint_status_ = status;
  if (no_log_space_) checkpoint_again_ = now_ + kCheckpointAgain;
  if (status.is_ok()) return;
  log_.warn("not_checkpointed", {{"reason", status}});
  checkpoint_again_ = now_ + kCheckpointAgain;
}

std::optional<Status> EmbeddedQueue::checkpoint_result(std::uint64_t wanted) const {
  if (ended_checkpoints_ < wanted) return {};
  return checkpoint_status_;
}

bool EmbeddedQueue::is_checkpointed() const {
  return checkpointed_ == index_ && checkpointed_next_ == stage_.next() && !settles_.has_news();
}

void EmbeddedQueue::stop() {
  if (disk_ != nullptr) disk_->stop();
}

}  // namespace segue::storage
