#pragma once

#include <compare>
#include <cstdint>
#include <functional>

namespace segue {

/// A number that cannot be mistaken for another kind of number. `Tag` names the kind.
/// Ordered, hashable, no arithmetic but next().
template <typename Tag, typename Number>
struct StrongId {
  Number value{};

  constexpr StrongId() = default;
  constexpr explicit StrongId(Number number) : value(number) {}

  constexpr auto operator<=>(const StrongId&) const = default;
  /// The id that follows this one by `steps`.
  constexpr StrongId next(Number steps = 1) const {
    return StrongId(static_cast<Number>(value + steps));
  }
};

/// A slice of the key space; a queue lives on exactly one shard.
using ShardId = StrongId<struct ShardIdTag, std::uint16_t>;
/// A queue's number: given by the catalog, never used again.
using QueueId = StrongId<struct QueueIdTag, std::uint64_t>;
/// A message's place in its queue; from 1, never changes, may have holes.
using Sequence = StrongId<struct SequenceTag, std::uint64_t>;
/// A command's place in its shard's log; from 1, without holes.
using LogIndex = StrongId<struct LogIndexTag, std::uint64_t>;
/// A leader's term of office over a shard. 1 with a single copy.
using Epoch = StrongId<struct EpochTag, std::uint64_t>;
/// Place in the catalog's total order of changes; 0 is the empty catalog.
using CatalogIndex = StrongId<struct CatalogIndexTag, std::uint64_t>;
/// A consumer's number within one router's lifetime.
using ConsumerId = StrongId<struct ConsumerIdTag, std::uint64_t>;

// A queue with priorities keeps the messages of each priority in a lane of its own. To shards, the
// log and files a lane is a queue like any other, with a number made from the queue's: so the
// catalog gives numbers below 2^40 only. The lane of priority 0 is the queue itself.

inline constexpr int kLaneShift = 40;
inline constexpr std::uint64_t kQueueIdLimit = std::uint64_t{1} << kLaneShift;

constexpr QueueId lane_id(QueueId queue, std::uint8_t priority) {
  return QueueId{queue.value | std::uint64_t{priority} << kLaneShift};
}
/// One more lane, above all priorities: of messages whose time to be delivered has not come.
inline constexpr std::uint64_t kDelayLane = 256;

constexpr QueueId delay_lane_id(QueueId queue) {
  return QueueId{queue.value | kDelayLane << kLaneShift};
}
constexpr QueueId queue_of_lane(QueueId lane) {
  return QueueId{lane.value % kQueueIdLimit};
}
constexpr std::uint64_t priority_of_lane(QueueId lane) {
  return lane.value >> kLaneShift;
}
constexpr bool is_delay_lane(QueueId lane) {
  return priority_of_lane(lane) == kDelayLane;
}

/// The catalog's own log, beside those of the queues' shards.
inline constexpr ShardId kCatalogShard{0xFFFF};
/// Most shards that a cluster can be created with.
inline constexpr std::uint16_t kMaxShards = 4096;

}  // namespace segue

template <typename Tag, typename Number>
struct std::hash<segue::StrongId<Tag, Number>> {
  std::size_t operator()(const segue::StrongId<Tag, Number>& id) const noexcept {
    return std::hash<Number>{}(id.value);
  }
};
