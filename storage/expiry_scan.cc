// How the segment store looks for expired messages (class SegmentStore).
#include <algorithm>
#include <utility>

#include "storage/segment_store.h"

namespace segue::storage {

namespace {

/// Entries of an index that are read and checked at once: a millisecond or two.
constexpr std::uint32_t kEntriesAtOnce = 1u << 16;

}  // namespace

struct SegmentStore::ExpiryCall {
  QueueId queue;
  std::shared_ptr<QueueFiles> files;
  ExpiryScan scan;
  ExpiryPlan plan;
  std::function<void(Result<ExpiredMessages>)> done;
  // On the background thread:
  ExpiryFindings findings;
  bool index_made_anew = false;
  Status status;

  /// False when enough was found.
  bool look_at(std::uint32_t ordinal, std::int64_t arrived_ms, std::int64_t expiration_ms) {
    findings.scanned_end = ordinal + 1;
    if (!plan.is_valid(ordinal)) return true;
    ++findings.looked_at;
    if (scan.rule.due(arrived_ms, expiration_ms) > scan.now_ms) {
      findings.left.add(arrived_ms, expiration_ms);
      return true;
    }
    auto& expired = findings.expired;
    if (!expired.empty() && expired.back().second == ordinal) {
      expired.back().second = ordinal + 1;
      return true;
    }
    expired.emplace_back(ordinal, ordinal + 1);
    return expired.size() < scan.max_ranges;
  }

  /// Looks at a part; true when finished.
  bool step(SegmentWorker& worker) {
    const std::uint32_t first = findings.scanned_end;
    const std::uint32_t count = std::min(plan.end - first, kEntriesAtOnce);
    std::vector<IndexEntry> entries;
    if (plan.timed) {
      auto opened = worker.files.open(*files, plan.segment);
      if (!opened.is_ok()) return fail(opened.status());
      auto read =
          worker.reader.entries(*files, **opened, {plan.segment, plan.end, plan.records_end}, first,
                                count, index_made_anew);
      if (!read.is_ok()) return fail(read.status());
      entries = std::move(*read);
    }
    for (std::uint32_t i = 0; i < count; ++i) {
      const bool go_on = plan.timed
                             ? look_at(first + i, entries[i].arrived_ms, entries[i].expiration_ms)
                             : look_at(first + i, 0, kNoExpiration);
      if (!go_on) return true;
    }
    return findings.scanned_end == plan.end;
  }
  bool fail(Status why) {
    status = std::move(why);
    return true;
  }
};

void SegmentStore::find_expired(QueueId id, const ExpiryScan& scan,
                                std::function<void(Result<ExpiredMessages>)> done) {
  const auto found = queues_.find(id);
  std::optional<ExpiryPlan> plan;
  if (found != queues_.end()) plan = found->second->table.plan_expiry(scan);
  if (!plan) {
    ExpiredMessages nothing;
    nothing.scanned_through = scan.from;
    return executor_.post_done([done = std::move(done), nothing] { done(nothing); });
  }
  auto call = std::make_shared<ExpiryCall>();
  call->queue = id;
  call->files = found->second->files;
  call->scan = scan;
  call->plan = std::move(*plan);
  call->findings.scanned_end = call->plan.first;
  call->done = std::move(done);
  executor_.post(
      {[this, call] { return call->step(worker_); }, [this, call] { end_expiry(*call); }});
}

void SegmentStore::end_expiry(ExpiryCall& call) {
  Queue* const queue = find(call.files);
  ExpiredMessages found;
  found.scanned_through =
      Sequence{call.scan.from.value - std::min<std::uint64_t>(call.scan.from.value, 1)};
  found.looked_at = call.findings.looked_at;
  if (queue == nullptr) return call.done(found);
  if (call.index_made_anew) index_made_anew(call.files, call.plan.segment);
  const bool gone = !queue->table.has(call.plan.segment);
  queue->table.finish_expiry(call.plan, call.findings, call.scan, found);
  if (!call.status.is_ok() && !gone) return call.done(call.status);
  call.done(std::move(found));
}

}  // namespace segue::storage
