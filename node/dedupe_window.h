#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "common/message_batch.h"
#include "common/status.h"
#include "node/dedupe_limits.h"
#include "node/memory_budget.h"
#include "segue/v1/shard_state.pb.h"

namespace segue::node {

/// 128 bits of hash of a message's id (x-deduplication-id); part of the disk format.
struct DedupeId {
  std::uint64_t low = 0;
  std::uint64_t high = 0;

  static DedupeId of(std::string_view text);
  bool operator==(const DedupeId&) const = default;
};

struct DedupeHash {
  std::size_t operator()(const DedupeId& id) const { return id.low; }
};

/// The ids of messages that were enqueued in one queue not long ago, so that a repeat is not
/// enqueued again. Part of the shard's state: filled by applied commands at the commands' own
/// times, saved in checkpoints. What is proposed and not applied yet is known too, and not saved.
/// Each step costs the same however many ids there are. Reactor's thread.
class DedupeWindow {
 public:
  /// What one id takes, about: in the table with its bucket, and in the order.
  static constexpr std::uint64_t kEntryBytes = 88;

  /// What is remembered counts in the budget, which outlives this.
  explicit DedupeWindow(MemoryBudget& memory) : memory_(memory) {}
  ~DedupeWindow();
  DedupeWindow(const DedupeWindow&) = delete;
  DedupeWindow& operator=(const DedupeWindow&) = delete;

  /// From now on; what is there and beyond them goes.
  void set_limits(const DedupeLimits& limits, std::int64_t now_ms);
  const DedupeLimits& limits() const { return limits_; }

  /// Whether a message with this id was enqueued less than the window before `now_ms`, or is about
  /// to be.
  bool knows(const DedupeId& id, std::int64_t now_ms) const;
  /// A message with this id is proposed; that it was applied, or will not be.
  void propose(const DedupeId& id) { ++proposed_[id]; }
  void end_proposed(const DedupeId& id);
  /// A message with this id was enqueued.
  void add(const DedupeId& id, std::int64_t time_ms);
  /// Forgets ids whose time is over, `most` at once.
  void forget_old(std::int64_t now_ms, std::size_t most);
  /// Forgets the oldest ids before their time.
  void forget(std::uint64_t count);
  void count_duplicates(std::uint64_t messages) { duplicates_ += messages; }

  std::uint64_t duplicates() const { return duplicates_; }
  std::size_t entries() const { return order_.size(); }
  std::uint64_t bytes() const;

  void save(v1::DedupeState& state) const;
  /// Into an empty window. CORRUPTION if the entries make no sense.
  Status restore(const v1::DedupeState& state);
  void clear();

 private:
  struct Entry {
    DedupeId id;
    std::int64_t time_ms;
  };
  using Times = std::unordered_map<DedupeId, std::int64_t, DedupeHash>;
  /// The table is in parts, so that none takes long to grow.
  static constexpr std::size_t kParts = 64;

  Times& part_of(const DedupeId& id) { return parts_[id.high % kParts]; }
  const Times& part_of(const DedupeId& id) const { return parts_[id.high % kParts]; }
  bool is_over(std::int64_t time_ms, std::int64_t now_ms) const {
    return time_ms <= std::max<std::int64_t>(now_ms, 0) - limits_.window_ms;
  }
  void forget_oldest();

  MemoryBudget& memory_;
  DedupeLimits limits_;
  std::vector<Times> parts_ = std::vector<Times>(kParts);  // when each id was enqueued last
  std::deque<Entry> order_;                                // oldest first; an id may be there twice
  std::unordered_map<DedupeId, std::uint32_t, DedupeHash> proposed_;
  std::uint64_t duplicates_ = 0;
};

/// The ids of a batch's messages, each distinct header looked at once.
class DedupeIds {
 public:
  explicit DedupeIds(const MessageBatch& batch);

  /// The message's; null if it has none.
  const DedupeId* of(const MessageBatch& batch, std::uint32_t place) const {
    const DedupeId& id = ids_[batch.header_number(place)];
    return id == DedupeId{} ? nullptr : &id;
  }
  /// Calls visit(id) for the messages at `places` (all if empty) that have one.
  template <typename Visit>
  void each(const MessageBatch& batch, const std::vector<std::uint32_t>& places,
            const Visit& visit) const {
    if (!any_) return;
    const auto count = places.empty() ? batch.count() : static_cast<std::uint32_t>(places.size());
    for (std::uint32_t i = 0; i < count; ++i) {
      if (const DedupeId* id = of(batch, places.empty() ? i : places[i])) visit(*id);
    }
  }
  bool any() const { return any_; }

 private:
  std::vector<DedupeId> ids_;  // by header; 0: none
  bool any_ = false;
};

/// What of a batch a queue's window lets in.
class DedupeFilter {
 public:
  /// Takes out of `places` (messages of the batch that the queue is to get, all if empty) those
  /// whose ids the window knows, or that repeat an earlier one of them.
  void take_out(const DedupeWindow& window, const DedupeIds& ids, const MessageBatch& batch,
                std::int64_t now_ms, std::vector<std::uint32_t>& places);
  /// False: nothing is left for the queue.
  bool any_left() const { return any_left_; }
  /// The queue refuses what is at `refused` (rising): so it refuses what was taken out as repeats
  /// of those, which are added.
  void add_repeats(std::vector<std::uint32_t>& refused);
  /// How many were taken out for good.
  std::uint64_t duplicates() const { return known_.size() + repeats_.size(); }
  /// Appends their places, in any order.
  void add_duplicates(std::vector<std::uint32_t>& places) const;

 private:
  struct Repeat {
    std::uint32_t place;
    std::uint32_t of;
  };
  std::vector<std::uint32_t> known_;
  std::vector<Repeat> repeats_;
  bool any_left_ = true;
};

}  // namespace segue::node
