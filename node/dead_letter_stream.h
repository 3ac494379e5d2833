#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/clock.h"
#include "common/message_batch.h"
#include "node/dead_letters.h"
#include "node/queue.h"
#include "storage/disk_data_center.h"

namespace segue::node {

/// How far one queue's dead letters are: what is on its way to their targets, and what was read
/// from disk for it. The numbers from the lowest one under way on are looked at within a window,
/// which is small after a failure. Reactor's thread.
class DeadLetterStream {
 public:
  /// Numbers that may be under way at a time: no target has to remember more of them one by one.
  static constexpr std::uint64_t kMostNumbers = 4096;
  static constexpr std::uint64_t kFirstNumbers = 64;

  struct Letter {
    Sequence sequence;
    std::uint32_t parts = 0;  // targets that have not answered
  };

  explicit DeadLetterStream(std::string producer) : producer_(std::move(producer)) {}

  /// What the producer ids begin with under which the queue's dead letters are published.
  const std::string& producer() const { return producer_; }
  /// Answers to what was sent in an earlier one do not count.
  std::uint64_t generation() const { return generation_; }

  // ---- where it is

  /// The dead letters to look at next; nothing if there are none, or none in the window.
  std::optional<DeadLetters::Range> next(const DeadLetters& dead);
  /// The letter at next() is under way to `parts` targets.
  void sent(std::uint64_t number, Sequence sequence, std::uint32_t parts);
  /// The letter at next() is done with, or cannot be read.
  void skip(std::uint64_t number);
  /// A target has it. True when that was the last one: it is done with.
  bool stored(std::uint64_t number, Sequence* sequence);
  /// There are no dead letters below any more.
  void forget_below(std::uint64_t number);
  /// The window grows: a batch was stored.
  void went_well();
  /// What is under way is to be sent again, a little at first. What was read is forgotten: it may
  /// be long until it can go.
  void rewind();
  /// After a refusal, until something was stored.
  bool tries() const { return window_ < kFirstNumbers; }
  bool under_way() const { return !open_.empty(); }

  // ---- bytes of bodies on their way

  std::uint64_t bytes() const { return bytes_; }
  std::uint32_t batches() const { return batches_; }
  void batch_sent(std::uint64_t bytes);
  void batch_answered(std::uint64_t bytes);

  // ---- reading

  enum class Found : std::uint8_t { kHere, kLoading, kMissing };
  /// The first message of the range with what stands beside it in one batch, from memory or from
  /// what was loaded. kLoading: plan_load() says what to load first.
  Found find(const Queue& queue, NumberRange range, MessageRun* run) const;
  /// What to load for the range, up to what of the queue is written.
  static NumberRange plan_load(const Queue& queue, const DeadLetters::Range& range);
  bool loading() const { return loading_; }
  void begin_load(NumberRange range);
  void finish_load(const storage::LoadedMessages& loaded);
  void fail_load(TimePoint again);
  TimePoint load_again() const { return load_again_; }
  /// Whether the disk has the message's record but cannot keep it elsewhere: it must not be
  /// settled.
  bool must_stay(Sequence sequence) const;
  void forget_loaded();

  // ---- waiting; of the forwarder's

  bool queued = false;           // to be looked at in this turn
  std::optional<ShardId> waits;  // for this shard, or until it is time to look again
  TimePoint look_again{};
  TimePoint paused_until{};  // a target was full
  Duration pause{};
  /// Since when the letter of this number has been found to go nowhere.
  std::uint64_t homeless = 0;
  TimePoint homeless_since{};

 private:
  const std::string producer_;
  std::uint64_t generation_ = 0;
  std::uint64_t next_ = 0;
  std::uint64_t window_ = kFirstNumbers;
  std::map<std::uint64_t, Letter> open_;  // by number
  RangeSet done_;                         // numbers that are not to be sent again
  std::uint64_t bytes_ = 0;
  std::uint32_t batches_ = 0;

  bool loading_ = false;
  TimePoint load_again_{};
  NumberRange load_range_;  // of the load under way, or the last
  std::optional<NumberRange> loaded_range_;
  std::vector<MessageRun> loaded_;
  std::vector<Sequence> must_stay_;
};

}  // namespace segue::node
