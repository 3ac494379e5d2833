// What is lost with records of a shard's log, and with its checkpoint.
#include <algorithm>

#include "common/counted.h"
#include "storage/shard_repair.h"

namespace segue::storage {

namespace {

constexpr std::size_t kRangesTold = 5;
constexpr std::size_t kQueuesTold = 20;

std::string ranges_text(const RangeSet& ranges) {
  std::string text;
  std::size_t told = 0;
  for (const auto& [first, last] : ranges.ranges()) {
    if (told == kRangesTold) return text + ", and more";
    text += (told++ == 0 ? "" : ", ") + std::to_string(first);
    if (last > first) text += ".." + std::to_string(last);
  }
  return text;
}

}  // namespace

RepairLoss ShardRepair::losses_of(const Reason& reason, LogIndex applied,
                                  const std::vector<CheckpointQueue>& found) const {
  RepairLoss loss;
  loss.log_records = reason.missing.count();
  loss.more = loss.log_records > 0 || reason.end_unknown;
  if (reason.before == nullptr) {
    // Nothing tells whether the files that are there are all, unless the log has everything.
    const bool queues = catalog_ == nullptr || !catalog_->durable_of(shard_).empty();
    loss.more = loss.more || (queues && applied > LogIndex{0});
    return loss;
  }
  for (const CheckpointQueue& queue : reason.before->queues) {
    if (catalog_ != nullptr && catalog_->is_gone(queue.id)) continue;
    const auto now = std::find_if(found.begin(), found.end(),
                                  [&](const CheckpointQueue& one) { return one.id == queue.id; });
    for (const CheckpointSegment& named : queue.segments) {
      const bool there =
          now != found.end() &&
          std::any_of(now->segments.begin(), now->segments.end(), [&](const auto& segment) {
            return segment.first <= named.last && segment.last >= named.first;
          });
      if (!there) loss += loss_of_segment(reason, queue.id, named);
    }
  }
  return loss;
}

RepairLoss ShardRepair::loss_of_segment(const Reason& reason, QueueId queue,
                                        const CheckpointSegment& segment) const {
  RepairLoss loss;
  const LogContent::Queue* const in_log = log_.find(queue);
  if (in_log != nullptr && in_log->deleted) return loss;
  RangeSet left;
  left.add({segment.first.value, segment.last.value});
  const std::uint64_t all = left.count();
  if (in_log != nullptr) {
    for (const auto& [first, last] : in_log->settled.ranges()) left.remove({first, last});
    for (const auto& [first, last] : in_log->enqueued.ranges()) left.remove({first, last});
  }
  const std::uint64_t accounted = all - left.count();
  const std::uint64_t gone = segment.valid - std::min<std::uint64_t>(segment.valid, accounted);
  // Where records are missing they may have been settled.
  (reason.missing.empty() && !reason.end_unknown ? loss.messages : loss.untraced) = gone;
  return loss;
}

std::pair<std::uint64_t, std::string> ShardRepair::find_untraced(
    const std::vector<RepairedQueue>& found) const {
  std::uint64_t count = 0;
  std::string text;
  std::size_t told = 0;
  for (const auto& named : log_.queues()) {
    const QueueId id = named.first;
    const LogContent::Queue& in_log = named.second;
    if (in_log.shard != shard_ || in_log.deleted || in_log.enqueued.empty()) continue;
    if (catalog_ != nullptr && catalog_->is_gone(id)) continue;
    const auto queue = std::find_if(found.begin(), found.end(),
                                    [&](const RepairedQueue& one) { return one.id == id; });
    const std::uint64_t last = queue == found.end() ? 0 : queue->last.value;
    if (in_log.enqueued.highest() <= last) continue;
    RangeSet untraced;
    untraced.add({last + 1, in_log.enqueued.highest()});
    for (const auto& [first, end] : in_log.enqueued.ranges()) untraced.remove({first, end});
    for (const auto& [first, end] : in_log.settled.ranges()) untraced.remove({first, end});
    if (untraced.empty()) continue;
    count += untraced.count();
    if (told++ >= kQueuesTold) continue;
    const std::string name = catalog_ == nullptr ? "" : catalog_->name_of(id);
    text += (text.empty() ? "" : "; ") + counted(untraced.count(), "message") + " of queue " +
            (name.empty() ? "number " + std::to_string(id.value) : name) + " (" +
            ranges_text(untraced) + ")";
  }
  if (count == 0) return {};
  if (told > kQueuesTold) text += "; and of " + counted(told - kQueuesTold, "more queue");
  return {count, "Without a trace, so lost unless they were settled before: " + text + ". "};
}

std::string ShardRepair::loss_text(const Reason& reason, const RepairLoss& loss) const {
  std::string text;
  if (loss.log_records > 0) {
    text += "Missing: " + counted(loss.log_records, "record") + " of the log of shard " +
            std::to_string(shard_.value) + " (" + ranges_text(reason.missing) +
            "). Messages that were published by these are lost, unless they are in the queues' "
            "files; messages that were settled by them come back. ";
  }
  if (loss.messages > 0) {
    text += "Lost: " + counted(loss.messages, "message") +
            " that neither the queues' files have nor the log. ";
  }
  if (loss.returned > 0) text += counted(loss.returned, "settled message") + " may come back. ";
  if (reason.end_unknown) {
    text +=
        "Records at the end of the log are lost, or may be, with messages that were published "
        "by them: how many nothing tells. ";
  }
  if (!loss.any()) {
    text += "No message is lost. ";
  } else if (reason.before == nullptr) {
    text +=
        "Without the old one nothing tells whether all of the queues' files are there: messages of "
        "one that is gone are lost. ";
  }
  text += reason.before == nullptr
              ? "Gone with the old one: how often messages were delivered (all count as "
                "redelivered), and what publishers had sent (a publish that is sent again is taken "
                "again)"
              : "All messages count as redelivered; what publishers had sent is known as of the "
                "old one (a publish that is sent again may be taken again)";
  return text;
}

}  // namespace segue::storage
