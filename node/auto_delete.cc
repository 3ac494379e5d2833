#include "node/auto_delete.h"

#include <chrono>
#include <iterator>
#include <vector>

namespace segue::node {

namespace {

constexpr Duration kGrace = std::chrono::seconds(30);
constexpr Duration kAskAgain = std::chrono::seconds(1);

}  // namespace

void AutoDelete::last_consumer_gone(HostedQueue& hosted, bool peer_lost) {
  if (peer_lost) {
    grace_[hosted.queue.id()] = clock_.now + kGrace;
    return;
  }
  ask(hosted);
}

void AutoDelete::ask(HostedQueue& hosted) {
  grace_.erase(hosted.queue.id());
  hosted.deleting = true;
  asked_[hosted.queue.id()] = clock_.now + kAskAgain;
  if (request_) request_(hosted.queue.id());
}

void AutoDelete::on_tick() {
  std::vector<QueueId> expired;
  for (const auto& [queue, until] : grace_) {
    if (clock_.now >= until) expired.push_back(queue);
  }
  for (const QueueId queue : expired) {
    grace_.erase(queue);
    HostedQueue* hosted = queues_.find(queue);
    if (hosted != nullptr && !hosted->has_consumers()) last_consumer_gone(*hosted, false);
  }
  for (auto at = asked_.begin(); at != asked_.end();) {
    if (queues_.find(at->first) == nullptr) {
      at = asked_.erase(at);
      continue;
    }
    if (clock_.now >= at->second) {
      at->second = clock_.now + kAskAgain;
      if (request_) request_(at->first);
    }
    ++at;
  }
}

}  // namespace segue::node
