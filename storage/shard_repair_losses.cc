// What is lost with records of a shard's log, and with its checkpoint.
#include <algorithm>

#include "storage/repair_text.h"
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

RepairLoss ShardRepair::losses_of(const Reason& reason,
                                  const std::vector<CheckpointQueue>& found) const {
  RepairLoss loss;
  loss.log_records = reason.missing.count();
  loss.more = loss.log_records > 0 || reason.end_unknown;
  // Without any queue's files nothing tells what stood in them.
  const bool queues = catalog_ == nullptr || !catalog_->durable_of(shard_).empty();
  if (found.empty() && queues && reason.before == nullptr) loss.more = true;
  if (reason.before == nullptr) return loss;
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
      if (!there && named.valid > 0) loss.more = true;  // settled since, or lost
    }
  }
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
            " that no longer fit between the queues' files and the log. ";
  }
  if (loss.returned > 0) text += counted(loss.returned, "settled message") + " may come back. ";
  if (reason.end_unknown) {
    text +=
        "Records at the end of the log are lost, or may be, with messages that were published "
        "by them: how many nothing tells. ";
  }
  if (!loss.any()) {
    text += reason.before != nullptr
                ? "No message is lost. "
                : "No message is lost, unless files at the beginning of the log are, too: nothing "
                  "tells that without the checkpoint. ";
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
