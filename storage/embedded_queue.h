#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "common/clock.h"
#include "common/logging.h"
#include "segue/segmented_queue.h"
#include "storage/disk_data_center.h"
#include "storage/embedded_record.h"
#include "storage/embedded_settles.h"
#include "storage/embedded_stage.h"
#include "storage/embedded_window.h"

namespace segue::storage {

/// A SegmentedQueue without its lock and its waiting: one queue of one shard of a disk data center,
/// as a node keeps many. A message is copied into the stage; full stages become chunks, which are
/// what the log gets, the window holds and the engine stores, block by block. Messages that are
/// polled soon never touch a segment.
///
/// No threads, no clock: one call at a time; nothing blocks but the disk's own small writes. What
/// takes time goes on in pump().
class EmbeddedQueue {
 public:
  struct Options {
    Durability durability = Durability::kEveryCall;
    std::size_t memory_bytes = 64u << 20;
    std::uint64_t log_bytes = 256ull << 20;
    std::uint32_t max_unacked = 65536;
    /// Waits for something to happen that makes the disk's poll() go on; during recovery.
    std::function<void()> wait;
  };
  /// The logger outlives the queue.
  EmbeddedQueue(Options options, Logger& log);
  ~EmbeddedQueue();

  // ---- opening: what open_disk_data_center() calls, then start()

  Status restore(DiskDataCenter& disk, const std::vector<RecoveredShard>& shards);
  Status replay(const ReplayedRecord& record);
  void start(OpenedDisk opened);

  // ---- offering

  enum class Offer { kTaken, kWait, kNoSpace };
  /// Copies the message, which is not too large. kWait: when something was pumped, again.
  Offer offer(std::string_view message) {
    if (!stage_.fits(message.size())) {
      if (const Offer room = make_room(message.size()); room != Offer::kTaken) return room;
    }
    stage_.add(message);
    return Offer::kTaken;
  }
  /// Durability::kEveryCall: hands what was offered to the log. How many of the last offers had to
  /// be taken back, since the log has no space. `will_sync`: what was not is durable when logged()
  /// is committed; otherwise it takes a checkpoint.
  std::uint64_t log_offers_or_undo(bool& will_sync);

  // ---- polling

  enum class Ready {
    kMessage,
    kEmpty,
    kWait,     // for the disk: when something was pumped, again
    kTrouble,  // take_trouble() says what
  };
  /// Whether there is a message to take.
  Ready ready() {
    if (at_ != block_end_ && number_ < next_settled_ && !detour_) return Ready::kMessage;
    return find_message();
  }
  /// The message that ready() found. Valid until the next call.
  std::string_view front() const;
  /// Takes up to `max` messages, beginning with front(); settles them, or counts them as unacked.
  PolledBatch take(std::size_t max, bool settle);
  /// Settles front(), whose view stays valid until the next call, and takes it.
  void pop() {
    if (returned_at_ != nullptr || run_begin_ == 0) return pop_slowly();
    at_ += EmbeddedStage::kFrameBytes + load_le<std::uint32_t>(at_);
    ++number_;
  }
  Status take_trouble();

  bool may_take_unacked() const { return unacked_ < options_.max_unacked; }
  Status ack(std::uint64_t first, std::uint64_t count);
  Status release(std::uint64_t first, std::uint64_t count);
  void clear();

  std::uint64_t size() const;
  SegmentedQueueStats stats() const;
  DiskStats disk_stats() const { return disk_->stats(); }

  // ---- the disk

  /// Something is due that pump() does; it also has to be called when the disk says so.
  bool needs_pump() const { return needs_pump_; }
  /// Goes on with everything that is under way or due.
  void pump(TimePoint now);
  /// Hands everything to the log, also what is staged (but Durability::kNone), and begins writing.
  void tick();
  /// Hands settles to the log. False if it has no space for them.
  bool log_settles();
  /// A record that is committed when everything before it is synced. False: no space.
  bool log_mark();
  void flush();
  LogIndex logged() const { return index_; }
  LogIndex committed() const { return committed_; }
  bool is_committed(LogIndex index) const { return committed_ >= index; }
  /// Asks for a checkpoint of everything up to now: what checkpoint_result() wants to be asked.
  std::uint64_t want_checkpoint() { return wanted_checkpoint_ = begun_checkpoints_ + 1; }
  /// Nothing while it is under way.
  std::optional<Status> checkpoint_result(std::uint64_t wanted) const;
  /// Whether the last checkpoint has everything.
  bool is_checkpointed() const;
  /// Closes the disk. Nothing may be called afterwards but size() and stats().
  void stop();

 private:
  struct Flight {  // a record that is not committed
    LogIndex index;
    std::size_t bytes = 0;
    std::vector<NumberRange> settled_blocks;
  };
  struct StoreCall {
    std::uint64_t id = 0;
    std::uint64_t first = 0;
    std::uint64_t end = 0;
    bool done = false;
  };

  // Offering.
  Offer make_room(std::size_t message_bytes);
  bool has_room() const;
  void seal(bool last = false);
  void log_offers();
  bool append(LogRecord record, std::size_t bytes, std::vector<NumberRange> settled_blocks);

  // Polling.
  Ready find_message();
  Ready find_returned();
  bool begin_block();
  Ready end_of_head();
  void missing(std::uint64_t first, std::uint64_t end);
  void skip_settled();
  void settle_run();
  void pop_slowly();
  void take_run(std::size_t max, const char*& end, std::uint64_t& count);
  PolledBatch take_returned(bool settle);
  bool are_out(std::uint64_t first, std::uint64_t count) const;
  Status not_out(std::uint64_t first, std::uint64_t count) const;
  void note_detour() { detour_ = trouble_.has_value() || !returned_.empty(); }

  // The disk.
  void replay_offer(const ReplayedRecord& record, const OfferRecord& offer);
  void make_room_in_recovery();
  void take_committed();
  void store_some(std::size_t max_bytes);
  void stored(std::uint64_t id, const Status& status);
  void end_stores();
  void load_ahead();
  void loaded(std::uint64_t generation, Result<LoadedMessages> result);
  void load_returned(std::uint64_t block);
  void lose_returned(std::uint64_t first);
  bool wants_checkpoint(TimePoint now);
  void begin_checkpoint();
  void end_checkpoint(const Status& status);

  const Options options_;
  Logger& log_;
  DiskDataCenter* disk_ = nullptr;
  std::unique_ptr<DiskDataCenter> own_disk_;
  EmbeddedStage stage_;
  EmbeddedWindow window_;
  EmbeddedSettles settles_;

  // Reading: the block that is being read, and the place in it.
  std::shared_ptr<const void> reading_;
  const char* at_ = nullptr;
  const char* block_end_ = nullptr;
  std::uint64_t number_ = 1;            // of the message at at_, or of the next block's first
  std::uint64_t next_settled_ = ~0ull;  // of messages from number_ on
  std::uint64_t run_begin_ = 0;  // messages from here up to number_ are settled as well; 0: none

  bool detour_ = false;  // there is trouble to tell of, or messages were given back

  // Messages that were given back, and the first of them where it stands.
  RangeSet returned_;
  std::shared_ptr<const void> returned_owner_;
  const char* returned_at_ = nullptr;
  std::optional<EmbeddedChunk> reloaded_;
  std::uint64_t unacked_ = 0;

  // Damage.
  std::set<std::uint64_t> corrupt_;  // blocks ahead
  std::optional<Status> trouble_;
  std::uint64_t damaged_ = 0;

  // The log.
  std::deque<LogRecord> unlogged_;
  std::deque<Flight> flights_;
  std::size_t flight_bytes_ = 0;
  std::size_t unflushed_bytes_ = 0;
  LogIndex index_;
  LogIndex committed_;
  bool no_log_space_ = false;
  bool needs_pump_ = false;
  std::uint64_t unlogged_run_ = 0;

  // Segments.
  std::uint64_t generation_ = 0;  // goes up with clear()
  std::deque<StoreCall> stores_;
  std::uint64_t store_id_ = 0;
  std::uint64_t stored_end_ = 1;  // nothing from here on was ever stored
  bool store_failed_ = false;
  bool loading_ = false;
  std::uint64_t stored_bytes_ = 0;    // since the last checkpoint
  std::uint64_t recovered_last_ = 0;  // the last block that recovery found stored
  TimePoint now_{};
  TimePoint store_again_{};

  // Checkpoints.
  bool checkpointing_ = false;
  std::uint64_t begun_checkpoints_ = 0;
  std::uint64_t ended_checkpoints_ = 0;
  std::uint64_t wanted_checkpoint_ = 0;
  Status checkpoint_status_;
  TimePoint checkpoint_again_{};
  LogIndex checkpointed_;
  std::uint64_t checkpointed_next_ = 0;
};

}  // namespace segue::storage
