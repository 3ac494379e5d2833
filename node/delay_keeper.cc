#include "node/delay_keeper.h"

#include <algorithm>
#include <limits>
#include <string>

#include "common/check.h"

namespace segue::node {

namespace {

/// What one record of the log takes at most.
constexpr std::size_t kMostAtOnce = 1000;
/// Messages are read so long before they are due, and so many at most.
constexpr std::int64_t kAheadMs = 1000;
constexpr std::size_t kMostLoaded = 4096;
constexpr std::size_t kMostLoads = 128;
constexpr std::size_t kLooksAtOnce = 4096;
/// A load goes on as long as the messages stand side by side.
constexpr std::size_t kLoadBytes = 256 << 10;
/// More are not on their way out of a lane at once.
constexpr std::size_t kMostLeaving = 20'000;
/// What could not go is tried again after so long.
constexpr std::int64_t kRetryMs = 100;

}  // namespace

void DelayKeeper::end_turn() {
  more_ = false;
  std::vector<QueueId> lanes;
  for (HostedQueue* hosted : queues_.delays().take_all()) lanes.push_back(hosted->queue.id());
  for (auto at = timers_.begin(); at != timers_.end() && at->first <= clock_.wall_ms; ++at) {
    lanes.push_back(at->second);
  }
  for (const QueueId id : lanes) {
    HostedQueue* const hosted = queues_.find(id);
    if (hosted == nullptr) {
      forget(id);
    } else {
      step(*hosted, lanes_[id]);
    }
  }
}

void DelayKeeper::forget(QueueId id) {
  const auto lane = lanes_.find(id);
  if (lane == lanes_.end()) return;
  timers_.erase({lane->second.wake_ms, id});
  lanes_.erase(lane);
}

std::optional<std::int64_t> DelayKeeper::next_in_ms() const {
  if (timers_.empty()) return std::nullopt;
  return std::max<std::int64_t>(timers_.begin()->first - clock_.wall_ms, 0);
}

void DelayKeeper::step(HostedQueue& hosted, Lane& lane) {
  const QueueId id = hosted.queue.id();
  DelaySchedule& schedule = *hosted.schedule;
  // Its queue is not named by the catalog yet.
  if (hosted.whole == nullptr || !hosted.queue.defined()) return set_timer(id, lane, 0);
  if (hosted.queue.ready() == 0 && !schedule.scanning()) schedule.clear();
  if (schedule.wants_scan()) begin_scan(hosted, lane);
  read_ahead(hosted, lane);
  if (lane.paused_ms <= clock_.wall_ms || lane.paused_ms > clock_.wall_ms + kRetryMs) {
    lane.paused_ms = 0;
    fire(hosted, lane);
  }
  const bool idle = schedule.first() == nullptr && !schedule.scanning() && lane.loading.empty() &&
                    hosted.queue.ready() == 0;
  if (idle) return forget(id);
  const std::int64_t next = next_step(hosted, lane);
  set_timer(id, lane, next);
  more_ = more_ || (next > 0 && next <= clock_.wall_ms);
}

void DelayKeeper::set_timer(QueueId id, Lane& lane, std::int64_t wake_ms) {
  if (lane.wake_ms == wake_ms) return;
  if (lane.wake_ms != 0) timers_.erase({lane.wake_ms, id});
  lane.wake_ms = wake_ms;
  if (wake_ms != 0) timers_.insert({wake_ms, id});
}

std::int64_t DelayKeeper::next_step(const HostedQueue& hosted, const Lane& lane) const {
  const Due* const first = hosted.schedule->first();
  if (first == nullptr) return 0;
  std::int64_t next = first->due_ms;
  if (next <= clock_.wall_ms) {
    if (lane.paused_ms > 0) return lane.paused_ms;
    if (lane.loading.contains(first->sequence)) return 0;
    if (hosted.queue.leaving_ranges() >= kMostLeaving) return 0;
    return clock_.wall_ms;
  }
  const bool room = lane.loaded.size() + lane.loading.size() < kMostLoaded && loads_ < kMostLoads;
  if (const Due* unasked = hosted.schedule->after(lane.asked_through); unasked != nullptr && room) {
    next = std::min(next, std::max(unasked->due_ms - kAheadMs, clock_.wall_ms + 1));
  }
  return std::max<std::int64_t>(next, 1);
}

// ---- firing

void DelayKeeper::fire(HostedQueue& hosted, Lane& lane) {
  if (hosted.queue.leaving_ranges() >= kMostLeaving) return;
  const Due* const first = hosted.schedule->first();
  if (first == nullptr || first->due_ms > clock_.wall_ms) return;
  if (gate_.closed()) {
    lane.paused_ms = clock_.wall_ms + kRetryMs;
    return;
  }
  auto gathered = gather(hosted, lane);
  if (!gathered) return;
  std::vector<Sequence> sequences;
  for (const Due& message : gathered->messages) sequences.push_back(message.sequence);
  const std::size_t taken = shards_.of(hosted).end_delay(hosted, gathered->batch, sequences);
  if (taken < sequences.size()) lane.paused_ms = clock_.wall_ms + kRetryMs;
  for (std::size_t i = 0; i < taken; ++i) {
    hosted.schedule->remove(gathered->messages[i]);
    lane.loaded.erase(sequences[i]);
  }
}

std::optional<DelayKeeper::Gathered> DelayKeeper::gather(HostedQueue& hosted, Lane& lane) {
  Gathered gathered;
  MessageBatchBuilder builder;
  const Due* next = hosted.schedule->first();
  while (next != nullptr && next->due_ms <= clock_.wall_ms && builder.count() < kMostAtOnce) {
    const Due message = *next;
    if (!waits(hosted, message.sequence)) {
      hosted.schedule->remove(message);
      lane.loaded.erase(message.sequence);
    } else if (const auto run = find(hosted, lane, message.sequence)) {
      const std::uint64_t size = run->body_bytes();
      if (!builder.empty() && builder.body_bytes() + size > options_.batch_bytes) break;
      builder.add(run->batch, run->begin, 1);
      gathered.messages.push_back(message);
    } else {
      // It was in memory, or came later than those that were asked for.
      if (!lane.loading.contains(message.sequence)) {
        load(hosted.queue.id(), lane, {message.sequence});
        lane.asked_through = message;
        read_ahead(hosted, lane);
      }
      break;
    }
    next = hosted.schedule->after(message);
  }
  if (builder.empty()) return std::nullopt;
  MessageBatchBuilder::Built built = builder.take();
  std::string bodies;
  bodies.reserve(static_cast<std::size_t>(built.body_bytes));
  for (const SharedBytes& piece : built.bodies) bodies.append(piece.view());
  auto batch = MessageBatch::parse(SharedBytes::from(std::move(built.batch)),
                                   memory_.track(SharedBytes::from(std::move(bodies)), 512));
  SEGUE_CHECK(batch.is_ok());
  gathered.batch = *std::move(batch);
  return gathered;
}

bool DelayKeeper::waits(const HostedQueue& hosted, Sequence sequence) const {
  if (hosted.queue.is_away(sequence)) return false;
  const NumberRange one{sequence.value, sequence.value};
  return hosted.queue.find_in_memory(one) ||
         disk_.valid_run(hosted.queue.id(), sequence, sequence).has_value();
}

std::optional<MessageRun> DelayKeeper::find(const HostedQueue& hosted, const Lane& lane,
                                            Sequence sequence) const {
  if (auto run = hosted.queue.find_in_memory({sequence.value, sequence.value})) {
    return run->part(0, 1);
  }
  const auto loaded = lane.loaded.find(sequence);
  if (loaded == lane.loaded.end()) return std::nullopt;
  return loaded->second;
}

// ---- reading ahead

void DelayKeeper::read_ahead(HostedQueue& hosted, Lane& lane) {
  std::vector<Sequence> wanted;
  std::size_t looks = 0;
  const std::int64_t until = clock_.wall_ms + kAheadMs;
  const Due* next = hosted.schedule->after(lane.asked_through);
  while (next != nullptr && next->due_ms <= until && looks++ < kLooksAtOnce) {
    const Sequence sequence = next->sequence;
    if (lane.loaded.size() + lane.loading.size() + wanted.size() >= kMostLoaded) break;
    if (loads_ + wanted.size() >= kMostLoads) break;
    if (!lane.loading.contains(sequence) && !find(hosted, lane, sequence)) {
      wanted.push_back(sequence);
    }
    lane.asked_through = *next;
    next = hosted.schedule->after(lane.asked_through);
  }
  if (!wanted.empty()) load(hosted.queue.id(), lane, wanted);
}

void DelayKeeper::load(QueueId id, Lane& lane, const std::vector<Sequence>& sequences) {
  std::vector<Sequence> sorted = sequences;
  std::sort(sorted.begin(), sorted.end());
  for (std::size_t at = 0; at < sorted.size();) {
    NumberRange range{sorted[at].value, sorted[at].value};
    while (++at < sorted.size() && sorted[at].value == range.last + 1) ++range.last;
    for (std::uint64_t n = range.first; n <= range.last; ++n) lane.loading.insert(Sequence{n});
    ++loads_;
    disk_.load(id, Sequence{range.first}, Sequence{range.last}, kLoadBytes,
               [this, id, range](const Result<storage::LoadedMessages>& result) {
                 loaded(id, range, result);
               });
  }
}

void DelayKeeper::loaded(QueueId id, NumberRange wanted,
                         const Result<storage::LoadedMessages>& result) {
  --loads_;
  HostedQueue* const hosted = queues_.find(id);
  const auto known = lanes_.find(id);
  if (hosted == nullptr || known == lanes_.end()) return;
  Lane& lane = known->second;
  for (std::uint64_t n = wanted.first; n <= wanted.last; ++n) lane.loading.erase(Sequence{n});
  queues_.note_delay(*hosted);
  if (!result) {
    log_.error("queue_read_failed", {{"queue", hosted->queue.display_name()},
                                     {"from", wanted.first},
                                     {"reason", result.status()}});
    lane.paused_ms = clock_.wall_ms + kRetryMs;
    return;
  }
  const storage::LoadedMessages messages = memory_.tracked(*result);
  for (const MessageRun& run : messages.runs) {
    for (std::uint32_t i = 0; i < run.count; ++i) lane.loaded[run.first.next(i)] = run.part(i, 1);
  }
  if (!messages.corrupt.empty()) set_aside(*hosted, messages);
}

void DelayKeeper::set_aside(HostedQueue& hosted, const storage::LoadedMessages& loaded) {
  std::uint64_t taken_out = 0;
  std::vector<NumberRange> lost;
  for (const Sequence sequence : loaded.corrupt) {
    if (hosted.queue.is_away(sequence)) continue;
    lost.push_back({sequence.value, sequence.value});
    const auto& kept = loaded.not_set_aside;
    if (std::find(kept.begin(), kept.end(), sequence) != kept.end()) continue;
    ++taken_out;
    shards_.of(hosted).depart(hosted, lost.back(), Departure::kDamaged);
  }
  if (lost.empty()) return;
  hosted.queue.take_delayed(lost);
  log_.error("messages_lost", {{"queue", hosted.queue.name()},
                               {"queue_id", queue_of_lane(hosted.queue.id())},
                               {"messages", lost.size()},
                               {"from", lost.front().first},
                               {"through", lost.back().last},
                               {"taken_out", taken_out}});
}

// ---- looking for the next ones

void DelayKeeper::begin_scan(HostedQueue& hosted, Lane& lane) {
  hosted.schedule->begin_scan();
  // What no store() has written is in memory, all of it.
  lane.scan_end = hosted.queue.written_through();
  lane.scanned_through = Sequence{0};
  std::vector<MessageRun> runs;
  hosted.queue.collect(lane.scan_end, std::numeric_limits<std::uint64_t>::max(), runs);
  for (const MessageRun& run : runs) {
    for (std::uint32_t i = 0; i < run.count; ++i) {
      hosted.schedule->offer({run.batch->due(run.begin + i, run.arrived_ms), run.first.next(i)});
    }
  }
  scan_disk(hosted.queue.id(), lane);
}

void DelayKeeper::scan_disk(QueueId id, Lane& lane) {
  const DelaySchedule& schedule = *queues_.find(id)->schedule;
  storage::DueScan scan;
  scan.from = schedule.horizon();
  scan.below = schedule.below();
  scan.first = lane.scanned_through.next();
  scan.most = DelaySchedule::kMost;
  disk_.find_due(id, scan, [this, id](const storage::FoundDue& found) { scanned(id, found); });
}

void DelayKeeper::scanned(QueueId id, const storage::FoundDue& found) {
  HostedQueue* const hosted = queues_.find(id);
  const auto known = lanes_.find(id);
  if (hosted == nullptr || known == lanes_.end() || !hosted->schedule->scanning()) return;
  Lane& lane = known->second;
  for (const Due& due : found.messages) {
    if (due.sequence <= lane.scan_end) hosted->schedule->offer(due);
  }
  if (!found.damage.is_ok()) {
    log_.error("queue_read_failed", {{"queue", hosted->queue.display_name()},
                                     {"from", lane.scanned_through.next()},
                                     {"reason", found.damage}});
  }
  lane.scanned_through = std::max(lane.scanned_through, found.scanned_through);
  if (found.more && lane.scanned_through < lane.scan_end) return scan_disk(id, lane);
  hosted->schedule->end_scan();
  queues_.note_delay(*hosted);
}

}  // namespace segue::node
