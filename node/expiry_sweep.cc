#include "node/expiry_sweep.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace segue::node {

namespace {

constexpr Duration kInterval = std::chrono::seconds(1);
/// A sweep is followed by a pause of so many times of what it cost.
constexpr std::int64_t kPauseFactor = 20;
// What looking costs, about; measured, and good enough to bound it.
constexpr std::uint64_t kQueueNs = 100;
constexpr std::uint64_t kMemoryLookNs = 15;
constexpr std::uint64_t kDiskLookNs = 40;
/// What one turn does at most, about.
constexpr std::size_t kRangesAtOnce = 8192;
constexpr std::uint64_t kTurnNs = 3'000'000;
/// Looks at the disk that are on their way at once.
constexpr std::size_t kMostScans = 4;
/// A queue of which so many ranges are leaving is looked at again when some have left.
constexpr std::size_t kMostLeaving = 50'000;

}  // namespace

void ExpirySweep::on_tick() {
  if (!sweeping_ && clock_.now >= next_) begin();
}

void ExpirySweep::begin() {
  sweeping_ = true;
  cost_ns_ = 0;
  std::vector<HostedQueue*> idle;
  for (std::size_t i = 0; i < queues_.expiring().size(); ++i) {
    HostedQueue& hosted = queues_.expiring()[i];
    if (!hosted.queue.defined()) continue;  // its time to live is not known yet
    if (hosted.queue.ready() == 0) {
      idle.push_back(&hosted);
    } else {
      places_.push_back({hosted.queue.id()});
    }
  }
  cost_ns_ += queues_.expiring().size() * kQueueNs;
  for (HostedQueue* hosted : idle) queues_.expiring().remove(*hosted);
  end_if_done();
}

bool ExpirySweep::waits_for_disk() const {
  return places_.front().on_disk && scans_ >= kMostScans;
}

void ExpirySweep::end_turn() {
  for (HostedQueue* hosted : queues_.at_once().take_all()) {
    hosted->queue.end_at_once();
    places_.push_back({hosted->queue.id()});
  }
  if (places_.empty()) return;
  const std::uint64_t before = cost_ns_;
  while (!places_.empty() && cost_ns_ - before < kTurnNs) {
    if (waits_for_disk()) break;
    const Place place = places_.front();
    places_.pop_front();
    HostedQueue* hosted = queues_.find(place.queue);
    if (hosted == nullptr) continue;
    if (place.on_disk) {
      look_at_disk(place, *hosted);
    } else {
      look_at_memory(place, *hosted);
    }
  }
  end_if_done();
}

void ExpirySweep::look_at_memory(Place place, HostedQueue& hosted) {
  const auto found = hosted.queue.find_expired(place.from, clock_.wall_ms, kRangesAtOnce);
  cost_ns_ += kQueueNs + found.looked_at * kMemoryLookNs;
  shards_.of(hosted).expire(hosted, found.ranges);
  if (found.more) {
    place.from = found.scanned_through.next();
  } else {
    place = {place.queue, Sequence{1}, true, hosted.queue.take_again()};
  }
  places_.push_front(place);
}

storage::ExpiryScan ExpirySweep::scan_of(const Place& place, const HostedQueue& hosted) const {
  storage::ExpiryScan scan;
  scan.rule = hosted.queue.expiry();
  scan.now_ms = clock_.wall_ms;
  scan.from = place.from;
  scan.again_first = Sequence{std::max<std::uint64_t>(place.again.first, 1)};
  scan.again_last = Sequence{place.again.last};
  scan.max_ranges = kRangesAtOnce;
  return scan;
}

void ExpirySweep::look_at_disk(Place place, HostedQueue& hosted) {
  const storage::ExpiryScan scan = scan_of(place, hosted);
  const bool full = hosted.queue.leaving_ranges() >= kMostLeaving;
  if (full || !disk_.has_expired(place.queue, scan)) {
    if (full) {
      hosted.queue.look_again(place.again);
    } else {
      forget_if_idle(hosted);
    }
    return;
  }
  ++scans_;
  disk_.find_expired(place.queue, scan, [this, place](Result<storage::ExpiredMessages> result) {
    found_on_disk(place, result);
  });
}

void ExpirySweep::found_on_disk(Place place, const Result<storage::ExpiredMessages>& result) {
  --scans_;
  HostedQueue* hosted = queues_.find(place.queue);
  if (hosted != nullptr && !result.is_ok()) hosted->queue.look_again(place.again);
  if (hosted != nullptr && result.is_ok()) {
    cost_ns_ += result->looked_at * kDiskLookNs;
    shards_.of(*hosted).expire(*hosted, result->ranges);
    if (result->more) {
      place.from = result->scanned_through.next();
      places_.push_front(place);
    }
  }
  end_if_done();
}

void ExpirySweep::forget_if_idle(HostedQueue& hosted) {
  // What is unacked may come back.
  if (hosted.queue.expiry().ttl_ms >= 0 || hosted.queue.unacked() > 0) return;
  storage::ExpiryScan ever = scan_of({hosted.queue.id()}, hosted);
  ever.now_ms = kNever - 1;
  if (disk_.has_expired(hosted.queue.id(), ever)) return;
  if (!hosted.queue.settle_whether_any_expires()) queues_.expiring().remove(hosted);
}

void ExpirySweep::end_if_done() {
  if (!sweeping_ || !places_.empty() || scans_ > 0) return;
  sweeping_ = false;
  next_ = clock_.now +
          std::max<Duration>(kInterval, kPauseFactor * std::chrono::duration_cast<Duration>(
                                                           std::chrono::nanoseconds(cost_ns_)));
}

}  // namespace segue::node
