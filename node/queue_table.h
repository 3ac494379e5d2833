#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <limits>
#include <map>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "common/ids.h"
#include "node/consumer.h"
#include "node/consumer_ring.h"
#include "node/dedupe_window.h"
#include "node/delay_schedule.h"
#include "node/message_groups.h"
#include "node/peer_output.h"
#include "node/queue.h"
#include "node/queue_settings.h"

namespace segue::node {

/// A get that waits for its message to come from disk, or for a delivery mark.
struct WaitingGet {
  PeerId peer;
  std::uint64_t request_id = 0;
  std::uint64_t consumer = 0;
  bool no_ack = false;
};

/// Who reads a queue.
struct QueueReaders {
  ConsumerRing ring;
  std::map<std::pair<PeerId, std::uint64_t>, Consumer*> consumers;
  /// Of a queue with a single active consumer: all of them in the order in which they came. The
  /// first one is the active one.
  std::map<std::uint64_t, Consumer*> line;
  std::deque<WaitingGet> gets;

  void add(Consumer& consumer, bool single_active) {
    consumers[{consumer.peer(), consumer.number()}] = &consumer;
    if (!single_active) return;
    consumer.place_in_line_ = line.empty() ? 1 : line.rbegin()->first + 1;
    line[consumer.place_in_line_] = &consumer;
  }
  /// Takes it out; who is the active one in its place, if that is another one now.
  Consumer* remove(Consumer& consumer) {
    const bool was_active = consumer.place_in_line_ != 0 && serves(consumer);
    consumers.erase({consumer.peer(), consumer.number()});
    line.erase(std::exchange(consumer.place_in_line_, 0));
    return was_active && !line.empty() ? line.begin()->second : nullptr;
  }
  /// Whether the consumer may be given messages, as far as others are concerned.
  bool serves(const Consumer& consumer) const {
    return consumer.place_in_line_ == 0 || line.begin()->second == &consumer;
  }
};

inline constexpr std::uint32_t kNoSlot = std::numeric_limits<std::uint32_t>::max();

/// A queue with its readers, and its places in the lists of queues that have something to do. Of a
/// queue with priorities, one for each priority (a lane): they share the readers of the lane of
/// priority 0, which stands for the queue.
struct HostedQueue {
  HostedQueue(QueueId id, ShardId shard, QueueTotals& totals) : queue(id, shard, totals) {}

  Queue queue;
  std::unique_ptr<QueueReaders> readers;  // null: none
  std::unique_ptr<MessageGroups> groups;  // of a queue with message groups
  std::unique_ptr<DedupeWindow> dedupe;   // of a queue with a deduplication window
  bool deleting = false;                  // the catalog was asked to delete it
  QueueSettings settings;
  HostedQueue* whole = nullptr;     // of a lane above 0: the queue that it belongs to
  std::vector<HostedQueue*> lanes;  // of a queue: its lanes above 0 that exist, highest first
  /// Of a queue: the lane of its delayed messages, if it ever had one; none of `lanes`, since
  /// nothing in it is ready, whatever its Queue says.
  HostedQueue* delay_lane = nullptr;
  std::unique_ptr<DelaySchedule> schedule;  // of such a lane
  std::uint32_t shard_slot = kNoSlot;
  std::uint32_t ready_slot = kNoSlot;
  std::uint32_t memory_slot = kNoSlot;
  std::uint32_t expiring_slot = kNoSlot;
  std::uint32_t at_once_slot = kNoSlot;
  std::uint32_t over_length_slot = kNoSlot;
  std::uint32_t unstored_slot = kNoSlot;
  std::uint32_t dead_slot = kNoSlot;
  std::uint32_t dedupe_slot = kNoSlot;
  std::uint32_t delay_slot = kNoSlot;
  std::uint32_t resting_slot = kNoSlot;

  QueueReaders& make_readers() {
    if (!readers) readers = std::make_unique<QueueReaders>();
    return *readers;
  }
  /// The queue, for what its lanes have in common.
  HostedQueue& of_whole() { return whole != nullptr ? *whole : *this; }
  const HostedQueue& of_whole() const { return whole != nullptr ? *whole : *this; }
  /// The lane that is served now: the highest one that has ready messages; this one if none has.
  HostedQueue& front_lane() {
    for (HostedQueue* lane : lanes) {
      if (lane->queue.ready() > 0) return *lane;
    }
    return *this;
  }
  /// Calls visit(lane) for all lanes, the highest first, this one last.
  template <typename Visit>
  void each_lane(const Visit& visit) {
    for (HostedQueue* lane : lanes) visit(*lane);
    visit(*this);
  }
  template <typename Visit>
  void each_lane(const Visit& visit) const {
    for (const HostedQueue* lane : lanes) visit(*lane);
    visit(*this);
  }
  std::uint64_t ready() const {
    std::uint64_t sum = 0;
    each_lane([&](const HostedQueue& lane) { sum += lane.queue.ready(); });
    return sum;
  }
  /// Messages whose time to be delivered has not come.
  std::uint64_t delayed() const {
    std::uint64_t sum = delay_lane != nullptr ? delay_lane->queue.ready() : 0;
    each_lane([&](const HostedQueue& lane) { sum += lane.queue.resting(); });
    return sum;
  }
  std::uint64_t unacked() const {
    std::uint64_t sum = 0;
    each_lane([&](const HostedQueue& lane) { sum += lane.queue.unacked(); });
    return sum;
  }
  /// Dead letters that wait to be forwarded.
  std::uint64_t dead() const {
    std::uint64_t sum = 0;
    each_lane([&](const HostedQueue& lane) { sum += lane.queue.dead().count(); });
    return sum;
  }
  std::uint64_t ready_bytes() const {
    std::uint64_t sum = 0;
    each_lane([&](const HostedQueue& lane) { sum += lane.queue.ready_bytes(); });
    return sum;
  }
  /// Of a whole queue: whether the oldest messages must go.
  bool is_over_length() const {
    const QueueLimits& limits = settings.limits;
    if (limits.rejects || !limits.any()) return false;
    return ready() > limits.messages ||
           (limits.counts_bytes() && ready_bytes() > limits.body_bytes);
  }
  bool has_consumers() const { return readers && !readers->consumers.empty(); }
  std::uint32_t consumer_count() const {
    return readers ? static_cast<std::uint32_t>(readers->consumers.size()) : 0;
  }
  /// Whether anybody would take a message of the queue now.
  bool has_takers() const {
    const auto& shared = of_whole().readers;
    return shared && (shared->ring.front() != nullptr || !shared->gets.empty());
  }
  void drop_readers_if_unused() {
    if (readers && readers->consumers.empty() && readers->gets.empty()) readers.reset();
  }
};

/// A list of queues, each at most once; adding and taking out cost the same however long it is.
template <std::uint32_t HostedQueue::*kSlot>
class QueueList {
 public:
  bool empty() const { return queues_.empty(); }
  std::size_t size() const { return queues_.size(); }
  HostedQueue& operator[](std::size_t at) const { return *queues_[at]; }
  void add(HostedQueue& queue) {
    if (queue.*kSlot != kNoSlot) return;
    queue.*kSlot = static_cast<std::uint32_t>(queues_.size());
    queues_.push_back(&queue);
  }
  void remove(HostedQueue& queue) {
    const std::uint32_t at = queue.*kSlot;
    if (at == kNoSlot) return;
    queues_[at] = queues_.back();
    queues_[at]->*kSlot = at;
    queues_.pop_back();
    queue.*kSlot = kNoSlot;
  }
  /// Empties the list; what was in it.
  std::vector<HostedQueue*> take_all() {
    for (HostedQueue* queue : queues_) queue->*kSlot = kNoSlot;
    return std::exchange(queues_, {});
  }

 private:
  std::vector<HostedQueue*> queues_;
};

/// All queues of the node by id, and those that have something to do. Reactor's thread.
class QueueTable {
 public:
  /// The queue, for who speaks of it from outside: not one of its lanes.
  HostedQueue* find_queue(QueueId id) const {
    return priority_of_lane(id) == 0 ? find(id) : nullptr;
  }
  /// The queue or the lane.
  HostedQueue* find(QueueId id) const {
    const auto at = queues_.find(id);
    return at == queues_.end() ? nullptr : at->second.get();
  }
  HostedQueue& find_or_add(QueueId id, ShardId shard) {
    auto& queue = queues_[id];
    if (queue) return *queue;
    const bool delays = is_delay_lane(id);
    queue = std::make_unique<HostedQueue>(id, shard, delays ? delayed_totals_ : totals_);
    if (delays) queue->schedule = std::make_unique<DelaySchedule>();
    return *queue;
  }
  /// Destroys the queue; it must have left its shard's lists.
  void erase(HostedQueue& queue) {
    ready_.remove(queue);
    in_memory_.remove(queue);
    expiring_.remove(queue);
    at_once_.remove(queue);
    over_length_.remove(queue);
    dedupes_.remove(queue);
    if (queue.whole != nullptr) {
      std::erase(queue.whole->lanes, &queue);
      if (queue.whole->delay_lane == &queue) queue.whole->delay_lane = nullptr;
      --lanes_;
    }
    const auto leave_alone = [&](HostedQueue& lane) {
      lane.whole = nullptr;
      --lanes_;
    };
    for (HostedQueue* lane : queue.lanes) leave_alone(*lane);
    if (queue.delay_lane != nullptr) leave_alone(*queue.delay_lane);
    dead_.remove(queue);
    delays_.remove(queue);
    resting_.remove(queue);
    queues_.erase(queue.queue.id());
  }

  /// `lane`, of a priority above 0 or of delayed messages, belongs to `queue`.
  void join(HostedQueue& queue, HostedQueue& lane) {
    if (lane.whole == &queue) return;
    lane.whole = &queue;
    ++lanes_;
    if (lane.schedule) {
      queue.delay_lane = &lane;
      return;
    }
    const auto lower = [&](const HostedQueue* other) {
      return other->queue.id() < lane.queue.id();
    };
    queue.lanes.insert(std::find_if(queue.lanes.begin(), queue.lanes.end(), lower), &lane);
  }

  /// How many queues there are, whatever their lanes.
  std::size_t size() const { return queues_.size() - lanes_; }
  const QueueTotals& totals() const { return totals_; }
  const std::unordered_map<QueueId, std::unique_ptr<HostedQueue>>& all() const { return queues_; }

  /// Something changed that may let the queue deliver.
  void wake(HostedQueue& queue) {
    if (queue.has_takers()) ready_.add(queue.of_whole());
  }
  /// The queue got messages, which may expire there.
  void note_expiring(HostedQueue& queue) {
    if (!queue.queue.may_expire()) return;
    expiring_.add(queue);
    if (queue.queue.has_at_once()) at_once_.add(queue);
  }
  /// More of the queue is ready, or its limits have changed.
  void note_length(HostedQueue& queue) {
    HostedQueue& whole = queue.of_whole();
    if (whole.is_over_length()) over_length_.add(whole);
  }
  /// The queue got messages into memory.
  void note_memory(HostedQueue& queue) { in_memory_.add(queue); }

  /// The queue got dead letters to forward.
  void note_dead(HostedQueue& queue) { dead_.add(queue); }

  /// Queues with a deduplication window.
  using DedupeList = QueueList<&HostedQueue::dedupe_slot>;
  DedupeList& dedupes() { return dedupes_; }
  /// Something changed in the delay lane, or of when it may give up messages.
  void note_delay(HostedQueue& lane) { delays_.add(lane); }
  /// The same, by the queue that it belongs to.
  void note_delay_of(HostedQueue& queue) {
    if (queue.delay_lane != nullptr) delays_.add(*queue.delay_lane);
  }

  using ReadyList = QueueList<&HostedQueue::ready_slot>;
  using MemoryList = QueueList<&HostedQueue::memory_slot>;
  using ExpiringList = QueueList<&HostedQueue::expiring_slot>;
  ReadyList& ready() { return ready_; }
  const ReadyList& ready() const { return ready_; }
  MemoryList& in_memory() { return in_memory_; }
  using DeadList = QueueList<&HostedQueue::dead_slot>;
  DeadList& dead() { return dead_; }
  const DeadList& dead() const { return dead_; }
  ExpiringList& expiring() { return expiring_; }
  /// Queues with messages that rest after a delivery.
  using RestingList = QueueList<&HostedQueue::resting_slot>;
  RestingList& resting() { return resting_; }
  void note_resting(HostedQueue& queue) { resting_.add(queue); }
  /// Delay lanes that are to be looked at.
  using DelayList = QueueList<&HostedQueue::delay_slot>;
  DelayList& delays() { return delays_; }
  const DelayList& delays() const { return delays_; }
  /// Queues that got messages which expire at once, unless this turn delivers them.
  using AtOnceList = QueueList<&HostedQueue::at_once_slot>;
  AtOnceList& at_once() { return at_once_; }
  /// Queues that may hold more than their limits allow.
  using OverLengthList = QueueList<&HostedQueue::over_length_slot>;
  OverLengthList& over_length() { return over_length_; }

 private:
  QueueTotals totals_;
  QueueTotals delayed_totals_;
  std::unordered_map<QueueId, std::unique_ptr<HostedQueue>> queues_;
  std::size_t lanes_ = 0;  // of queues_, those that belong to another one
  ReadyList ready_;
  MemoryList in_memory_;
  DeadList dead_;
  ExpiringList expiring_;
  AtOnceList at_once_;
  OverLengthList over_length_;
  DedupeList dedupes_;
  DelayList delays_;
  RestingList resting_;
};

}  // namespace segue::node
