#include "node/queue_storer.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace segue::node {

namespace {

constexpr std::uint64_t kStoreBytes = 4 << 20;
constexpr std::uint64_t kMaxOnTheWay = 64 << 20;
constexpr Duration kTryAgain = std::chrono::seconds(1);

}  // namespace

void QueueStorer::want(HostedQueue& hosted, Sequence through) {
  const auto [at, added] = wanted_.emplace(hosted.queue.id(), through);
  at->second = std::max(at->second, through);
  if (added && !hosted.queue.storing()) waiting_.push_back(hosted.queue.id());
}

void QueueStorer::step() {
  if (paused()) return;
  const std::uint64_t limit = std::min(kMaxOnTheWay, memory_.limit() / 8);
  while (!waiting_.empty() && bytes_on_the_way_ < limit) {
    const QueueId id = waiting_.front();
    waiting_.pop_front();
    HostedQueue* hosted = queues_.find(id);
    if (hosted == nullptr || hosted->queue.is_written(wanted_[id])) {
      wanted_.erase(id);
    } else {
      start(*hosted);
    }
  }
}

void QueueStorer::start(HostedQueue& hosted) {
  Queue& queue = hosted.queue;
  std::vector<MessageRun> runs = queue.begin_store(kStoreBytes);
  if (runs.empty()) {
    // Everything there was has been settled meanwhile.
    wanted_.erase(queue.id());
    return;
  }
  std::uint64_t bytes = 0;
  for (const MessageRun& run : runs) bytes += run.body_bytes();
  bytes_on_the_way_ += bytes;
  disk_.store(
      queue.shard(), queue.id(), std::move(runs),
      [this, id = queue.id(), bytes](const Status& status) { finished(id, bytes, status); });
}

void QueueStorer::finished(QueueId id, std::uint64_t bytes, const Status& status) {
  bytes_on_the_way_ -= bytes;
  HostedQueue* hosted = queues_.find(id);
  if (hosted == nullptr) {
    wanted_.erase(id);
    return step();
  }
  hosted->queue.finish_store(status.is_ok());
  if (!status) {
    paused_until_ = clock_.now + kTryAgain;
    gate_.no_space("queue " + hosted->queue.display_name(), clock_.now);
    log_.error("queue_store_failed", {{"queue", hosted->queue.display_name()}, {"reason", status}});
  }
  const auto wanted = wanted_.find(id);
  if (wanted != wanted_.end()) waiting_.push_back(id);
  step();
}

}  // namespace segue::node
