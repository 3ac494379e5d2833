// How the segment store looks for delayed messages that come next (class SegmentStore).
#include <algorithm>
#include <utility>

#include "storage/segment_store.h"

namespace segue::storage {

namespace {

/// Entries of an index that are read and checked at once: a millisecond or two.
constexpr std::uint32_t kEntriesAtOnce = 1u << 16;

}  // namespace

struct SegmentStore::DueCall {
  QueueId queue;
  std::shared_ptr<QueueFiles> files;
  DueScan scan;
  ExpiryPlan plan;
  std::function<void(FoundDue)> done;
  // On the background thread:
  FoundDue found;
  DueMessage below;  // scan.below, or earlier when there are enough before
  SegmentExpiry left;
  std::uint32_t next = 0;  // ordinal
  bool index_made_anew = false;

  void look_at(std::uint32_t ordinal, const IndexEntry& entry) {
    if (!plan.is_valid(ordinal)) return;
    left.add(entry.arrived_ms, entry.expiration_ms);
    const DueMessage message{ExpiryRule().due(entry.arrived_ms, entry.expiration_ms),
                             plan.segment.first.next(entry.sequence_offset)};
    if (message < scan.from || message >= below) return;
    found.messages.push_back(message);
    if (found.messages.size() >= 2 * scan.most) keep_first();
  }
  void keep_first() {
    std::vector<DueMessage>& messages = found.messages;
    if (messages.size() <= scan.most) return;
    const auto end = messages.begin() + static_cast<std::ptrdiff_t>(scan.most);
    std::nth_element(messages.begin(), end, messages.end());
    below = *end;
    messages.erase(end, messages.end());
  }

  /// Looks at a part; true when finished.
  bool step(SegmentWorker& worker) {
    const std::uint32_t count = std::min(plan.end - next, kEntriesAtOnce);
    auto opened = worker.files.open(*files, plan.segment);
    if (!opened.is_ok()) return fail(opened.status());
    auto read = worker.reader.entries(*files, **opened, {plan.segment, plan.end, plan.records_end},
                                      next, count, index_made_anew);
    if (!read.is_ok()) return fail(read.status());
    for (std::uint32_t i = 0; i < count; ++i) look_at(next + i, (*read)[i]);
    next += count;
    if (next < plan.end) return false;
    keep_first();
    return true;
  }
  bool fail(Status why) {
    found.damage = std::move(why);
    return true;
  }
};

void SegmentStore::find_due(QueueId id, const DueScan& scan, std::function<void(FoundDue)> done) {
  const auto queue = queues_.find(id);
  std::optional<ExpiryPlan> plan;
  if (queue != queues_.end()) plan = queue->second->table.plan_due(scan);
  if (!plan) {
    FoundDue nothing;
    nothing.scanned_through = scan.first;
    return executor_.post_done([done = std::move(done), nothing] { done(nothing); });
  }
  auto call = std::make_shared<DueCall>();
  call->queue = id;
  call->files = queue->second->files;
  call->scan = scan;
  call->below = scan.below;
  call->plan = std::move(*plan);
  call->next = call->plan.first;
  call->done = std::move(done);
  executor_.post({[this, call] { return call->step(worker_); }, [this, call] { end_due(*call); }});
}

void SegmentStore::end_due(DueCall& call) {
  Queue* const queue = find(call.files);
  if (queue == nullptr) return call.done({});
  if (call.index_made_anew) index_made_anew(call.files, call.plan.segment);
  queue->table.finish_due(call.plan, call.left, call.scan, call.found);
  call.done(std::move(call.found));
}

}  // namespace segue::storage
